#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# rebuild.sh - what is built already is not built again: neither by make nor, in a tree that ./run
# has made, by a second "./run build", which also configures and installs nothing. And what
# configure finds anew is in config.h before anything is compiled
set -u
failed=0
log=$(mktemp)
marker=$(mktemp)
trap 'rm -f "$log" "$marker"' EXIT

# The jobs of the make that runs the tests are not ours.
unset MAKEFLAGS MFLAGS MAKELEVEL
if [ "$top_builddir" -ef "$top_srcdir/build/$MPIXQ_TEST_MPI" ]; then
    command=("$top_srcdir/run" build --mpi "$MPIXQ_TEST_MPI")
else
    command=("$MAKE" -C "$top_builddir" all)
fi
build()
{
    "${command[@]}" >"$log" 2>&1 </dev/null || { cat "$log"; exit 1; }
}
build
# Files are as old as the tick of the clock in which they were written.
sleep 0.1
touch "$marker"
build

made=$(find "$top_builddir" -name out -prune -o -newer "$marker" -type f \
    \( -name '*.o' -o -name '*.lo' -o -name '*.la' -o -name '*.a' -o -name '*.so*' \
    -o -name config.status -o -name config.h -o -name Makefile -o -name install.stamp \
    -o -path '*/benchmarks/mpixq_*' -o -path "$top_builddir/inst/*" \) -print)
if [ -n "$made" ]; then
    printf 'failed: %s made again:\n%s\n' "${command[*]}" "$made"
    failed=1
fi
for word in configure autoreconf 'CC ' CCLD libtool; do
    if grep -q "^ *[a-z]*:* *$word" "$log"; then
        echo "failed: ${command[*]} ran $word:"
        cat "$log"
        failed=1
    fi
done
# As if config.h.in were newer: what make would do, in which order.
source=$(sed -n 's/^srcdir = //p' "$top_builddir/Makefile")
for target in all install-changed selected-programs; do
    "$MAKE" -C "$top_builddir" -n -W "$source/config.h.in" $target >"$log" 2>&1 </dev/null
    first=$(grep -m 1 -E 'config\.status config\.h|libtool.*--mode=compile' "$log")
    case $first in
    *config.status*) ;;
    *) failed=1; echo "failed: make $target compiles before config.h is there: ${first:-nothing}" ;;
    esac
done
exit $failed
