# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""The measurements in tools/scale/data, and which of them the fit may not see.

Held out are whole rank counts of the halo exchange and whole sizes of the ping-pong: those whose
logarithm to base 2 leaves 1 when divided by 3. So the largest run, 8,192 ranks, is one of them,
and no neighbour of a held-out point at the same rank count helps the fit. data/held_out.txt is that
list, made before anything was fitted; python3 tools/scale/data.py prints it anew.
"""
import csv
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
PROGRAMS = ("cray", "standard", "ready")


def rule(number):
    """Whether a rank count, or a size in bytes, both powers of two, is held out."""
    return (number.bit_length() - 1) % 3 == 1


def rows(name):
    """The rows of one file, as dictionaries of texts; lines with # are not rows."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def halo():
    """The halo exchange: a dictionary for each point, ranks in place of their factors too."""
    points = []
    for row in rows("halo.csv"):
        point = {name: row[name] for name in ("machine", "program")}
        for name in ("side", "nodes", "per_node", "trials", "coarse"):
            point[name] = int(row[name])
        for name in ("us", "half_us"):
            point[name] = float(row[name])
        point["coarse_us"] = float(row["coarse_us"] or row["us"])
        point["ranks"] = point["nodes"] * point["per_node"]
        points.append(point)
    return points


def pingpong():
    """The ping-pong, likewise."""
    points = []
    for row in rows("pingpong.csv"):
        point = {name: row[name] for name in ("machine", "program")}
        point.update(bytes=int(row["bytes"]), trials=int(row["trials"]))
        point.update(us=float(row["us"]), half_us=float(row["half_us"]))
        points.append(point)
    return points


def name_of(point):
    """How the list of held-out points names a point."""
    if "bytes" in point:
        return "pingpong {machine} {program} {bytes}".format(**point)
    return "halo {machine} {program} {side} {nodes} {per_node}".format(**point)


def by_rule():
    """The names of all points that the rule holds out, in the order of the files."""
    return [name_of(point) for point in halo() if rule(point["ranks"])] + \
        [name_of(point) for point in pingpong() if rule(point["bytes"])]


def held_out():
    """The names in the list."""
    with open(os.path.join(FOLDER, "held_out.txt"), encoding="utf-8") as file:
        return {line.strip() for line in file if line.strip() and not line.startswith("#")}


def split(points, names):
    """Those that the fit may see, and those that are in the list of names."""
    return [point for point in points if name_of(point) not in names], \
        [point for point in points if name_of(point) in names]


if __name__ == "__main__":
    print("\n".join(by_rule()))
