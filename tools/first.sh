#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# first.sh C|FORTRAN TABLE... - print the source of mpixq_first.o: for each function in the tables
# (src/pmpi/next_defs.h and its like) a definition that passes the call on to the library by a name
# that nobody else defines. FORTRAN: their names for Fortran as well, each argument an address.
#
# Linked into a program these definitions come first in every search for the names, wherever the
# library stands among those of the program. They are weak, so that those of the static library, or
# of a tool within the program, take their place.
set -eu
languages=${1:?C or FORTRAN}
shift

# One line per function, its name and the types of its parameters; then that as C.
sed -n -e '/^MPIXQ_NEXT(/b take' -e '/^  /b take' -e d \
    -e ': take' -e 'H; /))$/ { s/.*//; x; s/\n */ /g; p; }' "$@" |
    sed -e 's/^ *MPIXQ_NEXT(//' -e 's/)$//' -e 's/, *(/|/' -e 's/)$//' |
    awk -F'|' -v languages="$languages" '
        # The declaration of p with a type, which may be one of an array.
        function declare(type, p) {
            if (type ~ /\[\]$/) { sub(/\[\]$/, "", type); return type " " p "[]" }
            return type " " p
        }
        function fortran(name, n,    i, parameters, arguments, suffix) {
            name = "mpi_" tolower(name)
            for (i = 1; i <= n; i++) {
                parameters = parameters (i > 1 ? ", " : "") "void *p" i
                arguments = arguments (i > 1 ? ", " : "") "p" i
            }
            print "extern void mpixq_own_" name "(" parameters ");"
            for (i = split("_ __ _f08_", suffix, " "); i > 0; i--) {
                print "FIRST void " name suffix[i] "(" parameters ");"
                print "FIRST void " name suffix[i] "(" parameters ")"
                print "{\n    mpixq_own_" name "(" arguments ");\n}\n"
            }
        }
        BEGIN {
            print "/* Made by tools/first.sh. */"
            print "#include <dlfcn.h>\n#include <mpi.h>\n"
            print "#define FIRST __attribute__((weak, visibility(\"default\")))\n"
            print "/* The next definition behind the program: dlsym looks at who calls it. */"
            print "typedef void *look_fn(void *, const char *);"
            print "FIRST void mpixq_first_find(look_fn *look, const char *name, void **found_p);"
            print "FIRST void mpixq_first_find(look_fn *look, const char *name, void **found_p)"
            print "{\n    *found_p = look(RTLD_NEXT, name);\n}\n"
        }
        {
            n = $2 == "void" ? 0 : split($2, types, /, */)
            parameters = arguments = ""
            words = 1 # ierror
            for (i = 1; i <= n; i++) {
                parameters = parameters (i > 1 ? ", " : "") declare(types[i], "p" i)
                arguments = arguments (i > 1 ? ", " : "") "p" i
                # The arguments of main are not there in Fortran.
                words += !($1 ~ /^Init/ && (types[i] == "char ***" || i == 1))
            }
            print "extern __typeof(MPI_" $1 ") mpixq_own_" $1 ";"
            print "FIRST int MPI_" $1 "(" (n > 0 ? parameters : "void") ")"
            print "{\n    return mpixq_own_" $1 "(" arguments ");\n}\n"
            if (languages == "FORTRAN" && $1 !~ /_c$|^T_/) { fortran($1, words) }
        }'
