#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# demo.sh - the demo runs its benchmarks, says what each showed, and makes pictures; and it says
# "verified" only where each run did
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail()
{
    echo "failed: $*"
    cat "$dir/out"
    failed=1
}

case ${MPIXQ_TEST_MPI-} in
mpich | openmpi) mpi=$MPIXQ_TEST_MPI ;;
*) echo "skip: the demo knows MPICH and Open MPI"; exit 77 ;;
esac
command -v gnuplot >/dev/null || { echo "skip: there is no gnuplot"; exit 77; }

# demo TREE: with the demo's output in $dir/out
demo()
{
    timeout 200 bash "$top_srcdir/benchmarks/demo.sh" --out "$dir/demo" --seconds 0.2 \
        "$mpi=$1" >"$dir/out" 2>&1 </dev/null
}

demo "$top_builddir" || fail "ended with $?"
[ "$(tail -n 1 "$dir/out")" = "demo: verified" ] || fail "does not end with 'demo: verified'"
for name in pingpong exchange halo transpose cg; do
    sed '1,/^==== What it showed/d' "$dir/out" |
        grep -qE "^$name .* data verified(; (too busy|stream(-ready)? takes [0-9.]+ of).*)?$" ||
        fail "does not say what $name showed"
    for kind in svg png; do
        [ -s "$dir/demo/$name.$kind" ] || fail "no $name.$kind"
    done
    # One legend for all panels.
    [ "$(grep -c '<tspan [^>]*>stream-ready<' "$dir/demo/$name.svg")" -eq 1 ] ||
        fail "$name.svg has not one legend"
done

# A tree whose ping-pong found wrong data.
mkdir -p "$dir/tree/bin"
ln -s "$(cd "$top_builddir" && pwd)"/benchmarks/mpixq_{exchange,halo,transpose,cg} "$dir/tree/bin/"
printf '#!/bin/sh\necho "mpixq_pingpong: DATA WRONG"\nexit 1\n' >"$dir/tree/bin/mpixq_pingpong"
chmod +x "$dir/tree/bin/mpixq_pingpong"
demo "$dir/tree" && fail "did not fail, though a run did"
grep -q 'demo: verified' "$dir/out" && fail "says verified, though a run failed"
grep -q 'demo: 1 runs failed' "$dir/out" || fail "does not say what failed"
exit $failed
