#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cost_tables.sh - benchmarks/cost.sh counts, and what it counts is as promised: starts and waits do
# without locks and system calls while the stream is busy, and always without memory; a trace costs
# these calls at most a twentieth of their instructions; a pair takes four control messages (offer,
# answer, and a release by each end), and a pair of many far fewer; calls for requests that are not
# matched cost next to nothing more because others are
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
if [ "$MPIEXEC" = none ]; then
    echo "skip: there is no mpiexec"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$dir/out

# tables PART: what it prints, without titles, in $out
tables()
{
    local rc=0
    bash "$top_srcdir/benchmarks/cost.sh" --only "$1" "$CC" "$MPIEXEC" "$top_builddir" >"$out" ||
        rc=$?
    [ "$rc" -eq 0 ] || { cat "$out"; exit "$rc"; }
}

# expect ROWS PROGRAM: this many rows of numbers; awk calls bad(why) for one that is wrong.
expect()
{
    awk -v wanted="$1" '
        function bad(why) { print "wrong: " why; failed = 1 }
        /^[a-z0-9].*[a-z]$/ { group = $0 }
        /[0-9]$/ { rows++ }
        '"$2"'
        END {
            if (rows != wanted) { bad(rows + 0 " rows instead of " wanted) }
            exit failed
        }' "$out" || { cat "$out"; exit 1; }
}

for part in enqueue cxi; do
    tables "$part"
    grep -q 'no libfabric' "$out" && continue
    # library, others, per request, locks, system calls, allocations
    expect 8 '
        /[0-9]$/ && $2 < 16 { bad($1 " in " $2 " instructions") }
        /[0-9]$/ && $7 != 0 { bad($1 " allocates") }
        /[0-9]$/ && group ~ /busy/ && $5 + $6 != 0 { bad($1 " locks, or asks the system") }'
    mv "$out" "$dir/untraced"
    MPIXQ_TRACE=$dir/trace.json tables "$part"
    [ -s "$dir/trace.json" ] || { echo "$part: nothing was traced"; exit 1; }
    expect 8 '
        /[0-9]$/ && group ~ /busy/ {
            do {
                more = getline line <"'"$dir/untraced"'"
                split(line, was)
            } while (more > 0 && was[1] != $1)
            if (more <= 0 || $2 <= was[2] || $2 > 1.05 * was[2]) {
                bad($1 " takes " was[2] ", traced " $2)
            }
        }'
done
tables plain
# MPI, then the library: nothing matched, a pair idle, in flight, many idle, all freed
expect 6 '
    /[0-9]$/ {
        many = / of 16 /
        for (i = NF - 4; i <= NF; i++) {
            matched = i > NF - 4 && i < NF
            if ($i > (matched ? (many ? 240 : 40) : 16) || $i < 2) { bad($0) }
        }
    }'
tables match
# library, others, messages, allocations, bytes, bytes left: the last six columns
expect 24 '
    /[0-9]$/ && $(NF - 5) < 16 { bad($0) }
    /both, matched/ { messages = $(NF - 3) }
    /free, / { messages += $(NF - 3) }
    /free, receiver/ && (group ~ /^1 / ? messages != 4 : messages > 0.5) {
        bad(messages " messages per pair")
    }'
