#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# What is written down twice says the same: the README's program and examples/exchange.c; the
# environment variables in the source, the README and the manual; functions and kinds of error in
# the header and in their pages; functions and constants in the header and the module for Fortran;
# options of the benchmarks and in their pages; how late a waiting thread may be, in the source, the
# design and the manual.
# Exit codes: 0 all equal; 1 not; 77 all equal, but there is no mandoc to check the pages' form.

top=${top_srcdir:-${srcdir:-.}}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

fail()
{
    echo "docs: $*"
    failed=1
}

# same WHAT EXPECTED FOUND: the files are equal and not empty.
same()
{
    if [ ! -s "$2" ]; then
        fail "$1: nothing to compare with"
    elif ! diff -u "$2" "$3"; then
        fail "$1: differ as shown above"
    fi
}

check_program()
{
    awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$top/README.md" >"$tmp/program"
    same "examples/exchange.c and README.md" "$top/examples/exchange.c" "$tmp/program"
}

# The functions under their exported names and under the header's MPIX_ spellings.
public_names()
{
    sed -n -e 's/^MPIXQ_PUBLIC int \(MPIXQ_[A-Za-z_]*\)(.*/\1/p' \
        -e 's/^#define \(MPIX_[A-Z][a-z][A-Za-z_]*\) MPIXQ_.*/\1/p' "$top/include/mpix_queue.h" |
        grep -vx -e 'MPIX_Queue' -e 'MPIX_Queue_type' -e 'MPIX_Host_stream'
}

# Each name has a page, or a .so line to one, which lists it and shows its prototype.
check_pages()
{
    public_names >"$tmp/names"
    if [ "$(wc -l <"$tmp/names")" -lt 20 ]; then
        fail "include/mpix_queue.h: too few functions found"
    fi
    while read -r name; do
        page=$top/man/$name.3
        if [ ! -f "$page" ]; then
            fail "$name has no man page"
            continue
        fi
        target=$(sed -n 's/^\.so man3\///p' "$page")
        page=$top/man/${target:-$name.3}
        grep -q "^\.Nm $name\( ,\)*\$" "$page" || fail "$page does not list $name"
        grep -q "^\.Fo MPIXQ*_${name#MPIX*_}\$" "$page" || fail "$page has no prototype of $name"
    done <"$tmp/names"
    for page in "$top"/man/*.3; do
        grep -qx "$(basename "$page" .3)" "$tmp/names" || fail "$page is no page of a function"
    done
}

# The kinds of error and their numbers.
check_kinds()
{
    sed -n 's/^    \(MPIXQ_ERR_[A-Z_]*\) = \([0-9]*\).*/\1 \2/p' "$top/include/mpix_queue.h" \
        >"$tmp/kinds.header"
    sed -n 's/^\.It Dv \(MPIXQ_ERR_[A-Z_]*\) Ta \([0-9]*\) Ta .*/\1 \2/p' \
        "$top/man/MPIX_Error_kind.3" >"$tmp/kinds.page"
    same "kinds of error in the header and man/MPIX_Error_kind.3" "$tmp/kinds.header" \
        "$tmp/kinds.page"
}

# The functions under both spellings, and the constants that are numbers.
check_fortran()
{
    module=$top/src/fortran/mpix_queue.f90
    public_names | sort >"$tmp/names.header"
    sed -n 's/^ *interface \(MPIX*Q*_[A-Za-z_]*\)$/\1/p' "$module" | sort >"$tmp/names.module"
    same "functions in the header and $module" "$tmp/names.header" "$tmp/names.module"
    {
        sed -n 's/^    \(MPIXQ_[A-Z_]*\) = \([0-9]*\).*/\1 \2/p' "$top/include/mpix_queue.h"
        sed -n 's/^#define \(MPIXQ_[A-Z_]*\) (*\(-*[0-9][0-9]*\))*$/\1 \2/p' \
            "$top/include/mpix_queue.h"
    } | sort >"$tmp/constants.header"
    sed -n 's/^ *integer, parameter :: \(MPIXQ_[A-Z_]*\) = \([-0-9]*\)$/\1 \2/p' "$module" |
        sort >"$tmp/constants.module"
    same "constants in the header and $module" "$tmp/constants.header" "$tmp/constants.module"
}

# options_of FILE...: the long options in the sources of a benchmark.
options_of()
{
    sed -n -e 's/^ *{"\([a-z-]*\)", [a-z]*_argument,.*/\1/p' \
        -e 's/^ *{"\([a-z-]*\)", \("[^"]*"\|NULL\), ".*/\1/p' "$@" | sort
}

