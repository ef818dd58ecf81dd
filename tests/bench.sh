#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# bench.sh - short runs of the benchmarks: their data is right, their CSV has the promised form, and
# mistakes in the command line are told with exit code 2
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
patterns=$top_srcdir/examples/patterns
# Always named: what is installed is not looked for by a test of the build tree.
gun=$patterns/gosper-glider-gun.rle
failed=0
fail()
{
    echo "failed: $*"
    cat "$dir/out" "$dir/err"
    failed=1
}

if [ "$MPIEXEC" = none ]; then
    echo "skip: there is no mpiexec"
    exit 77
fi

# launch RANKS PROGRAM OPTION...: run it; what it printed is in $dir/out and $dir/err.
launch()
{
    local ranks=$1 name=$2
    shift 2
    # shellcheck disable=SC2086 # the flags are words
    timeout 100 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" "$top_builddir/benchmarks/mpixq_$name" "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null
}

# expect_usage TEXT RANKS PROGRAM OPTION...: it ends with exit code 2, and says TEXT once.
expect_usage()
{
    local text=$1 rc=0
    shift
    launch "$@" || rc=$?
    [ "$rc" -eq 2 ] || fail "$* ended with $rc"
    [ "$(grep -cF -- "$text" "$dir/err")" -eq 1 ] || fail "$* does not say '$text' once"
}

# expect_rows NUMBER RANKS PROGRAM OPTION...: right data, and CSV with so many rows.
expect_rows()
{
    local rows=$1
    shift
    launch "$@" --seconds 0.5 --trials 3 --verify "--csv=$dir/csv" || fail "$* ended with $?"
    grep -q 'data verified' "$dir/out" || fail "$* did not verify"
    if [ "$(head -n 1 "$dir/csv")" != "$header" ] || [ "$(wc -l <"$dir/csv")" -ne $((rows + 1)) ] ||
        ! awk -F, -v ranks="$1" 'NR > 1 && (NF != 15 || $4 != "host" || $5 != ranks || $7 <= 0 ||
            $8 < $7 || $11 <= 0 || $12 <= 0 || ($2 ~ /^mpi-/ && $3 != "mpi") ||
            ($2 ~ /^stream/ && ($3 !~ /^(self|fallback|cxi|ipc)$/ || $13 <= 0))) { exit 1 }' \
            "$dir/csv"; then
        cat "$dir/csv"
        fail "$* wrote this CSV"
    fi
}
header=bench,mode,channel,device,ranks,bytes,median_us,p99_us,ci95_us,ratio,starts,waits,launches
header+=,posts,rings

expect_rows 12 2 pingpong --sizes 8,8K,256K
expect_rows 2 2 pingpong --sizes 8 --modes stream,mpi-blocking
expect_rows 8 1 halo --sizes 40,50 --pattern "$gun"
expect_rows 8 2 halo --sizes 40,50 --pattern "$gun"
# Eight neighbours of which none is the rank itself need 9 ranks; 4 have each neighbour four times
# or twice.
expect_rows 4 4 halo --board 45x40 --generations 40 --pattern "$gun"
for pattern in "$patterns"/*.rle; do
    expect_rows 4 2 halo --pattern "$pattern" --board 37x53 --generations 100
done

launch 2 pingpong --sizes 8 --seconds 0.2 --trials 2 --csv || fail "--csv ended with $?"
[ "$(head -n 1 "$dir/out")" = "$header" ] || fail "--csv does not write CSV to stdout"
launch 1 halo --help || fail "--help ended with $?"
grep -q -- --generations "$dir/out" || fail "--help does not help"

expect_usage "needs 2 ranks" 1 pingpong
expect_usage "'--nonsense'" 2 pingpong --nonsense
expect_usage "--sizes: '8,x'" 2 pingpong --sizes 8,x
expect_usage "size 12 is not" 2 pingpong --sizes 12
expect_usage "--modes: 'fast'" 2 halo --modes fast
expect_usage "--seconds: '0'" 2 halo --seconds 0
expect_usage "cannot write" 2 pingpong --csv="$dir/no/such"
expect_usage "cannot open pattern" 2 halo --pattern "$dir/none.rle"
expect_usage "smaller than the pattern" 2 halo --board 10x10 \
    --pattern "$gun"
printf 'x = 2, y = 2\n3o!\n' >"$dir/bad.rle"
expect_usage "bad.rle:2: row 1 has more" 2 halo --pattern "$dir/bad.rle"
exit $failed
