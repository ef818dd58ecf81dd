#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# symbols.sh - the shared library exports what the header promises and nothing else, each function
# under two names, and the MPI functions that it defines; the static one defines nothing that could
# clash with other libraries; both call MPI by PMPI_ names only; mpixq_first.o defines the same MPI
# functions
set -u
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# has LINES LINE: is it one of them? Without a process, as there are many.
has()
{
    [[ $'\n'$1$'\n' = *$'\n'"$2"$'\n'* ]]
}

headers=("$top_srcdir"/include/mpix_queue{,_device,_rma,_device_rma,_partitions}.h)
declared=$(sed -n 's/^MPIXQ_PUBLIC .* \**\(MPIXQ_[A-Za-z_]*\)(.*/\1/p' "${headers[@]}")
[ "$(wc -w <<<"$declared")" -gt 20 ] || fail "found too few functions in the header: $declared"
text=$(cat "${headers[@]}")
for name in $declared; do
    [[ $text = *"P$name("* ]] || fail "P$name is not in the header"
done
# What is passed on to the next definition, and what is passed on where MPI has it.
interposed=$(sed -n 's/^MPIXQ_NEXT(\([A-Za-z_]*\),.*/MPI_\1/p' "$top_srcdir/src/pmpi/next_defs.h")
[ "$(wc -w <<<"$interposed")" -gt 20 ] || fail "found too few functions in next_defs.h: $interposed"
optional=$(sed -n 's/^MPIXQ_NEXT(\([A-Za-z_]*\),.*/MPI_\1/p' "$top_srcdir/src/pmpi/large_defs.h" \
    "$top_srcdir"/src/pmpi/tool*_defs.h)
# Persistent collectives, which begin with MPI_ or with MPIX_, as MPI has them; or are none at all.
collectives=$(sed -n 's/^MPIXQ_NEXT(\([A-Za-z_]*\),.*/\1/p' \
    "$top_srcdir/src/pmpi/collective_defs.h")
[ "$(wc -w <<<"$collectives")" -gt 5 ] || fail "found too few collectives: $collectives"
prefix=$(sed -n -e 's/^#define HAVE_MPI_COLLECTIVE 1$/MPI_/p' \
    -e 's/^#define HAVE_MPI_COLLECTIVE_EXT 1$/MPIX_/p' "$top_builddir/config.h")
for name in ${prefix:+$collectives}; do
    interposed+=$'\n'$prefix$name
done

# defined FILE FLAG...: "type name" per symbol that others see.
defined()
{
    nm "${@:2}" --extern-only --defined-only "$1" 2>/dev/null |
        awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $2, $3 }' | sort -u
}

# undefined FILE FLAG...: what it wants from others. In an archive one file may want what another
# one has; the names for Fortran call those for C on purpose.
undefined()
{
    nm "${@:2}" --undefined-only "$1" 2>/dev/null | awk '
        /:$/ { fortran = /-fortran/ }
        NF == 2 && !(fortran && $2 ~ /^MPIX?_/) { sub(/@.*/, "", $2); print $2 }' |
        sort -u
}

# check_library FILE PREFIX FLAG...: names with the prefix are internal ones and allowed.
check_library()
{
    local file=$1 prefix=$2 symbols wanted type name
    symbols=$(defined "$file" "${@:3}")
    wanted=$(undefined "$file" "${@:3}")
    for name in $declared; do
        has "$symbols" "W $name" || fail "$file: $name is not exported as a weak symbol"
        has "$symbols" "T P$name" || fail "$file: P$name is not exported"
    done
    for name in $interposed; do
        has "$symbols" "T $name" || fail "$file: $name is in a table, not exported"
    done
    while read -r type name; do
        case $name in
        MPIXQ_*)
            has "$declared" "$name" || fail "$file: $name is exported, not in the header" ;;
        PMPIXQ_*)
            has "$declared" "${name#P}" ||
                fail "$file: $name is exported, not in the header" ;;
        # What mpixq_first.o calls; tests/fortran_symbols.sh knows those for Fortran.
        mpixq_own_mpi_* | mpixq_own_mpix_*)
            [ "$type" = T ] || fail "$file: $name is of type $type" ;;
        mpixq_own_*)
            [ "$type" = T ] && { has "$symbols" "T MPI_${name#mpixq_own_}" ||
                has "$symbols" "T MPIX_${name#mpixq_own_}"; } ||
                fail "$file: $name is exported for no function of MPI" ;;
        mpi_*_ | mpix_*_ | mpixq_*_f_ | mpixq_*_f__ | mpixq_*_f08_ | mpixq_*_f08__)
            [ "$type" = T ] || fail "$file: $name is of type $type" ;;
        MPI_* | MPIX_*)
            [ "$type" = T ] || fail "$file: $name is of type $type"
            has "$interposed"$'\n'"$optional" "$name" ||
                fail "$file: $name is exported and passed on to nobody" ;;
        # The runtime of a sanitizer marks what it instruments.
        __asan_* | __ubsan_* | __tsan_* | __odr_asan*) ;;
        # Of NVTX, in whose headers they stand: merged with those of the program, and hidden.
        nvtx* | InitializeInjectionNvtx2_fnptr)
            [ -n "$prefix" ] && [[ $type = [WV] ]] || fail "$file: $name is exported" ;;
        *) [ -n "$prefix" ] && [[ $name = "$prefix"* ]] || fail "$file: $name is exported" ;;
        esac
    done <<<"$symbols"
    # A call of MPI_x from inside would come back to ourselves or to a tool. These three are
    # variables.
    for name in $(grep '^MPIX\{0,1\}_' <<<"$wanted" |
        grep -vx -e MPI_UNWEIGHTED -e MPI_WEIGHTS_EMPTY -e MPI_T_PVAR_ALL_HANDLES); do
        fail "$file: $name is called, not P$name"
    done
    # What comes in passes on: the next one may be MPI itself.
    for name in $(sed -n 's/^T \(MPIX\{0,1\}_.*\)/\1/p' <<<"$symbols"); do
        has "$wanted" "P$name" ||
            fail "$file: $name is defined, but P$name is nowhere called"
    done
}

# check_first FILE LIBRARY: it defines, weakly, what the library does, and calls entries it has.
check_first()
{
    local symbols differ
    symbols=$(defined "$1")
    ! grep -v '^W ' <<<"$symbols" || fail "$1: not weak, as shown above"
    differ=$(diff <(defined "$2" -D | sed -n 's/^T \(\(MPI\|mpi\|MPIX\|mpix\)_.*\)/\1/p' | sort) \
        <(sed -n 's/^W \(\(MPI\|mpi\|MPIX\|mpix\)_.*\)/\1/p' <<<"$symbols" | sort)) ||
        fail "$1 and $2 differ in what they define:" "$differ"
    differ=$(comm -23 <(undefined "$1" | grep -v '^_' | sort) \
        <(defined "$2" -D | sed 's/^. //' | sort))
    [ -z "$differ" ] || fail "$1: not in $2:" "$differ"
}

shared=$top_builddir/.libs/libmpix_queue.so
static=$top_builddir/.libs/libmpix_queue.a
if [ ! -f "$shared" ] && [ ! -f "$static" ]; then
    echo "skip: neither a shared nor a static library in this build"
    exit 77
fi
[ ! -f "$shared" ] || check_library "$shared" '' -D
if [ -f "$shared" ] && [ -f "$top_builddir/mpixq_first.o" ]; then
    check_first "$top_builddir/mpixq_first.o" "$shared"
fi
[ ! -f "$static" ] || check_library "$static" mpixq_
exit $failed
