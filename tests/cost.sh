#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cost.sh [LEVEL] - what the library under LD_PRELOAD costs a program that never matches
#
# Instructions by callgrind, as the difference of a run of 2,000 and one of 22,000 turns divided by
# 20,000: at most 20 more for each MPI_Start, MPI_Wait and MPI_Test call and their array forms, and
# at most twice as many for MPI_Send_init with MPI_Request_free. LEVEL is the thread level that the
# program asks for: single (the default) or multiple.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
limit_per_call=20
limit_ratio=2
case ${1:-single} in
single) level='MPI_THREAD_SINGLE' ;;
multiple) level='MPI_THREAD_MULTIPLE' ;;
*) echo "no such level: $1"; exit 99 ;;
esac
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

# The number of the level is the MPI library's own.
cat >"$dir/level.c" <<END
#include <mpi.h>
#include <stdio.h>
int main(void) { return printf("%d\n", $level) < 0; }
END
$CC -o "$dir/level" "$dir/level.c" && level=$("$dir/level") || exit 99
$CC -O2 -w -o "$dir/probe" "$top_srcdir/tests/cost_probe.c" || {
    echo "skip: the headers of valgrind are missing"
    exit 77
}

# measure NAME PRELOAD: lines "turn calls instructions-per-turn" in NAME.counts
measure()
{
    mkdir "$dir/$1"
    (cd "$dir/$1" && LD_PRELOAD=$2 timeout 280 valgrind --tool=callgrind \
        --callgrind-out-file=out --combine-dumps=no "$dir/probe" "$level") \
        >"$dir/$1.log" 2>&1 || { cat "$dir/$1.log"; exit 1; }
    awk -F '[/ ]' '
        /^desc: Trigger: Client Request:/ { name = $(NF - 2); calls = $(NF - 1); times = $NF }
        /^(totals|summary):/ && name != "" {
            count[name "/" times] = $2; of[name] = calls; name = ""
        }
        END {
            for (n in of) {
                print n, of[n], (count[n "/22000"] - count[n "/2000"]) / 20000
            }
        }' "$dir/$1"/out* | sort >"$dir/$1.counts"
    [ -s "$dir/$1.counts" ] || { echo "callgrind wrote no counts"; exit 1; }
}

measure without ''
measure with "$library"
join "$dir/without.counts" "$dir/with.counts" | awk -v per_call=$limit_per_call \
    -v ratio=$limit_ratio '
    BEGIN { printf "%-18s %12s %12s %12s\n", "", "without", "with", "per call" }
    {
        more = ($5 - $3) / $2
        too_much = $1 == "init_free" ? $5 > ratio * $3 : more > per_call
        printf "%-18s %12.1f %12.1f %12.1f%s\n", $1, $3, $5, more, too_much ? "  too much" : ""
        failed += too_much
        rows++
    }
    END { exit failed > 0 || rows != 11 }'
