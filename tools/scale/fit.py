# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Fits the parameters of a machine to the points that it may see, and says how sure they are."""
import numpy as np
from scipy.optimize import least_squares

import model

MODEL_ERROR = 0.02  # what the model is taken to miss by where measurements do not scatter
STEP = 1e-4
SMALL_BOARDS = (21.0, 23.0, 24.0, 25.5)  # where fits start to look for them: logarithms of cells


def halo_points(points):
    """Points of the halo exchange, with the part of their trials that flush by a kernel."""
    for point in points:
        other = point["trials"] - point["coarse"]
        stream = point["program"] != "cray" and point["machine"] == "frontier"
        point["coarse_part"] = 1.0 - other / point["trials"] if stream else 1.0
    return points


class Problem:
    """The points of a machine that the fit may see, and how much each counts."""

    def __init__(self, machine, halo, pingpong):
        self.machine = machine
        self.halo = halo_points(halo)
        self.pingpong = pingpong
        both = self.halo + self.pingpong
        self.log_us = np.log([point["us"] for point in both])
        scatter = np.array([point["half_us"] / point["us"] / 2 for point in both])
        self.sigma = np.hypot(MODEL_ERROR, scatter)
        known = list(model.PARAMETERS[machine].values())
        self.start = np.log([start for start, _, _ in known])
        self.spread = np.array([spread for _, spread, _ in known])
        self.flush = self.flush_cost()

    def flush_cost(self):
        """What a flush kernel costs where the host sets the pace, and the error of that."""
        names = list(model.PARAMETERS[self.machine])
        if "f8" not in names:
            return None
        found = [(p["coarse_us"] - p["us"]) * p["trials"] / (p["trials"] - p["coarse"])
                 for p in self.halo if p["per_node"] == 8 and p["ranks"] >= 512 and
                 p["side"] == 16384 and p["program"] != "cray" and 0 < p["coarse"] < p["trials"]]
        if len(found) < 2:
            return None
        return np.mean(found), np.std(found, ddof=1), names.index("a"), names.index("f8")

    def residuals(self, theta, weights):
        """How far the points are off by each set of parameters, and these from what was known."""
        us = np.concatenate([model.halo(self.machine, theta, self.halo),
                             model.pingpong(self.machine, theta, self.pingpong)], axis=1)
        parts = [(np.log(us) - self.log_us) / self.sigma * weights,
                 (theta - self.start) / self.spread]
        if self.flush:
            mean, error, a, f8 = self.flush
            parts.append((np.exp(theta[:, [a]] + theta[:, [f8]]) - mean) / error)
        return np.concatenate(parts, axis=1)

    def solve(self, start, weights, calls):
        def fun(theta):
            return self.residuals(theta[None, :], weights)[0]

        def jac(theta):
            moved = theta[None, :] + STEP * np.vstack([np.eye(len(theta)), -np.eye(len(theta))])
            out = self.residuals(moved, weights)
            half = len(theta)
            return ((out[:half] - out[half:]) / (2 * STEP)).T

        return least_squares(fun, start, jac=jac, loss="soft_l1", max_nfev=calls)

    def fit(self):
        """The parameters that are nearest to the points, and the best ones of other starts.

        The model has steps, so where a fit ends depends on where it starts.
        """
        found = []
        for small in SMALL_BOARDS:
            start = self.start.copy()
            start[list(model.PARAMETERS[self.machine]).index("cy")] = np.log(small)
            found.append(self.solve(start, np.ones(len(self.log_us)), 60))
        found.sort(key=lambda result: result.cost)
        return found[0].x, found[-1].x

    def again(self, starts, times, seed=1):
        """Fits to points that were drawn anew from these, as often, by the starts that fit() gives.

        What was known before is drawn anew too, or parameters that the points do not tell apart
        would seem as sure as they were believed to be.
        """
        random = np.random.default_rng(seed)
        sets, known, points = [], self.start, len(self.log_us)
        for _ in range(times):
            drawn = random.multinomial(points, np.full(points, 1 / points))
            other = self.spread * random.standard_normal(len(known))
            self.start = known + np.where(self.spread < 1, other, 0.0)
            results = [self.solve(start, np.sqrt(drawn), 8) for start in starts]
            sets.append(min(results, key=lambda result: result.cost).x)
        self.start = known
        return np.array(sets)
