#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# timeline.sh ranks|cxi|hip|clocks|full|late|errors|tool - MPIXQ_TRACE writes what a program has
# done, in the format that viewers of traces read, and mpixq_trace sums it up
#
# ranks     1, 2 and 3 ranks, by the channels self, null and fallback
# cxi       by the channel cxi, on the double of libfabric's cxi provider and its provider sockets
# hip       on streams of GPUs of the double of HIP's runtime, by the channels fallback, cxi and ipc
# clocks    the clock of a rank differs by 1000 s from that of the others
# full      the memory for records is too small
# late      a rank comes to MPI_Finalize after the others have given up, and so does rank 0
# errors    a file that cannot be opened, and one that cannot be written; and no requests
# tool      what mpixq_trace prints and draws, and files that it cannot read
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
program=$top_builddir/tests/timeline
tool=$top_srcdir/tools/trace/mpixq_trace
# shellcheck source=tool.bash
. "$top_srcdir/tests/tool.bash"
command -v python3 >/dev/null || skip "there is no python3 to read JSON with"

# on RANKS ARGUMENT...: run it, with a trace in $dir/trace.
on()
{
    local ranks=$1
    shift
    rm -f "$dir/trace"
    # shellcheck disable=SC2086 # the flags are words
    MPIXQ_TEST_RANKS=$ranks MPIXQ_TRACE=${file-$dir/trace} \
        look 0 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" ${each-} "$program" "$@"
}

# is HOW [CHANNELS]: the trace is right, and so are the channels in it.
is()
{
    python3 "$top_srcdir/tests/timeline_check.py" "$dir/trace" "$dir/out" "$1" \
        >"$dir/checked" 2>&1 || fail "the trace is not $1: $(cat "$dir/checked")"
    grep -q ", channels ${2-.*}\$" "$dir/checked" || fail "not by $2: $(cat "$dir/checked")"
}

# warns N PATTERN: so many lines on standard error match it.
warns()
{
    [ "$(grep -cE "$2" "$dir/err")" -eq "$1" ] || fail "there are not $1 lines with '$2'"
}

ranks()
{
    on 1
    is whole 'null,self'
    on 2
    is whole 'fallback,null'
    on 3
    is whole 'fallback,null'
    warns 0 warning
    # Without the variable, and with an empty one, nothing is traced.
    file='' on 2
    [ ! -e "$dir/trace" ] || fail "there is a trace"
}

cxi()
{
    [ "$MPIXQ_TEST_LIBFABRIC" = yes ] || skip "built without libfabric"
    MPIXQ_FABRIC=sockets MPIXQ_CHANNELS=cxi on 2
    is whole 'cxi,null'
    with_cxi
    on 3
    is whole 'cxi,null'
    grep -q '"post clear-to-send"' "$dir/trace" || fail "no clear-to-send was posted"
    grep -q '"ring"' "$dir/trace" || fail "nothing was rung"
    # No entries of the NIC: the host does all.
    MPIXQ_TRIGGERED_OPS=0 on 2
    is whole 'cxi,null'
    grep -q '"issue write"' "$dir/trace" || fail "nothing was issued by the host"
}

hip()
{
    with_hip
    export MTEST_STREAM=hip MPIXQ_GPU_AWARE=no
    MPIXQ_CHANNELS=fallback on 2
    is whole 'fallback,null'
    MPIXQ_CHANNELS=fallback MTEST_BUFFER=device on 1
    is whole 'null,self'
    MTEST_BUFFER=device MPIXQ_CHANNELS=ipc,fallback on 2
    is whole 'ipc,null'
    MTEST_BUFFER=device MPIXQ_CHANNELS=ipc,fallback on 3
    is whole 'ipc,null'
    grep -q '"GPU submission"' "$dir/trace" || fail "nothing was submitted to a GPU"
    [ "$MPIXQ_TEST_LIBFABRIC" = yes ] && [ "$(uname -m)" = x86_64 ] || return
    with_cxi
    on 2
    is whole 'cxi,null'
}

clocks()
{
    local own=(unshare --time --monotonic 1000 --fork)
    "${own[@]}" true 2>/dev/null || skip "no process may have a clock of its own here"
    each_rank "exec ${own[*]} \"\$@\""
    each=$dir/each
    on 3
    is whole 'fallback,null'
    python3 - "$dir/trace" <<'EOP' || fail "it is not said how well the clocks are known"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
errors = [e["args"]["clock_error_us"] for e in events if e["name"] == "mpixq_rank"]
assert len(errors) == 3 and errors[0] == errors[2] == 0 and errors[1] > 0, errors
EOP
}

full()
{
    MPIXQ_TRACE_KIB=64 on 2 200
    is cut
    warns 2 'MPIXQ_TRACE: no room for [0-9]+ records from [0-9.]+ s on: set MPIXQ_TRACE_KIB'
    python3 "$tool" "$dir/trace" >"$dir/printed" || fail "mpixq_trace cannot read it"
    head -n 1 "$dir/printed" | grep -Eq ', [1-9][0-9]* records lost' || fail "it does not say so"
}

