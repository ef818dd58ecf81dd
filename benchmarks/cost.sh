#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cost.sh - what the library costs the host: instructions, locks, system calls, allocations
#
#     cost.sh [--only level|calls|plain|match|enqueue|cxi|stream] CC MPIEXEC TREE
#
# CC and MPIEXEC are compiler and launcher of an MPI, TREE is a build tree that was made with it.
# All but the times at the end of "level" is counted, by callgrind and a heap that counts: what each
# table says does not depend on the machine's load. Exit code 77 if callgrind or its header is
# missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=${here%/*}

die()
{
    echo "cost: $*" >&2
    exit 1
}

only=
if [ "${1-}" = --only ]; then
    only=${2-}
    shift 2
fi
case $only in
'' | level | calls | plain | match | enqueue | cxi | stream) ;;
*) die "there is no part $only" ;;
esac
[ $# -eq 3 ] || die "usage: cost.sh [--only PART] CC MPIEXEC TREE"
read -r -a cc <<<"$1"
read -r -a launcher <<<"$2"
tree=$3
[ -f "$tree/.libs/libmpix_queue.so" ] || die "there is no shared library in $tree"
if ! command -v valgrind >/dev/null; then
    echo "skip: there is no valgrind"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

flags=(-std=c11 -D_GNU_SOURCE -O2)
"${cc[@]}" "${flags[@]}" "$here/cost_mpi.c" "$here/cost_count.c" -o "$dir/cost_mpi" || {
    echo "skip: the headers of valgrind are missing"
    exit 77
}
for program in cost_plain cost_queue; do
    "${cc[@]}" "${flags[@]}" -I"$top/include" "$here/$program.c" "$here/cost_count.c" \
        -o "$dir/$program" -L"$tree/.libs" -lmpix_queue -Wl,-rpath,"$tree/.libs"
done

launch()
{
    # shellcheck disable=SC2086 # the flags are words
    timeout 300 "${launcher[@]}" ${MPIEXEC_FLAGS-} -n 2 "$@" </dev/null
}

# count NAME PROGRAM OPTION...: lines of cost.awk in the file $dir/NAME.
count()
{
    local name=$1 program=$dir/$2
    shift 2
    mkdir "$dir/$name.dumps"
    launch valgrind --tool=callgrind --collect-atstart=no --separate-threads=yes \
        --collect-systime=yes --combine-dumps=no "--callgrind-out-file=$dir/$name.dumps/%p" \
        "$program" "$@" >"$dir/$name.log" 2>&1 || {
        cat "$dir/$name.log" >&2
        die "$name failed"
    }
    awk -f "$here/cost.awk" "$dir/$name.dumps"/* >"$dir/$name"
    rm -r "$dir/$name.dumps"
    [ -s "$dir/$name" ] || die "callgrind counted nothing of $name"
}

# value FILE ROW COLUMN, where column 1 is what follows the name of the row
value()
{
    awk -F '\t' -v row="$2" -v column="$3" '$1 == row { print $(column + 1); found = 1 }
        END { exit !found }' "$dir/$1" || die "callgrind did not count $2"
}

# Columns of cost.awk.
library=1 others=2 messages=5 allocations=6 bytes=7 left=8

heading()
{
    printf '\n%s\n\n' "$1"
    shift
    # shellcheck disable=SC2059
    printf "$@"
}

# ---- Thread level -------------------------------------------------------------------------------

# best FILE COLUMN: the smallest number
best()
{
    awk -v column="$2" 'NR == 1 || $column < best { best = $column } END { print best }' "$1"
}

ratio_line()
{
    awk -v name="$1" -v a="$2" -v b="$3" -v form="$4" \
        'BEGIN { printf "%-34s" form form "%9.2f\n", name, a, b, b / a }'
}

table_level()
{
    local level row
    for level in single multiple; do
        count "$level" cost_mpi "$level" count
    done
    heading "MPI without the library: instructions per call or request" '%-34s%10s%10s%9s\n' \
        "" single multiple ratio
    while IFS= read -r row; do
        ratio_line "${row#0/level/}" "$(value single "$row" $others)" \
            "$(value multiple "$row" $others)" '%10.0f'
    done < <(cut -f 1 "$dir/single" | grep '^0/' | sort)
    # Alternating, so that what else the machine does falls on both.
    for _ in 1 2 3 4 5 6 7; do
        for level in single multiple; do
            launch "$dir/cost_mpi" "$level" time >>"$dir/$level.times"
        done
    done
    ratio_line "Send, Recv: us one way, 8 bytes" "$(best "$dir/single.times" 1)" \
        "$(best "$dir/multiple.times" 1)" '%10.3f'
    ratio_line "persistent: us one way, 8 bytes" "$(best "$dir/single.times" 2)" \
        "$(best "$dir/multiple.times" 2)" '%10.3f'
}

# ---- Calls of a program that does not match -----------------------------------------------------

table_calls()
{
    local level
    for level in single multiple; do
        heading "A program that never matches, at MPI_THREAD_${level^^}: instructions per turn" ''
        top_srcdir=$top top_builddir=$tree CC=${cc[*]} bash "$top/tests/cost.sh" "$level"
    done
}

# ---- Other requests of a program that matches ---------------------------------------------------

table_plain()
{
    local row name group
    count plain cost_plain
    heading "Requests that are not matched, while so many pairs are: instructions per call" \
        '%-26s%10s%10s%10s%10s%10s%10s\n' "" MPI none "1 idle" "1 busy" "1000 idle" freed
    for row in wait/1 test/1 waitall/16 start/1 startall/16 "waitall, persistent/16"; do
        name=${row%/1}
        printf '%-26s%10.0f' "${name/\/16/ of 16}" "$(value plain "0/nothing/$row" $others)"
        for group in nothing "one idle" "one in flight" "many idle" "nothing left"; do
            printf '%10.0f' "$(value plain "0/$group/$row" $library)"
        done
        echo
    done
}

# ---- Matching -----------------------------------------------------------------------------------

match_form='%10.0f%10.0f%10.2f%10.2f%8.0f%8.0f\n'
ends=(sender receiver)

# match_row TITLE ROW: one step of one end
match_row()
{
    # shellcheck disable=SC2059
    printf "  %-30s$match_form" "$1" "$(value match "$2" $library)" "$(value match "$2" $others)" \
        "$(value match "$2" $messages)" "$(value match "$2" $allocations)" \
        "$(value match "$2" $bytes)" "$(value match "$2" $left)"
}

table_match()
{
    local which group num step
    MPIXQ_THREAD_LEVEL=keep count match cost_queue match
    heading "Matching: per pair" "%-32s%10s%10s%10s%10s%8s%8s\n" "" library MPI,libc messages \
        allocated bytes left
    for which in first/50 again/50 again/1; do
        group=${which%/*} num=${which#*/}
        echo "$num at a time, $group"
        for step in capture/0 capture/1 offer/0 answer/1 connect/0; do
            match_row "${step%/*}, ${ends[${step#*/}]}" "${step#*/}/$group/${step%/*}/$num"
        done
        awk -F '\t' -v key="^[01]/$group/(capture|offer|answer|connect)/$num\$" \
            -v form="  %-30s$match_form" '
            $1 ~ key { for (i = 2; i <= NF; i++) { sum[i] += $i } }
            END { printf form, "both, matched", sum[2], sum[3], sum[6], sum[7], sum[8], sum[9] }
            ' "$dir/match"
        for step in 0 1; do
            match_row "free, ${ends[$step]}" "$step/$group/free/$num"
        done
    done
}

