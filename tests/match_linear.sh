#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# match_linear.sh - making, matching and freeing a request takes as many instructions among 16,000
# requests as among 2,000, within a quarter: for equal and distinct envelopes, in either order, with
# wildcards, all at once, in blocks and one by one. By callgrind, in one process that matches with
# itself: there is no waiting in it, whose instructions would depend on the machine.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
small=2000 large=16000 limit=1.25
library=$top_builddir/.libs/libmpix_queue.so
if [ ! -f "$library" ]; then
    echo "skip: no shared library in this build"
    exit 77
fi
if ! command -v valgrind >/dev/null; then
    echo "skip: there is no valgrind"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

$CC -O2 -w -I "$top_srcdir/include" -o "$dir/probe" "$top_srcdir/tests/match_linear_probe.c" \
    "$library" -Wl,-rpath,"$top_builddir/.libs" || {
    echo "skip: the headers of valgrind are missing"
    exit 77
}
# Without a progress thread, whose rounds would be counted.
(cd "$dir" && MPIXQ_THREAD_LEVEL=keep timeout 500 valgrind --tool=callgrind \
    --callgrind-out-file=out --combine-dumps=no "$dir/probe" $small $large) \
    >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
awk -F '[/ ]' -v small=$small -v large=$large -v limit=$limit '
    /^desc: Trigger: Client Request:/ { name = $(NF - 1); n = $NF }
    /^(totals|summary):/ && name != "" { count[name, n] = $2 / n; names[name] = 1; name = "" }
    END {
        printf "%-26s %10s %10s %8s\n", "instructions per request", small, large, "ratio"
        for (name in names) {
            rows++
            few = count[name, small]
            many = count[name, large]
            ratio = few > 0 ? many / few : 99
            bad = ratio > limit
            failed += bad
            printf "%-26s %10.1f %10.1f %8.2f%s\n", name, few, many, ratio, bad ? "  bad" : ""
        }
        exit failed > 0 || rows != 30
    }' "$dir"/out*
