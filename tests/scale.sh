#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# scale.sh model - the simulator in tools/scale gives what can be worked out by hand; what it
#                  computes memory with is what tests/job_memory counts
# scale.sh fit   - no held-out point is fitted to, the program ends with its verdict, and
#                  doc/scale.md says the same of the errors
set -u
: "${top_srcdir:?is set by make check}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

for python in python3 /usr/bin/python3 ''; do
    [ -n "$python" ] || { echo "skip: there is no Python with numpy and scipy"; exit 77; }
    "$python" -c 'import numpy, scipy' 2>/dev/null && break
done
export top_srcdir

# near VERDICT VERDICT: the median error is at most 5 %, and the errors differ by at most 0.3, for
# another version of scipy may end a fit elsewhere.
near()
{
    printf '%s\n' "$@" | awk '
        { median[NR] = $4; worst[NR] = $7 }
        function far(a, b) { return a - b > 0.3 || b - a > 0.3 }
        END {
            exit NR != 2 || median[1] > 5 || far(median[1], median[2]) || far(worst[1], worst[2])
        }'
}

check_memory()
{
    local channel words list found
    for channel in fallback cxi; do
        words=$(awk -F, -v channel=$channel '$1 == channel { printf " arg=%s", $3 }
            $1 == "any" { any = any " arg=" $3 } END { print any }' \
            "$top_srcdir/tools/scale/data/memory.csv")
        list=$(grep '^job_memory ' "$top_srcdir/tests/testlist")
        case $channel in
        cxi) found=$(grep sockets-only <<<"$list") ;;
        *) found=$(grep -v sockets-only <<<"$list") ;;
        esac
        [[ -n $words && $found = *"$words "* ]] ||
            fail "tests/testlist has other numbers for job_memory than memory.csv has of $channel"
    done
}

check_verdict()
{
    local verdict said
    "$python" -B "$top_srcdir/tools/scale/scale.py" --out "$dir/scale" --sets 2 >"$dir/out" ||
        fail "scale.py ends with $?"
    verdict=$(tail -n 1 "$dir/out")
    said=$(sed -n 's/^    scale: median/scale: median/p' "$top_srcdir/doc/scale.md")
    if ! grep -qxE 'scale: median error [0-9.]+ %, worst [0-9.]+ %' <<<"$verdict"; then
        fail "the last line is $verdict"
    elif ! near "$verdict" "$said"; then
        fail "doc/scale.md says '$said', and it is '$verdict'"
    fi
    # All held-out points are judged.
    grep -q '^| all | 156 | ' "$dir/out" || fail "not all 156 held-out points are in the table"
    for name in frontier-16384 frontier-61440 tuolumne-16384 tuolumne-88320 pingpong-frontier; do
        [ "$(grep -c . "$dir/scale/$name.csv")" -gt 50 ] || fail "$name.csv has too few rows"
    done
    command -v gnuplot >/dev/null || return 0
    gnuplot -e "out='$dir/scale'" "$top_srcdir/tools/scale/plot.gp" || fail "gnuplot ends with $?"
    for name in frontier tuolumne pingpong; do
        [ -s "$dir/scale/$name.svg" ] || fail "there is no $name.svg"
    done
}

"$python" -B "$top_srcdir/tests/scale_model.py" "$1" || failed=1
case $1 in
model) check_memory ;;
fit) check_verdict ;;
esac
exit $failed
