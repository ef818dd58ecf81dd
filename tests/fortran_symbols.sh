#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# fortran_symbols.sh - what the shared library interposes for C it interposes for Fortran as well,
# by names that this MPI has; and it has the procedures that the module mpix_queue declares
set -u
lib=$top_builddir/.libs/libmpix_queue.so
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

if [ ! -f "$lib" ]; then
    echo "skip: no shared library in this build"
    exit 77
fi
# names FILE FLAG...: what it defines for others.
names()
{
    nm "${@:2}" --extern-only --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }'
}

exported=$(names "$lib" -D)
first=$(names "$top_builddir/mpixq_first.o")

# words ERE: the exported names that fit.
words()
{
    grep -xE "$1" <<<"$exported" | sort
}

# compare WHAT EXPECTED FOUND: two lists of names.
compare()
{
    local differ
    differ=$(diff <(tr ' ' '\n' <<<"$2" | sort -u) <(tr ' ' '\n' <<<"$3" | sort -u)) ||
        fail "$1:" "$differ"
}

# check_fortran: each function that is interposed in C has its names for Fortran, and no others
# exist. Those with large counts come by C's (MPICH) or have no form in Fortran of their own, and
# the tool interface is for C alone.
check_fortran()
{
    local in_c in_fortran module
    in_c=$(words 'MPIX?_.*' | grep -v -e '_c$' -e '^MPI_T_' | tr 'A-Z' 'a-z')
    [ "$(wc -w <<<"$in_c")" -gt 30 ] || fail "found too few interposed functions: $in_c"
    in_fortran=$(words 'mpix?_.*')
    compare "names of Fortran" "$(sed -e 's/.*/&_ &__ &_f08_/' <<<"$in_c")" "$in_fortran"
    compare "names of Fortran in mpixq_first.o" "$in_fortran" "$(grep -E '^mpix?_' <<<"$first")"
    compare "entries for them" "$(sed 's/^/mpixq_own_/' <<<"$in_c")" \
        "$(words 'mpixq_own_mpix?_.*')"
    module=$(sed -n 's/^ *\(subroutine\|pure function\) \(MPIXQ_[A-Za-z0-9_]*\)(.*/\2/p' \
        "$top_srcdir/src/fortran/mpix_queue.f90" | tr 'A-Z' 'a-z')
    compare "procedures of the module" "$(sed -e 's/.*/&_ &__/' <<<"$module")" \
        "$(words 'mpixq_.*' | grep -v '^mpixq_own_')"
}

# check_names: they are those of this MPI. Where mpi_f08 takes buffers by descriptor, in functions
# with names in _f08ts_, these must call C's functions.
check_names()
{
    local dir defined name
    dir=$(mktemp -d)
    printf 'use mpi_f08\ncall MPI_Init()\nend\n' >"$dir/any.f90"
    # shellcheck disable=SC2086
    (cd "$dir" && $FC -Wl,--no-as-needed any.f90 -o any) || fail "$FC links no program"
    defined=$(ldd "$dir/any" | awk '$3 ~ /mpi/ { print $3 }' |
        xargs -r nm -D --defined-only | awk '{ sub(/@.*/, "", $3); print $3 }')
    rm -rf "$dir"
    for name in $(words 'MPIX?_.*' | grep -v -e '_c$' -e '^MPI_T_' | tr 'A-Z' 'a-z'); do
        grep -qx "${name}_" <<<"$defined" || fail "MPI has no ${name}_"
        case $name in
        mpi_*_init) grep -qxE "${name}_f08(ts)?_" <<<"$defined" ;;
        *) grep -qx "${name}_f08_" <<<"$defined" ;;
        esac || fail "MPI has no ${name}_f08_"
    done
}

if [ "${MPIXQ_TEST_FORTRAN:-no}" = yes ]; then
    check_fortran
    check_names
elif [ -n "$(words 'mpix?_.*')" ]; then
    check_fortran
else
    echo "skip: configure found no MPI that converts handles of Fortran"
    exit 77
fi
exit $failed