# The options of each benchmark and those that its page explains.
check_options()
{
    for program in exchange pingpong halo; do
        options_of "$top/benchmarks/bench_options.c" "$top/benchmarks/$program.c" >"$tmp/options"
        sed -n 's/^\.It Fl -//p' "$top/man/mpixq_$program.1" |
            sed -e 's/ , Fl -/\n/g' | sed 's/ .*//' | sort >"$tmp/explained"
        same "options in benchmarks/$program.c and man/mpixq_$program.1" "$tmp/options" \
            "$tmp/explained"
    done
}

# The share of a wait by which its end may be noticed late: MPIXQ_BACKOFF_SHARE, in words.
check_backoff()
{
    share=$(sed -n 's/^#define MPIXQ_BACKOFF_SHARE \([0-9]*\)$/\1/p' "$top/src/core/backoff.h")
    case $share in
    4) word="a quarter" ;;
    8) word="an eighth" ;;
    16) word="a sixteenth" ;;
    32) word="a thirty-second" ;;
    *) fail "src/core/backoff.h: no word for a share of '$share'" ;;
    esac
    for file in src/core/backoff.h doc/design.md man/mpix_queue.7; do
        # As running text: the words may stand in two lines.
        sed -e 's/^ \*//' "$top/$file" | tr -s ' \n' '  ' >"$tmp/text"
        for words in "sleeps between polls for $word of the time it has waited, at most" \
            "late by $word at most"; do
            grep -qF "$words" "$tmp/text" || fail "$file does not say '$words'"
        done
    done
}

check_form()
{
    for page in "$top"/man/*.[137]; do
        grep -q '^\.so ' "$page" && continue
        mandoc -Tlint -W warning "$page" || fail "$page: mandoc warns"
    done
}

# The variables, one line each: NAME^VALUES^DEFAULT^HELP.
env_of_source()
{
    cat >"$tmp/env.c" <<'END'
#define MPIXQ_ENV_CHOICE(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_CPUS(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_CHANNELS(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_INT(field, name, def, low, high, help) \
    ROW name "^" #low ".." #high "^" #def "^" help
#include "env_defs.h"
END
    # $CC may carry options.
    # shellcheck disable=SC2086
    ${CC:-cc} -E -P -I"$top/src/core" "$tmp/env.c" | tr '\n' ' ' |
        sed -e 's/" *"//g' -e 's/ROW "\([^"]*\)"/\1\n/g' |
        sed -e 's/^ *//' -e 's/|/, /g' -e '/^$/d'
}

env_of_readme()
{
    # shellcheck disable=SC2016
    sed -n 's/^| `\(MPIXQ_[A-Z_]*\)` | \(.*\) | \(.*\) | \(.*\) |$/\1^\2^\3^\4/p' "$top/README.md"
}

# Entries of the form ".It Ev NAME No = VALUES Pq default DEFAULT", then the help as a sentence.
env_of_manual()
{
    awk '
        function flush() {
            if (row != "") {
                sub(/\.$/, "", help)
                print row "^" tolower(substr(help, 1, 1)) substr(help, 2)
            }
            row = help = ""
        }
        /^\.It Ev MPIXQ_/ {
            flush()
            gsub(/\|/, ", ")
            match($0, / No = .* Pq default /)
            row = substr($0, 8, RSTART - 8) "^" substr($0, RSTART + 6, RLENGTH - 18) "^" \
                substr($0, RSTART + RLENGTH)
            next
        }
        /^\./ { flush(); next }
        row != "" { help = help (help == "" ? "" : " ") $0 }
    ' "$top/man/mpix_queue.7"
}

check_environment()
{
    env_of_source >"$tmp/env.source"
    env_of_readme >"$tmp/env.readme"
    env_of_manual >"$tmp/env.manual"
    same "environment in src/core/env_defs.h and README.md" "$tmp/env.source" "$tmp/env.readme"
    same "environment in src/core/env_defs.h and man/mpix_queue.7" "$tmp/env.source" \
        "$tmp/env.manual"
}

check_program
check_pages
check_kinds
check_fortran
check_options
check_environment
check_backoff
if command -v mandoc >/dev/null; then
    check_form
fi
if [ "$failed" != 0 ]; then
    exit 1
fi
if ! command -v mandoc >/dev/null; then
    echo "docs: mandoc is not installed: the form of the man pages was not checked"
    exit 77
fi
