# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""The critical path of a halo exchange, event by event.

All ranks of a periodic board do the same, so one rank is simulated, and what its peers send it
comes when it sends itself: an arrival is its own departure and the way through the network. What
takes turns is in order: the host's calls, the kernels of the stream, the deferred work of the NIC.
So the order of the events is known, and each event is a maximum and a sum. Each time is an array:
of many sets of parameters (first axis) and many points (second axis) at once.
"""
import numpy as np

ITERATIONS = 8
MEASURED = 4  # the last ones, when nothing is left of the beginning
NIC_OP = 0.1  # what the NIC takes for an operation besides its bytes, us; assumed


def grid(ranks):
    """The sides of the grid of a power of two of ranks, as MPI_Dims_create makes them."""
    power = ranks.bit_length() - 1
    return 2 ** (power - power // 2), 2 ** (power // 2)


def edges(side, ranks):
    """The bytes of the 8 messages of a rank: the edges, two of each kind, and the corners."""
    across, down = grid(ranks)
    return [8 * side // across] * 2 + [8 * side // down] * 2 + [8] * 4


class Rank:
    """What a rank has that takes turns, and when each is free."""

    def __init__(self, entries):
        self.host = 0.0  # the thread that enqueues
        self.worker = 0.0  # the thread that posts, where it is another one
        self.gpu = 0.0  # the stream
        self.nic = 0.0
        self.entries = entries  # of the NIC, for this rank: an array over the points
        self.executed = []  # when the NIC was done with each post, in their order

    def launch(self, host, gpu, after=0.0):
        """The host enqueues a kernel, which runs when the stream is there, and not before after."""
        self.host = self.host + host
        self.gpu = np.maximum(np.maximum(self.gpu, self.host), after) + gpu
        return self.gpu

    def post(self, cost, by="host"):
        """A deferred operation is handed to the NIC, if need be when an entry is free."""
        time = getattr(self, by)
        number = len(self.executed)
        for entries in np.unique(self.entries[self.entries <= number]):
            free = self.executed[number - int(entries)]
            if free is None:
                raise ValueError("%d entries do not hold what waits for the same message" % entries)
            time = np.maximum(time, np.where(self.entries == entries, free, 0.0))
        time = time + cost
        setattr(self, by, time)
        self.executed.append(None)
        return number, time

    def execute(self, post, rung, bytes_us=0.0):
        """The NIC does what was posted, when it is rung for: the time at which it has."""
        number, posted = post
        self.nic = np.maximum(self.nic, np.maximum(posted, rung)) + NIC_OP + bytes_us
        self.executed[number] = self.nic
        return self.nic

    def finish(self, post, time):
        """A posted completion, which waits for nothing but its own message."""
        self.executed[post[0]] = np.maximum(time, post[1])


def messages(rank, p, point, posts, rung, clear, latency):
    """The NIC does the writes, the longer ones when they are clear: when the last has arrived."""
    last = 0.0
    eager = point["eager"]  # 0: none are
    for size, post, ring in zip(point["bytes"], posts, rung):
        start = np.maximum(ring, np.where((eager > 0) & (size <= eager), 0.0, clear))
        gone = rank.execute(post, start, size * p["G"] * 1e-6)
        last = np.maximum(last, gone + latency)
    return last


def published(rank, p, point, ready):
    """An iteration by the published library: a kernel for each wait, the host posts as it goes."""
    n = 8
    clear, ctses = 0.0, []
    if not ready:
        ctses = [rank.post(p["d"]) for _ in range(n)]
    completions = [rank.post(p["d"]) for _ in range(n)]
    if not ready:
        rung = rank.launch(p["a"], p["g"])
        clear = [rank.execute(post, rung) for post in ctses][-1] + p["Lc"]
    for _ in range(n):
        rank.launch(p["k"], p["gk"])
    writes = [rank.post(p["d"]) for _ in range(n)]
    completions += [rank.post(p["d"]) for _ in range(n)]
    rank.launch(p["a"] * point["flushes"], p["g"] * point["flushes"])
    rung = [rank.launch(p["a"], p["g"])] * n
    if not ready:
        rung = [rank.launch(p["a"], p["g"]) for _ in range(n)]
    last = messages(rank, p, point, writes, rung, clear, p["L"])
    for post in completions:
        rank.finish(post, last)
    for _ in range(2 * n):
        rank.launch(p["a"], p["g"], last)
    for _ in range(n):
        rank.launch(p["k"], p["gk"])
    return rank.launch(p["k"], p["gk"] + point["compute"])


def driven(rank, p, point):
    """An iteration by MPI that the host drives: it waits for the stream, and for the messages."""
    for _ in range(8):
        rank.launch(p["k"], p["gk"])
    rank.host = np.maximum(rank.host, rank.gpu) + p["s"]
    started = rank.host + 16 * p["m"]
    last = started
    for size in point["bytes"]:
        rank.nic = np.maximum(rank.nic, started) + NIC_OP + size * p["G"] * 1e-6
        last = np.maximum(last, rank.nic + p["L"])
    rank.host = last + p["S"] * point["pairs"] + p["j"] * point["crowd"] + point["node_path"]
    for _ in range(8):
        rank.launch(p["k"], p["gk"])
    return rank.launch(p["k"], p["gk"] + point["compute"])


def ours(rank, p, point, form):
    """An iteration by this library: a kernel for each startall and waitall; a worker posts.

    form: how many kernels pack, and as many unpack (0: the compute kernel does all, and rings and
    waits); by a graph or by calls; ready sends or standard ones.
    """
    n, clear, ctses = 8, 0.0, []
    host, raw = (0.0, 0.0) if form["graph"] else (p["k"], p["a"])
    rank.host = rank.host + (p["graph"] if form["graph"] else 0.0)
    rank.worker = np.maximum(rank.worker, rank.host)
    if not form["ready"]:
        ctses = [rank.post(p["d"], "worker") for _ in range(n)]
    completions = [rank.post(p["d"], "worker") for _ in range(n)]
    rung = rank.launch(raw, p["g"]) if form["kernels"] else rank.gpu
    if ctses:
        clear = [rank.execute(post, rung) for post in ctses][-1] + p["Lc"]
    for _ in range(form["kernels"]):
        rank.launch(host, p["gk"])
    writes = [rank.post(p["d"], "worker") for _ in range(n)]
    completions += [rank.post(p["d"], "worker") for _ in range(n)]
    rung = rank.launch(raw, p["g"]) if form["kernels"] else rank.gpu
    last = messages(rank, p, point, writes, [rung] * n, clear, p["L"])
    for post in completions:
        rank.finish(post, last)
    if form["kernels"]:
        rank.launch(raw, p["g"], last)
    for _ in range(form["kernels"]):
        rank.launch(host, p["gk"])
    return rank.launch(host, p["gk"] + point["compute"], last)


def period(iteration, entries):
    """The time of an iteration, once the beginning is past."""
    rank, ends = Rank(entries), []
    for _ in range(ITERATIONS):
        ends.append(iteration(rank))
    return (ends[-1] - ends[-1 - MEASURED]) / MEASURED


def hop(ranks, p, point, program, form=None):
    """A message from the first of two ranks to the second, which then packs; when it has come.

    The sender then starts its receive, which is done by the time at which the answer comes.
    """
    rank, peer = ranks
    wire = NIC_OP + point["bytes"] * p["G"] * 1e-6
    rank.launch(p["k"], p["gp"])
    if program == "cray":
        rank.host = np.maximum(rank.host, rank.gpu) + p["s"] + p["m"]
        came = rank.host + wire + p["L"] + p["Sp"] * point["large"]
        peer.host = np.maximum(peer.host, came) + p["m"]
        return peer.host
    ready = program == "ready"
    posts = (3 if ready else 4) * p["d"]
    if form:
        rank.worker = rank.worker + posts
    else:
        rank.host = rank.host + posts
        rank.launch(p["a"], p["g"])
    rung = rank.launch(p["a"], p["g"])
    gone = np.maximum(rung, rank.worker if form else 0.0) + wire
    if not form:
        rank.launch(p["a"], p["g"], gone)
        for _ in range(0 if ready else 2):
            rank.launch(p["a"], p["g"])
    return peer.launch(p["a"], p["g"], gone + p["L"])


def pingpong(p, point, program, form=None):
    """One way of a ping-pong."""
    ranks = [Rank(np.array([500])), Rank(np.array([500]))]
    ends = []
    for number in range(2 * ITERATIONS):
        ends.append(hop((ranks[number % 2], ranks[1 - number % 2]), p, point, program, form))
    return (ends[-1] - ends[-1 - 2 * MEASURED]) / (2 * MEASURED)
