# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""This library's halo exchange and ping-pong on the machines that were fitted."""
import numpy as np

import model
import sim

GRAPH = 2.5  # the host's us for a graph of an exchange: measured on an H200, doc/performance.md
ENTRIES = 56  # of a NIC that the library uses by default, for all ranks on it (doc/cxi.md)
EAGER = 8192  # the longest message that does not wait for its receive (MPIXQ_EAGER)

# name: kernels that pack, graph, eager, whether it can be had today
FORMS = {
    "queue": (8, False, False, True),
    "merged": (1, False, False, True),
    "eager": (1, False, True, True),
    "graph": (1, True, False, False),
    "fused": (0, False, False, False),
}


def halo(machine, theta, points, name, ready, entries=ENTRIES):
    """The time of an iteration in one form, for all sets of parameters and all points."""
    kernels, graph, eager, _ = FORMS[name]
    form = {"kernels": kernels, "graph": graph, "ready": ready}
    p = model.named(machine, theta)
    p["graph"] = np.full_like(p["k"], GRAPH)

    def iteration(rank, host, point):
        return sim.ours(rank, host, {**point, "eager": EAGER if eager else 0}, form)

    return model.board(p, points, iteration, entries)


def pingpong(machine, theta, sizes, ready):
    """One way of a ping-pong, with one start and one wait."""
    points = [{"program": "ready" if ready else "standard", "bytes": size} for size in sizes]
    return model.pingpong(machine, theta, points, form=True)


def boards(machine, side, per_node):
    """The points at which a machine is predicted: those that were measured, in full nodes."""
    return [{"machine": machine, "side": side, "nodes": 2 ** n, "per_node": per_node,
             "ranks": 2 ** n * per_node} for n in range(11)]


def interval(sets, scatter, seed=2):
    """Where 95 % of the predictions lie, with what the model misses measurements by."""
    noise = np.random.default_rng(seed).standard_normal(sets.shape) * scatter
    return np.percentile(sets * np.exp(noise), [2.5, 97.5], axis=0)
