#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# abi.sh - the shared library has the interface that abi/ stores, by the policy of doc/abi.md. What
# is removed, changed and new is found: a library is made from the header alone, which the stored
# interface describes as well, and then from headers in which one thing is other
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
stored=$top_srcdir/abi/$MPIXQ_TEST_MPI.abi
library=$top_builddir/.libs/libmpix_queue.so
if [ ! -f "$library" ]; then
    echo "skip: no shared library in this build"
    exit 77
elif ! command -v abidw >/dev/null; then
    echo "skip: there is no abidw of libabigail"
    exit 77
elif [ ! -f "$stored" ] || [ "$(uname -m)" != x86_64 ]; then
    echo "skip: abi/ has no description for $MPIXQ_TEST_MPI on $(uname -m)"
    exit 77
elif ! readelf -S "$library" | grep -q '\.debug_info'; then
    echo "skip: the library was built without -g"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# differs LIBRARY INCLUDE: print what is not as it is stored; nothing if all is. Names of large
# counts, of collectives, of MPI_T and of Fortran are there where MPI and the compilers are.
differs()
{
    local without=^$ prefix
    local collective='([Bb]arrier|[Bb]cast|[Aa]llreduce|[Aa]llgather|[Nn]eighbor_alltoallv?)_init'
    bash "$top_srcdir/tools/abi.sh" describe "$1" "$2" >"$dir/found.abi" || echo "no description"
    abidiff --harmless "$stored" "$dir/found.abi" >"$dir/report" 2>&1 ||
        { echo "abidiff says:"; cat "$dir/report"; }
    bash "$top_srcdir/tools/abi.sh" names "$1" "$2" >"$dir/found.names" || echo "no names"
    grep -q ' MPI_Send_init_c ' "$dir/found.names" ||
        without='_init_c '
    grep -q ' MPI_T_pvar_read ' "$dir/found.names" ||
        without+='|MPI_T_|mpixq_own_T_'
    grep -q ' MPI_T_category_get_events ' "$dir/found.names" ||
        without+='|T_category_get_(num_)?events '
    # Of these MPI has one form, or none.
    for prefix in mpi mpix; do
        grep -q " ${prefix^^}_Barrier_init " "$dir/found.names" ||
            without+="|symbol (${prefix^^}|${prefix}|mpixq_own_$prefix)_$collective"
    done
    grep -q ' mpixq_own_Barrier_init ' "$dir/found.names" ||
        without+="|symbol mpixq_own_$collective"
    grep -q ' mpi_send_init_ ' "$dir/found.names" ||
        without+='|symbol (mpixq_own_)?mpi_|symbol mpixq_.*_f(08)?_+ '
    diff <(grep -vE "$without" "$top_srcdir/abi/names") "$dir/found.names" |
        sed -n 's/^</removed:/p; s/^>/new:/p'
}

# ---- Changes are found --------------------------------------------------------------------------

# made_of HEADER: a library with its functions and those of the header for kernels beside it, which
# do nothing.
made_of()
{
    # shellcheck disable=SC2086
    awk 'BEGIN { print "#include <mpix_queue_device_rma.h>\n#include <mpix_queue_partitions.h>" }
        /^MPIXQ_PUBLIC [a-z]+ P/ { on = 1 }
        on { text = text $0 }
        on && /;$/ {
            sub(/^MPIXQ_PUBLIC /, "", text)
            sub(/;$/, " { return 0; }", text)
            name = text
            sub(/^[a-z]+ P/, "", name)
            sub(/\(.*/, "", name)
            print text
            print "extern __typeof__(P" name ") " name
            print "    __attribute__((weak, alias(\"P" name "\")));"
            on = 0
            text = ""
        }' "$1" "${1%/*}"/mpix_queue_{device,rma,device_rma,partitions}.h >"$dir/made.c" &&
        $CC -g -shared -fPIC -Wl,-soname,libmpix_queue.so.0 -I"${1%/*}" "$dir/made.c" \
            -Wl,--version-script="$top_srcdir/src/libmpix_queue.map" -o "$dir/made.so"
}

# finds TEXT EXPRESSION: with the header changed by this expression of sed.
finds()
{
    local found
    local header changed=0
    mkdir -p "$dir/include"
    for header in "$top_srcdir"/include/mpix_queue*.h; do
        sed -E "$2" "$header" >"$dir/include/${header##*/}"
        cmp -s "$dir/include/${header##*/}" "$header" || changed=1
    done
    if [ $changed = 0 ]; then
        echo "failed: $2 changes nothing in the headers"
        failed=1
    fi
    made_of "$dir/include/mpix_queue.h" || { failed=1; return; }
    # Of names it has those of the header only.
    found=$(differs "$dir/made.so" "$dir/include" | grep -vE '^removed: symbol (mpixq|mpi|MPI)_')
    [ -z "$1" ] && [ -z "$found" ] && return
    [ -n "$1" ] && grep -qE -e "$1" <<<"$found" && return
    printf 'failed: with %s not "%s" was found, but:\n%s\n' "$2" "$1" "$found"
    failed=1
}
finds '' 's/put communication in order/&s/; $a /* at the end */'
# From "PMPIXQ_Queue_test(" on, and the macro of that name.
finds '1 Removed' '/MPIXQ_Queue_test\(/d'
finds 'removed: symbol MPIXQ_Queue_test' '/MPIXQ_Queue_test\(/d'
finds "parameter 2 of type 'int\*' changed" \
    's/(MPIXQ_Queue_test\(.*)int \*flag/\1long *flag/'
finds 'parameter 3 .* added' 's/(MPIXQ_Queue_test\(.*)int \*flag/\1int *flag, int more/'
finds 'return type changed' 's/int (P?MPIXQ_Match\()/long \1/'
finds 'MPIXQ_QUEUE_CXI.* from value .2. to .7.' 's/(MPIXQ_QUEUE_CXI =) 2/\1 7/'
finds 'removed: constant MPIXQ_ERR_COMM 9' 's/(MPIXQ_ERR_COMM =) 9/\1 11/'
finds 'removed: constant MPIXQ_ALL_STARTED -1' 's/(MPIXQ_ALL_STARTED) \(-1\)/\1 (-2)/'
finds '1 Added' '/^MPIXQ_PUBLIC int PMPIXQ_Queue_wait/a MPIXQ_PUBLIC int PMPIXQ_More(int more);'
finds 'new: symbol MPIXQ_More' \
    '/^MPIXQ_PUBLIC int PMPIXQ_Queue_wait/a MPIXQ_PUBLIC int PMPIXQ_More(int more);'
finds 'removed: constant MPIXQ_DEVICE_ABI 3' 's/(define MPIXQ_DEVICE_ABI) 3/\1 4/'
finds "type of 'mpixq_dev_word.* changed|type size changed" \
    's/(mpixq_dev_word done, state,) posted/\1 more, posted/'
finds "parameter 5 of type 'int' changed" \
    's/^( +MPIXQ_Device_request handles\[\],) int abi/\1 long abi/'

# ---- The library --------------------------------------------------------------------------------

found=$(differs "$library" "$top_srcdir/include")
if [ -n "$found" ]; then
    echo "failed: the interface is not that of abi/: doc/abi.md says what to do"
    echo "$found"
    failed=1
fi
# libtool's numbers give the name under which programs look for it.
[ "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = \
    "$(sed -n "s/^<abi-corpus .*soname='\([^']*\)'.*/\1/p" "$stored")" ] ||
    { echo "failed: the soname of $library is other than in $stored"; failed=1; }
exit $failed
