# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Memory and start-up of a process in a job of a million, from what tests count."""
import data

PEERS = (8, 26)  # of a stencil in two dimensions, and in three


def say(report):
    """A table of what a process takes, by what data/memory.csv says of each part."""
    rows = []
    for channel in ("fallback", "cxi"):
        counted = {row["what"]: int(row["at_most"]) for row in data.rows("memory.csv")
                   if row["channel"] in (channel, "any")}
        for peers in PEERS:
            heap = counted["bytes in MPI_Init"] + counted["bytes once"] + \
                peers * counted["bytes of a peer"] + 2 * peers * counted["bytes of a request"] + \
                peers * counted["bytes of slots"]
            rows.append(["%s, %d neighbours" % (channel, peers), "%d" % (heap / 1024),
                         str(counted["messages to a peer"] * peers),
                         str(counted["counters of a pair"] * peers),
                         str(counted["collective calls in MPI_Init"])])
    report.table("A process among 1,000,000, at most",
                 ["a message each way with", "heap, KiB", "control messages sent", "counters",
                  "collective calls of ours in MPI_Init"], rows)
