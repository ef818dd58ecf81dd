# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""What the parameters of a machine are, and the time of each measured point by them.

Times in microseconds. What is known of a parameter before any fit is a start and how far it may be
from that (the standard deviation of its logarithm); "free" is 1.5, which is no more than its size.
"""
import numpy as np

import sim

FREE = 1.5
DWQ_ENTRIES = 500  # of a NIC, as the publication says; the ranks of a NIC share them
NICS = 4  # of a node
EAGER = 4096  # longer edges make the host-driven MPI ask first, in the halo exchange
LARGE = 16384  # the same in the ping-pong, where the data shows the step

# name: (start, standard deviation of the logarithm, what it is)
COMMON = {
    "c": (20.0, FREE, "compute, ps per cell"),
    "cb": (1.05, 0.1, "times that, where it is large"),
    "cx": (28.0, 0.05, "logarithm of the cells that are large"),
    "cs": (1.0, 0.7, "times that, where it is small"),
    "cy": (24.0, 0.08, "logarithm of the cells that are small"),
    "gk": (3.5, FREE, "a kernel of the program on the stream"),
    "gp": (3.0, FREE, "the kernel that packs in the ping-pong"),
    "g": (1.0, 0.5, "a kernel of the library on the stream"),
    "L": (3.0, 0.4, "from the ring to the word that the peer's wait sees"),
    "Lc": (3.0, 0.4, "from the ring to the clear-to-send at the peer"),
    "G": (45.0, FREE, "the wire, ps per byte"),
    "k": (4.0, 0.7, "host: launch of a kernel of the program"),
    "a": (2.5, 0.5, "host: launch of a kernel of the library"),
    "d": (1.0, 0.7, "host: a post"),
    "s": (5.0, FREE, "host-driven: synchronisation"),
    "m": (1.5, FREE, "host-driven: a message, start and completion"),
    "S": (10.0, FREE, "host-driven: asking first, for a pair of edges"),
    "Sp": (5.0, FREE, "host-driven: asking first in the ping-pong"),
    "j": (1.0, FREE, "host-driven: the latest, by doublings of nodes and of ranks in a node"),
}
# How many times as long the host takes with so many ranks in a node.
FRONTIER = {"f2": (1.0, 0.2, "host, 2 ranks a node: times as long"),
            "f4": (1.0, 0.2, "host, 4 ranks a node"),
            "f8": (1.1, 0.2, "host, 8 ranks a node")}
# There, with 1 or 2 ranks in a node, some nodes have slow hosts, and one of them slows all.
TUOLUMNE = {"f2": (1.0, 0.2, "host, 2 ranks a node: times as long"),
            "f4": (1.0, 0.2, "host, 4 ranks a node"),
            "z1": (2.0, 0.3, "slow hosts, 1 rank a node: times as long"),
            "z2": (1.7, 0.3, "slow hosts, 2 ranks a node"),
            "q": (0.01, FREE, "which part of the nodes is slow"),
            "x0": (100.0, FREE, "host-driven, 4 ranks a node, long edges: the way within the node"),
            "x1": (10.0, FREE, "the same, for each doubling of the nodes")}
PARAMETERS = {"frontier": {**COMMON, **FRONTIER}, "tuolumne": {**COMMON, **TUOLUMNE}}


def named(machine, theta):
    """The parameters by name, each as a column over the sets in theta, which has logarithms."""
    return {name: np.exp(theta[:, i:i + 1]) for i, name in enumerate(PARAMETERS[machine])}


def host_scaled(p, factor):
    """The same machine with a host that takes as many times as long."""
    costs = ("k", "a", "d", "s", "m", "graph")
    return {**p, **{name: p[name] * factor for name in costs if name in p}}


def column(points, name):
    return np.array([point[name] for point in points], dtype=float)


def host_factor(p, points):
    """How many times as long the host takes at each point."""
    per_node = column(points, "per_node")
    factor = np.ones((next(iter(p.values())).shape[0], len(points)))
    for ranks in (2, 4, 8):
        if "f%d" % ranks in p:
            factor = np.where(per_node == ranks, p["f%d" % ranks], factor)
    return factor


def slow_part(p, points):
    """In which part of the runs a node is slow, and how many times as long its host takes."""
    if "q" not in p:
        return 0.0, 1.0
    per_node, nodes = column(points, "per_node"), column(points, "nodes")
    part = np.where(per_node <= 2, 1 - (1 - np.minimum(p["q"], 0.9)) ** nodes, 0.0)
    return part, np.where(per_node == 1, p["z1"], p["z2"])


def step(distance, width):
    """0 far below, 1 far above."""
    return 0.5 + 0.5 * np.tanh(distance / (2 * width))


def compute(p, points):
    """The compute kernel: what a cell takes depends on whether the board is large or small."""
    cells = column(points, "side") ** 2 / column(points, "ranks")
    large = step(np.log2(cells) - p["cx"], 0.1)
    small = step(p["cy"] - np.log2(cells), 0.3)
    return p["c"] * 1e-6 * cells * (1 + (p["cb"] - 1) * large + (p["cs"] - 1) * small)


def describe(p, points, entries=DWQ_ENTRIES):
    """What the simulator is to know of the points."""
    sizes = np.array([sim.edges(point["side"], point["ranks"]) for point in points], dtype=float).T
    per_node, nodes = column(points, "per_node"), column(points, "nodes")
    node_path = 0.0
    if "x0" in p:
        long_ones = (per_node == 4) & (sizes.max(axis=0) > EAGER)
        node_path = long_ones * (p["x0"] + p["x1"] * np.log2(nodes))
    return {
        "bytes": sizes,
        "compute": compute(p, points),
        "flushes": np.array([point.get("coarse_part", 1.0) for point in points]),
        "pairs": (sizes[0] > EAGER) * 1.0 + (sizes[2] > EAGER),
        "crowd": np.log2(per_node) * np.log2(nodes),
        "node_path": node_path,
        "eager": 0,
        "entries": np.floor(entries / np.maximum(1, per_node / NICS)),
    }


def board(p, points, iteration, entries=DWQ_ENTRIES):
    """The time of an iteration at each point, with slow hosts where there are some."""
    point = describe(p, points, entries)
    factor = host_factor(p, points)
    part, slow = slow_part(p, points)

    def run(scale):
        machine = host_scaled(p, scale)
        return sim.period(lambda rank: iteration(rank, machine, point), point["entries"])

    fast = run(factor)
    if np.all(part == 0.0):
        return fast
    return (1 - part) * fast + part * run(factor * slow)


def published(program):
    if program == "cray":
        return sim.driven
    return lambda rank, p, point: sim.published(rank, p, point, program == "ready")


def by_program(machine, theta, points, times):
    """Times of points of one machine, by a function for those of one program."""
    p = named(machine, theta)
    out = np.empty((theta.shape[0], len(points)))
    for program in sorted({point["program"] for point in points}):
        which = [i for i, point in enumerate(points) if point["program"] == program]
        out[:, which] = times(p, [points[i] for i in which], program)
    return out


def halo(machine, theta, points):
    return by_program(machine, theta, points,
                      lambda p, some, program: board(p, some, published(program)))


def pingpong(machine, theta, points, form=None):
    def times(p, some, program):
        sizes = column(some, "bytes")
        return sim.pingpong(p, {"bytes": sizes, "large": sizes > LARGE}, program, form)

    return by_program(machine, theta, points, times)