# ---- Enqueueing ---------------------------------------------------------------------------------

# enqueue_rows NAME: from what was counted under that name
enqueue_rows()
{
    local state row num
    for state in busy asleep; do
        echo "the stream is $state"
        for row in start/1 wait/1 startall/16 waitall/16; do
            num=${row#*/}
            awk -F '\t' -v row="0/$state/$row" -v name="${row/\/16/(16)}" -v num="$num" '$1 == row {
                sub("/1$", "", name)
                printf "  %-32s%10.0f%10.0f%10.0f%8.1f%8.1f%12.2f\n", name, $2, $3, ($2 + $3) / num,
                    $5, $4, $7 + $10
                found = 1
            }
            END { exit !found }' "$dir/$1" || die "callgrind did not count $row"
        done
    done
}

# enqueue_heading CHANNEL OTHERS
enqueue_heading()
{
    heading "Starts and waits on $1: per call of the host" '%-34s%10s%10s%10s%8s%8s%12s\n' \
        "" library "$2" "a request" locks system allocations
}

table_enqueue()
{
    count enqueue cost_queue enqueue
    enqueue_heading "the fallback" MPI,libc
    enqueue_rows enqueue
}

# The budget holds all that is enqueued ahead, so that nothing is held for lack of entries.
table_cxi()
{
    if ! grep -q '^#define HAVE_LIBFABRIC 1' "$tree/config.h"; then
        heading "Starts and waits on channel cxi: this build has no libfabric" ''
        return
    fi
    MPIXQ_FABRIC=sockets MPIXQ_CHANNELS=cxi MPIXQ_TRIGGERED_OPS=4096 \
        count cxi cost_queue enqueue
    enqueue_heading "channel cxi, provider sockets" "libfabric,libc"
    enqueue_rows cxi
}

# ---- The thread of a stream ---------------------------------------------------------------------

table_stream()
{
    local row
    count stream cost_queue stream
    heading "The stream's thread and plain MPI: instructions per request" \
        '%-34s%10s%10s%10s%9s%10s\n' "" library MPI,libc "plain MPI" ratio mixed
    for row in "start of receives/1" "start of sends/1" "wait/2" "start of receives/8" \
        "start of sends/8" "wait/16"; do
        awk -F '\t' -v row="$row" '
            $1 == "0/stream/" row { own = $2; others = $3 }
            $1 == "0/mpi/" row { plain = $2 + $3 }
            $1 == "0/mixed/" row { mixed = $2 + $3 }
            END {
                if (!plain || !mixed || !own) { exit 1 }
                name = row
                sub("/", ", ", name)
                printf "%-34s%10.0f%10.0f%10.0f%9.2f%10.0f\n", name " together", own, others, plain,
                    (own + others) / plain, mixed
            }' "$dir/stream" || die "callgrind did not count $row"
    done
}

for part in level calls plain match enqueue cxi stream; do
    if [ "$part" = "${only:-$part}" ]; then
        "table_$part"
    fi
done
