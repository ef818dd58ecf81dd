# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""scale_model.py PART: the model in tools/scale against values worked out by hand, or its fit.

model: the simulator. fit: what is held out changes nothing that is fitted. For tests/scale.sh.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tools", "scale"))

import numpy as np  # noqa: E402

import data  # noqa: E402
import fit  # noqa: E402
import model  # noqa: E402
import predict  # noqa: E402
import sim  # noqa: E402

failed = 0
OP = 8 * sim.NIC_OP  # what the NIC takes for the messages of an iteration, without their bytes


def equal(what, found, expected):
    global failed
    if not np.allclose(found, expected, rtol=0, atol=1e-6):
        print("failed: %s: %s, by hand %s" % (what, found, expected))
        failed = 1


def machine(**values):
    """Parameters: a slow GPU and a host that takes nothing, but for what is given."""
    p = dict(gk=4.0, gp=3.0, g=1.0, L=5.0, Lc=2.0, G=0.0, k=0.0, a=0.0, d=0.0, s=0.0, m=0.0, S=0.0,
             Sp=0.0, j=0.0, graph=0.0)
    p.update(values)
    return {name: np.array([[value]]) for name, value in p.items()}


def point(**values):
    """One point, with a compute kernel of 100 us besides its launch, and messages of no bytes."""
    out = {"bytes": np.zeros((8, 1)), "compute": 100.0, "flushes": 1.0, "pairs": 0.0, "crowd": 0.0,
           "node_path": 0.0, "eager": 0.0}
    out.update(values)
    return out


def period(iteration, entries=500):
    return sim.period(iteration, np.array([entries]))


def check_published():
    def run(p, ready, entries=500, **values):
        return period(lambda rank: sim.published(rank, p, point(**values), ready), entries)

    # Compute and 16 kernels that pack or unpack; a flush and a trigger; the way; 16 waits.
    equal("ready", run(machine(), True), 104 + 16 * 4 + 2 + OP + 5 + 16)
    # 2 + 3 bytes at 1 us each: those follow each other on the wire.
    equal("bytes", run(machine(G=1e6), True, bytes=np.array([[2.0], [3]] + [[0]] * 6)),
          104 + 16 * 4 + 2 + OP + 5 + 5 + 16)
    # Two triggers more, and one for each send, behind which its message goes alone.
    equal("standard", run(machine(), False), 104 + 16 * 4 + 3 + 8 + sim.NIC_OP + 5 + 16)
    # A clear-to-send that comes after all triggers: behind its own, then messages all at once.
    equal("late", run(machine(Lc=90.0), False), 104 + 1 + OP + 90 + OP + 5 + 16 + 8 * 4)
    # The host: 17 kernels of the program, 18 or 27 of the library, 24 or 32 posts.
    host = machine(k=40.0, a=30.0, d=10.0)
    equal("host, ready", run(host, True), 17 * 40 + 18 * 30 + 24 * 10)
    equal("host, standard", run(host, False), 17 * 40 + 27 * 30 + 32 * 10)
    equal("without a flush", run(host, True, flushes=0.0), 17 * 40 + 17 * 30 + 24 * 10)


def check_driven():
    def run(p, **values):
        return period(lambda rank: sim.driven(rank, p, point(**values)))

    # Nothing overlaps: compute, packing, synchronisation, 16 messages, the way, unpacking.
    equal("driven", run(machine(s=10.0, m=1.0)), 104 + 8 * 4 + 10 + 16 + OP + 5 + 8 * 4)
    equal("driven, asks", run(machine(s=10.0, m=1.0, S=7.0, j=2.0), pairs=2.0, crowd=3.0,
                              node_path=50.0), 104 + 32 + 10 + 16 + OP + 5 + 32 + 14 + 6 + 50)