late()
{
    on 2 late 1
    is one
    warns 1 'rank 0: warning: MPIXQ_TRACE: .*/trace has 1 of 2 ranks: the others did not come in'
    on 2 late 0
    is whole
    warns 0 warning
}

errors()
{
    file=$dir/no/where on 2
    warns 1 'rank 0: warning: MPIXQ_TRACE: .*/no/where cannot be written: No such file or directory'
    warns 1 warning
    if [ -w /dev/full ]; then
        file=/dev/full on 2
        warns 1 'rank 0: warning: MPIXQ_TRACE: /dev/full could not be written whole: No space left'
        warns 1 warning
    fi
    on 2 none
    is whole
    MPIXQ_TRACE_KIB=7 on 1
    warns 1 'MPIXQ_TRACE_KIB is 7: not a number from 64 to 4194304, using 4096'
}

# The numbers of mpixq_trace, from the trace by other means.
same_numbers()
{
    python3 - "$dir/trace" "$dir/report" <<'EOP' || fail "mpixq_trace sums up wrongly"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
report = json.load(open(sys.argv[2]))
assert report["ranks"] == report["ranks_written"] == 3 and report["records_lost"] == 0
assert len(report["requests"]) == 21
for row in report["requests"]:
    mine = [e for e in events if e.get("cat") == "request" and e["pid"] == row["rank"]
            and e["args"]["request"] == row["request"]]
    times = sorted(e["ts"] - b["ts"] for b, e in zip(mine[::2], mine[1::2]))
    assert row["starts"] == len(times) == 25, row
    assert row["us"]["min"] == times[0] and row["us"]["max"] == times[-1], row
    assert row["us"]["median"] == times[12] and row["us"]["p99"] == times[24], row
for row in report["queues"]:
    assert (row["starts"], row["launches"], row["awaited"], row["posts"]) == (70, 80, 70, 60), row
for row in report["waits"]:
    times = [e["dur"] for e in events if e["name"] == "wait" and e["pid"] == row["rank"]
             and e["args"].get("peer") == row["peer"]]
    assert row["waits"] == len(times) and abs(row["us"] - sum(times)) < 0.01, row
assert [row["us"] for row in report["waits"]] == sorted((r["us"] for r in report["waits"]))[::-1]
EOP
}

tool()
{
    on 3
    is whole
    cp "$dir/out" "$dir/made"
    look 0 python3 "$tool" --json "$dir/trace"
    cp "$dir/out" "$dir/report"
    same_numbers
    look 0 python3 "$tool" --top 4 "$dir/trace"
    grep -Eqx '3 of 3 ranks, [0-9.]+ ms, 0 records lost, clocks known to 0.000 us' "$dir/out" ||
        fail "no first line"
    grep -Eqx '  and 17 more: see --top' "$dir/out" || fail "--top does not cut"
    grep -Eqx ' +[0-2] +[0-9]+ (send to|receive from) [0-2] tag [0-2] +fallback( +[0-9.]+){6}' \
        "$dir/out" || fail "no request"
    look 0 python3 "$tool" --svg "$dir/drawn.svg" "$dir/trace"
    python3 - "$dir/drawn.svg" "$dir/trace" <<'EOP' || fail "not all spans are drawn"
import json, sys, xml.etree.ElementTree as xml
drawn = [e for e in xml.parse(sys.argv[1]).iter() if e.tag.endswith("}title")]
assert len(drawn) == len([e for e in json.load(open(sys.argv[2]))["traceEvents"] if e["ph"] == "X"])
EOP
    look 0 python3 "$tool" --svg "$dir/part.svg" --from 0 --to 1 "$dir/trace"
    [ "$(wc -c <"$dir/part.svg")" -lt "$(wc -c <"$dir/drawn.svg")" ] || fail "a part is not smaller"
    # What it cannot read.
    look 1 python3 "$tool" "$dir/none"
    grep -q "none: No such file" "$dir/err" || fail "no file"
    look 1 python3 "$tool" "$dir/made"
    grep -q "made: it was not made by MPIXQ_TRACE" "$dir/err" || fail "another file"
    head -n 60 "$dir/trace" >"$dir/half"
    look 1 python3 "$tool" "$dir/half"
    grep -q "half: its end is missing" "$dir/err" || fail "half a file"
    sed 's/"ts":/"ts":x/' "$dir/trace" >"$dir/bad"
    look 1 python3 "$tool" "$dir/bad"
    grep -q "bad: line [0-9]* is not what MPIXQ_TRACE writes" "$dir/err" || fail "a bad file"
    look 2 python3 "$tool" --nothing "$dir/trace"
}

case ${1-} in
ranks | cxi | hip | clocks | full | late | errors | tool) "$1" ;;
*) echo "usage: timeline.sh ranks|cxi|hip|clocks|full|late|errors|tool"; exit 99 ;;
esac
exit "$failed"
