#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# first.sh C|FORTRAN TABLE... [--ext TABLE...] - print the source of mpixq_first.o: for each
# function in the tables (src/pmpi/next_defs.h and its like) a definition that passes the call on to
# the library by a name that nobody else defines. FORTRAN: their names for Fortran as well, each
# argument an address. After --ext come tables of functions that begin with MPIX_.
#
# Linked into a program these definitions come first in every search for the names, wherever the
# library stands among those of the program. They are weak, so that those of the static library, or
# of a tool within the program, take their place.
set -eu
languages=${1:?C or FORTRAN}
shift

case $* in
*--ext?*) ext='#include <mpi-ext.h>\n' ;;
*) ext= ;;
esac

# One line per function: what its name begins with, the rest of it, and the types of its parameters;
# then that as C.
prefix=MPI_
for table; do
    if [ "$table" = --ext ]; then
        prefix=MPIX_
        continue
    fi
    sed -n -e '/^MPIXQ_NEXT(/b take' -e '/^  /b take' -e d \
        -e ': take' -e 'H; /))$/ { s/.*//; x; s/\n */ /g; p; }' "$table" |
        sed -e "s/^ *MPIXQ_NEXT(/$prefix|/" -e 's/)$//' -e 's/, *(/|/' -e 's/)$//'
done |
    awk -F'|' -v languages="$languages" -v ext="$ext" '
        # The declaration of p with a type, which may be one of an array.
        function declare(type, p) {
            if (type ~ /\[\]$/) { sub(/\[\]$/, "", type); return type " " p "[]" }
            return type " " p
        }
        function fortran(name, n,    i, parameters, arguments, suffix) {
            name = tolower(name)
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
            print "#include <dlfcn.h>\n#include <mpi.h>\n" ext
            print "#define FIRST __attribute__((weak, visibility(\"default\")))\n"
            print "/* The next definition behind the program: dlsym looks at who calls it. */"
            print "typedef void *look_fn(void *, const char *);"
            print "FIRST void mpixq_first_find(look_fn *look, const char *name, void **found_p);"
            print "FIRST void mpixq_first_find(look_fn *look, const char *name, void **found_p)"
            print "{\n    *found_p = look(RTLD_NEXT, name);\n}\n"
        }
        {
            n = $3 == "void" ? 0 : split($3, types, /, */)
            parameters = arguments = ""
            words = 1 # ierror
            for (i = 1; i <= n; i++) {
                parameters = parameters (i > 1 ? ", " : "") declare(types[i], "p" i)
                arguments = arguments (i > 1 ? ", " : "") "p" i
                # The arguments of main are not there in Fortran.
                words += !($2 ~ /^Init/ && (types[i] == "char ***" || i == 1))
            }
            print "extern __typeof(" $1 $2 ") mpixq_own_" $2 ";"
            print "FIRST int " $1 $2 "(" (n > 0 ? parameters : "void") ")"
            print "{\n    return mpixq_own_" $2 "(" arguments ");\n}\n"
            if (languages == "FORTRAN" && $2 !~ /_c$|^T_/) { fortran($1 $2, words) }
        }'
