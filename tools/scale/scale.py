# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""scale.py [--out FOLDER] [--sets N]: fits the model, judges it by what it has not seen, predicts.

Prints tables; writes them and the curves that plot.gp draws into the folder (scale). N is how many
times the fit is repeated with other points, for the intervals (60). doc/scale.md says what is
modelled. The last line is the verdict on the held-out points of the halo exchange.
"""
import argparse
import os

import numpy as np

import data
import fit
import memory
import model
import predict

MACHINES = {"frontier": 8, "tuolumne": 4}  # the GPUs of a node
NAMES = {"cray": "Cray MPICH", "standard": "published, standard", "ready": "published, ready"}
ENTRIES = (48, 56, 112, 500)  # fewer than 24 for a rank are not modelled: then the host helps
SHOWN = (64, 1024, 4096, 8192)


class Fitted:
    """A machine, its parameters, and those of other draws of the points."""

    def __init__(self, machine, halo, pingpong, sets):
        problem = fit.Problem(machine, halo, pingpong)
        self.machine, self.points = machine, problem.halo
        starts = problem.fit()
        self.best = starts[0][None, :]
        self.sets = problem.again(starts, sets)
        stream = [point for point in self.points if point["program"] != "cray"]
        self.scatter = float(np.sqrt(np.mean(
            np.log1p(errors(model.halo, machine, self.best, stream)) ** 2)))


def errors(times, machine, theta, points):
    """How far the model is off at each point, as a part of what was measured."""
    return times(machine, theta, points)[0] / np.array([point["us"] for point in points]) - 1


def machine_points(points, machine):
    return [point for point in points if point["machine"] == machine]


class Report:
    """What is printed, and kept in a file."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.lines = []

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def table(self, title, head, rows):
        """A table as in the documentation: the first column left, the others right."""
        self.say("\n## %s\n" % title)
        self.say("| " + " | ".join(head) + " |")
        self.say("| --- |" + " ---: |" * (len(head) - 1))
        for row in rows:
            self.say("| " + " | ".join(row) + " |")

    def csv(self, name, head, rows):
        with open(os.path.join(self.folder, name + ".csv"), "w", encoding="utf-8") as file:
            file.write(head + "\n")
            for row in rows:
                file.write(",".join("%.6g" % item if isinstance(item, float) else str(item)
                                    for item in row) + "\n")

    def close(self):
        with open(os.path.join(self.folder, "tables.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n")


def percent(value):
    return "%.1f %%" % (100 * value)


def error_row(name, size):
    return [name, str(len(size)), percent(np.median(size)), percent(size.max()),
            str(int(np.sum(size > 0.15)))]


def judge(report, title, times, fitted, held):
    """A table of the errors at held-out points; all of them."""
    found, rows = [], []
    for one in fitted:
        points = machine_points(held, one.machine)
        off = errors(times, one.machine, one.best, points)
        found += list(zip(off, points))
        for program in data.PROGRAMS:
            part = np.abs([e for e, point in zip(off, points) if point["program"] == program])
            rows.append(error_row(one.machine + ", " + NAMES[program], part))
    rows.append(error_row("all", np.abs([e for e, _ in found])))
    report.table(title, ["held-out points", "points", "median error", "worst", "above 15 %"], rows)
    return sorted(found, key=lambda item: -abs(item[0]))


def say_worst(report, found):
    """The points that are missed by more than 15 %, with how much the measurements scatter."""
    rows = [[" ".join(data.name_of(point).split()[1:]), "%.1f" % point["us"],
             "%.1f" % point["half_us"], "%.1f" % (point["us"] * (1 + off)), percent(off),
             "yes" if abs(off) * point["us"] <= point["half_us"] else "no"]
            for off, point in found if abs(off) > 0.15]
    report.table("Held-out points that are missed by more than 15 %",
                 ["machine, program, side, nodes, ranks a node", "us", "± of the measurement",
                  "model", "error", "within the ±"], rows)


def say_parameters(report, fitted):
    for one in fitted:
        rows = []
        low, high = np.exp(np.percentile(one.sets, [2.5, 97.5], axis=0))
        for i, (name, (start, _, what)) in enumerate(model.PARAMETERS[one.machine].items()):
            rows.append([name, "%.4g" % start, "%.4g" % np.exp(one.best[0, i]),
                         "%.4g to %.4g" % (low[i], high[i]), what])
        report.table("Parameters of " + one.machine,
                     ["parameter", "before", "fitted", "95 %", "what"], rows)


def known(one, points):
    """The curves that were measured, and those of the model through them."""
    side, per_node, lines = points[0]["side"], points[0]["per_node"], []
    flushes = 0.5 if one.machine == "frontier" else 1.0  # as in most of the points
    for program in data.PROGRAMS:
        wanted = (one.machine, program, side, per_node)
        for p in data.halo():
            if (p["machine"], p["program"], p["side"], p["per_node"]) == wanted:
                lines.append(("measured", program, p["ranks"], p["us"] - p["half_us"], p["us"],
                              p["us"] + p["half_us"]))
        some = [{**point, "program": program, "coarse_part": flushes} for point in points]
        for point, us in zip(points, model.halo(one.machine, one.best, some)[0]):
            lines.append(("model", program, point["ranks"], us, us, us))
    return lines


def predicted(one, points):
    """The curves that are predicted, and rows of a table of them."""
    ranks, lines, rows = [point["ranks"] for point in points], [], []
    for name, (_, _, _, exists) in predict.FORMS.items():
        for ready in (False, True):
            best = predict.halo(one.machine, one.best, points, name, ready)[0]
            sets = predict.halo(one.machine, one.sets, points, name, ready)
            low, high = predict.interval(sets, one.scatter)
            mode = "ready" if ready else "standard"
            lines += [("predicted", name + "-" + mode, *row) for row in zip(ranks, low, best, high)]
            rows.append([name + ", " + mode + ("" if exists else " (not built)")] +
                        ["%.1f (%.1f to %.1f)" % (best[i], low[i], high[i])
                         for i, r in enumerate(ranks) if r in SHOWN])
    return lines, rows


def say_halo(report, fitted):
    for one in fitted:
        for side in sorted({point["side"] for point in one.points}):
            points = predict.boards(one.machine, side, MACHINES[one.machine])
            lines, (more, rows) = known(one, points), predicted(one, points)
            shown = [point["ranks"] for point in points if point["ranks"] in SHOWN]
            for program in reversed(data.PROGRAMS):
                us = {row[2]: row[4] for row in lines if row[:2] == ("measured", program)}
                rows.insert(0, [NAMES[program] + ", measured"] + ["%.1f" % us[r] for r in shown])
            title = "Halo exchange, %s, board of %d x %d, us an iteration"
            report.table(title % (one.machine, side, side),
                         ["form"] + ["%d ranks" % r for r in shown], rows)
            report.csv("%s-%d" % (one.machine, side), "kind,form,ranks,low,us,high", lines + more)


def say_entries(report, fitted):
    """What the entries of a NIC have to do with it."""
    rows = []
    for one in fitted:
        points = predict.boards(one.machine, 16384, MACHINES[one.machine])[-1:]
        for ready in (False, True):
            us = [predict.halo(one.machine, one.best, points, "merged", ready, n)[0, 0]
                  for n in ENTRIES]
            rows.append(["%s, merged, %s" % (one.machine, "ready" if ready else "standard")] +
                        ["%.1f" % one_us for one_us in us])
    report.table("Entries of a NIC for all its ranks, us an iteration at 1,024 nodes",
                 ["form"] + [str(n) for n in ENTRIES], rows)


def say_pingpong(report, fitted):
    sizes = [2 ** n for n in range(5, 31)]
    for one in fitted:
        rows, lines = [], []
        for ready in (False, True):
            name = "ready" if ready else "standard"
            best = predict.pingpong(one.machine, one.best, sizes, ready)[0]
            low, high = predict.interval(predict.pingpong(one.machine, one.sets, sizes, ready),
                                         one.scatter)
            lines += [("predicted", name, *row) for row in zip(sizes, low, best, high)]
            rows.append(["queue, " + name] + ["%.1f (%.1f to %.1f)" % (best[i], low[i], high[i])
                                              for i in (0, 5, 11, 15)])
        measured = machine_points(data.pingpong(), one.machine)
        lines += [("measured", p["program"], p["bytes"], p["us"] - p["half_us"], p["us"],
                   p["us"] + p["half_us"]) for p in measured]
        for program in reversed(data.PROGRAMS):
            us = {p["bytes"]: p["us"] for p in measured if p["program"] == program}
            rows.insert(0, [NAMES[program] + ", measured"] +
                        ["%.1f" % us[sizes[i]] for i in (0, 5, 11, 15)])
        report.table("Ping-pong, %s, us one way" % one.machine,
                     ["form", "32 B", "1 KiB", "64 KiB", "1 MiB"], rows)
        report.csv("pingpong-" + one.machine, "kind,form,bytes,low,us,high", lines)


def main():
    parser = argparse.ArgumentParser(description="fits the model, judges it, and predicts")
    parser.add_argument("--out", default="scale")
    parser.add_argument("--sets", type=int, default=60)
    options = parser.parse_args()
    names, report = data.held_out(), Report(options.out)
    seen, held = data.split(fit.halo_points(data.halo()), names)
    pp_seen, pp_held = data.split(data.pingpong(), names)
    report.say("%d points of the halo exchange and %d of the ping-pong to fit; held out %d and %d" %
               (len(seen), len(pp_seen), len(held), len(pp_held)))
    fitted = [Fitted(machine, machine_points(seen, machine), machine_points(pp_seen, machine),
                     options.sets) for machine in MACHINES]
    say_parameters(report, fitted)
    judge(report, "Ping-pong", model.pingpong, fitted, pp_held)
    found = judge(report, "Halo exchange", model.halo, fitted, held)
    say_worst(report, found)
    say_halo(report, fitted)
    say_entries(report, fitted)
    say_pingpong(report, fitted)
    memory.say(report)
    size = np.abs([off for off, _ in found])
    report.say()
    report.say("scale: median error %s, worst %s" % (percent(np.median(size)), percent(size.max())))
    report.close()


if __name__ == "__main__":
    main()