def check_ours():
    def run(p, kernels=8, graph=False, ready=True, entries=500, **values):
        form = {"kernels": kernels, "graph": graph, "ready": ready}
        return period(lambda rank: sim.ours(rank, p, point(**values), form), entries)

    # A startall for the receives, one for the sends, a waitall.
    equal("queue", run(machine()), 104 + 16 * 4 + 3 + OP + 5)
    equal("queue, standard", run(machine(), ready=False), 104 + 16 * 4 + 3 + OP + 5)
    equal("merged", run(machine(), 1), 104 + 2 * 4 + 3 + OP + 5)
    equal("merged, cleared late", run(machine(Lc=90.0), 1, ready=False),
          104 + 1 + OP + 90 + OP + 5 + 1 + 4)
    equal("eager", run(machine(Lc=90.0), 1, ready=False, eager=8.0), 104 + 2 * 4 + 3 + OP + 5)
    equal("fused", run(machine(), 0), 104 + OP + 5)
    # The thread that enqueues and the one that posts do not wait for each other.
    host = machine(k=40.0, a=30.0, d=60.0, graph=2.5)
    equal("posts", run(host, 1), 24 * 60)
    equal("posts, standard", run(host, 1, ready=False), 32 * 60)
    equal("calls", run(machine(k=400.0, a=300.0), 1), 3 * 400 + 3 * 300)
    equal("graph", run(machine(k=400.0, a=300.0, graph=150.0), 1, True), 150)
    # With 28 entries 4 posts of the next iteration find room, and the others wait for the messages;
    # behind 20 of them the last write is there.
    equal("entries", run(machine(d=0.3, Lc=0.0), 0, ready=False, compute=0.0), 4 + OP + OP + 5)
    equal("28 entries", run(machine(d=0.3, Lc=0.0), 0, ready=False, compute=0.0, entries=28),
          20 * 0.3 + sim.NIC_OP + 5)
    try:
        run(machine(), 1, entries=8)
    except ValueError:
        return
    equal("8 entries hold what waits for one message", 16, 8)


def check_pingpong():
    def run(p, program, form=None, **values):
        return sim.pingpong(p, {"bytes": 0.0, "large": 0.0, **values}, program, form)

    one = sim.NIC_OP
    equal("hop", run(machine(), "ready"), 3 + 2 + one + 5 + 1)
    equal("hop, standard", run(machine(), "standard"), 3 + 2 + one + 5 + 1)
    equal("hop, driven", run(machine(s=2.0, m=1.0, Sp=9.0), "cray", large=1.0),
          3 + 2 + 1 + one + 5 + 9 + 1)
    equal("hop, ours", run(machine(), "ready", True), 3 + 1 + one + 5 + 1)
    # A round trip of the host: a kernel, 4 or 6 launches, 3 or 4 posts.
    host = machine(k=40.0, a=30.0, d=10.0)
    equal("hop, host", run(host, "ready"), (40 + 4 * 30 + 3 * 10) / 2)
    equal("hop, host, standard", run(host, "standard"), (40 + 6 * 30 + 4 * 10) / 2)


def check_points():
    global failed
    equal("grid", sim.grid(8), (4, 2))
    equal("edges", sim.edges(16384, 512), [4096, 4096, 8192, 8192, 8, 8, 8, 8])
    one = {"nodes": 2, "per_node": 1}
    part, slow = model.slow_part({name: np.array([[v]]) for name, v in
                                  (("q", 0.5), ("z1", 2.0), ("z2", 1.5))}, [one])
    equal("slow nodes", (part[0, 0], slow[0, 0]), (0.75, 2))
    names = data.held_out()
    if names != set(data.by_rule()) or len(names) != 204 or not data.rule(8192) or data.rule(4096):
        print("failed: the list of held-out points is not that of the rule")
        failed = 1
    if any(kernels and not exists and not (graph or eager)
           for kernels, graph, eager, exists in predict.FORMS.values()):
        print("failed: a form that is said not to be built is one that is")
        failed = 1


def fitted(change=None):
    """The parameters of Frontier, after the points have been changed by a function."""
    points = [data.halo(), data.pingpong()]
    for point in points[0] + points[1]:
        if change:
            change(point)
    seen = [[p for p in data.split(some, data.held_out())[0] if p["machine"] == "frontier"]
            for some in points]
    return fit.Problem("frontier", *seen).fit()[0]


def check_fit():
    global failed
    names = data.held_out()

    def change(point, held):
        if (data.name_of(point) in names) == held:
            for name in ("us", "half_us", "coarse_us"):
                if name in point:
                    point[name] *= 1.5

    best = fitted()
    # Not to the last bit: how a sum is rounded depends on where in memory its terms are.
    if not np.allclose(best, fitted(lambda point: change(point, True)), rtol=0, atol=1e-5):
        print("failed: held-out points change the fit")
        failed = 1
    if np.allclose(best, fitted(lambda point: change(point, False)), rtol=0.01):
        print("failed: the points that are fitted do not change the fit")
        failed = 1


if sys.argv[1] == "fit":
    check_fit()
else:
    check_published()
    check_driven()
    check_ours()
    check_pingpong()
    check_points()
sys.exit(failed)
