# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# timeline_check.py TRACE PRINTED [whole|cut|one] - is TRACE what the program that printed "made:"
# lines has done? whole: all ranks, nothing lost; cut: records were lost; one: of one rank only.
import json
import re
import sys

trace, printed = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
how = sys.argv[3] if len(sys.argv) > 3 else "whole"
made = {int(rank): tuple(map(int, rest)) for rank, *rest in re.findall(
    r"made: rank (\d+) of \d+: (\d+) starts, (\d+) waits, (\d+) by the host", printed)}
events = trace["traceEvents"]
timed = [e for e in events if e["ph"] != "M"]
wrong = []


def check(ok, what):
    if not ok:
        wrong.append(what)


def of(**wanted):
    return [e for e in timed if all(e.get(key) == wanted[key] for key in wanted)]


# What the file says of itself.
about = [e["args"] for e in events if e["name"] == "mpixq_trace"]
check(len(about) == 1, "one event mpixq_trace")
check(about[0]["ranks"] == len(made), "the number of ranks")
pids = sorted({e["pid"] for e in timed})
expected = sorted(made) if how != "one" else [0]
check(pids == expected or not timed, "pids %s, expected %s" % (pids, expected))
check(about[0]["ranks_written"] == len(expected), "ranks written")
check(about[0]["events"] == len(timed), "%d events, said %d" % (len(timed), about[0]["events"]))
error = sum(e["args"]["clock_error_us"] for e in events if e["name"] == "mpixq_rank")
check(all(e["ts"] < 100e6 for e in timed), "the program cannot have taken so long")
lost = {e["pid"]: e["args"]["records_lost"] for e in events if e["name"] == "mpixq_rank"}
check(all((n > 0) == (how == "cut") for n in lost.values()), "records lost: %s" % lost)

# Every lane has a name, its times grow, and its spans do not overlap.
named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
check(len(named) == len([e for e in events if e["name"] == "thread_name"]), "names of lanes")
lanes = {}
for e in timed:
    lanes.setdefault((e["pid"], e["tid"]), []).append(e)
for lane, of_lane in lanes.items():
    check(lane in named, "lane %s has no name" % (lane,))
    check(all(e["ts"] >= 0 for e in of_lane), "lane %s: before the beginning" % (lane,))
    # Those within a span, and those of a request's end, may be found out later.
    spans = [e for e in of_lane if e["ph"] == "X"]
    check(all(e["dur"] >= 0 for e in spans), "lane %s: spans that end before they begin" % (lane,))
    for kind in ("X", "i", "s", "f"):
        times = [e["ts"] for e in of_lane if e["ph"] == kind and e["name"] != "GPU submission"]
        check(times == sorted(times), "lane %s: %s: the times do not grow" % (lane, kind))
    check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(spans, spans[1:])),
          "lane %s: spans overlap" % (lane,))

# Every beginning has an end, in turns, and the starts of a request are numbered.
open_ones, starts = {}, {}
for e in timed:
    if e["ph"] not in ("b", "e"):
        continue
    key = (e["pid"], e["cat"], e["id"])
    if e["ph"] == "b":
        check(key not in open_ones, "%s begins twice" % (key,))
        open_ones[key] = e
        if e["cat"] == "request":
            starts[key] = starts.get(key, 0) + 1
            check(e["args"]["start"] == starts[key], "%s: number of the start" % (key,))
    else:
        begin = open_ones.pop(key, None)
        check(begin is not None, "%s ends and has not begun" % (key,))
        if begin is not None:
            check(begin["ts"] <= e["ts"] and begin["args"]["request"] == e["args"]["request"],
                  "%s ends before it begins" % (key,))
check(not open_ones, "never end: %s" % list(open_ones)[:3])

channels = sorted({e["args"]["channel"] for e in of(cat="match", ph="e") if e["args"]["matched"]})

# The beginnings and ends of arrows are pairs, across ranks in the direction of time, and in spans.
arrows = {}
for e in of(cat="message"):
    arrows.setdefault(e["id"], {}).setdefault(e["ph"], []).append(e)
for name, ends in arrows.items():
    check(sorted(ends) == ["f", "s"] and len(ends["s"]) == len(ends["f"]) == 1,
          "arrow %s has %s" % (name, {k: len(v) for k, v in ends.items()}))
    # A GPU that starts by itself is ahead of the thread that keeps its books.
    if sorted(ends) == ["f", "s"] and not of(name="GPU submission"):
        check(ends["s"][0]["ts"] < ends["f"][0]["ts"] + error, "arrow %s goes back in time" % name)
for lane, of_lane in lanes.items():
    spans = [e for e in of_lane if e["ph"] == "X"]
    at = 0
    for e in (e for e in of_lane if e["ph"] in "sf"):
        while at < len(spans) and spans[at]["ts"] + spans[at]["dur"] + 0.001 < e["ts"]:
            at += 1
        check(at < len(spans) and spans[at]["ts"] <= e["ts"], "an arrow outside of spans")

# Numbers: those of the program.
for rank in pids:
    n_starts = sum(e["args"]["n"] for e in of(pid=rank, name="enqueue start"))
    n_waits = sum(e["args"]["n"] for e in of(pid=rank, name="enqueue wait"))
    n_host = sum(e["args"]["n"] for e in of(pid=rank, name="MPI_Start"))
    listed = sum(len(e["args"]["requests"]) for e in of(pid=rank, name="enqueue start"))
    executed = len([e for e in of(pid=rank, cat="request", ph="b")])
    check(listed == n_starts, "rank %d: %d of %d requests are named" % (rank, listed, n_starts))
    if how == "cut":
        check(0 < n_starts < made[rank][0], "rank %d: %d starts, cut" % (rank, n_starts))
        continue
    check((n_starts, n_waits, n_host) == made[rank],
          "rank %d: %s starts, waits and by the host, made %s" %
          (rank, (n_starts, n_waits, n_host), made[rank]))
    check(executed == n_starts + n_host,
          "rank %d: %d starts executed of %d" % (rank, executed, n_starts + n_host))
    matched = [e for e in of(pid=rank, cat="match", ph="e") if e["args"]["matched"]]
    check(len(matched) == len(of(pid=rank, cat="match", ph="b")), "rank %d: matches" % rank)
    # All but those to nobody have been drawn, unless the peer was not there.
    sends = {e["args"]["request"] for e in matched
             if e["args"]["send"] and e["args"]["peer"] in pids}
    by_queue = [e for e in of(pid=rank, cat="request", ph="b")
                if e["args"]["request"] in sends and e["args"]["queue"] > 0]
    drawn = of(pid=rank, ph="s")
    check(len(drawn) >= len(by_queue), "rank %d: %d arrows of %d" % (rank, len(drawn), len(by_queue)))

for what in wrong[:20]:
    print("wrong: " + what)
print("%d events, %d arrows, channels %s" % (len(timed), len(arrows), ",".join(channels)))
sys.exit(1 if wrong else 0)
