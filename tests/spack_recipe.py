# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# spack_recipe.py FILE - runs the recipe with stand-ins for what it takes from Spack, and prints
#
#     version NAME KEY=VALUE...       depends NAME WHEN TYPE       git URL
#     variant NAME DEFAULT            args VARIANTS: ARGUMENT...
#
# one line each, the arguments for every choice of the variants, with and without tests ("+tests").
import itertools
import os
import sys
import types

facts = []
variants = {}
depends = {}


def version(name, **keys):
    facts.append("version " + " ".join([name] + ["%s=%s" % k for k in sorted(keys.items())]))


def variant(name, default, description):
    if not description:
        sys.exit("variant %s has no description" % name)
    variants[name] = default
    facts.append("variant %s %s" % (name, default))


def depends_on(name, when="", type="build,link"):
    depends[name] = when
    facts.append("depends %s %s %s" % (name, when or "always", type))


class Spec:
    """A package with some of its variants. Only what the recipe depends on then can be asked for."""

    def __init__(self, chosen):
        self.chosen = chosen

    def satisfies(self, condition):
        if condition[1:] not in variants or condition[0] not in "+~":
            sys.exit("the recipe asks for %s, which is no variant" % condition)
        return (condition[1:] in self.chosen) == (condition[0] == "+")

    def __getitem__(self, name):
        when = depends.get(name)
        if when is None or (when and not self.satisfies(when)):
            sys.exit("the recipe uses %s without depending on it" % name)
        return types.SimpleNamespace(prefix="/prefix/" + name, mpicc="/prefix/mpi/bin/mpicc")


class AutotoolsPackage:
    def __init__(self, chosen, run_tests):
        self.spec = Spec(chosen)
        self.run_tests = run_tests


def main(path):
    api = types.ModuleType("spack.package")
    api.version, api.variant, api.depends_on = version, variant, depends_on
    api.license = lambda name: facts.append("license " + name)
    api.AutotoolsPackage = AutotoolsPackage
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = api
    scope = {"__file__": os.path.abspath(path), "__name__": "package"}
    with open(path, encoding="ascii") as source:
        exec(compile(source.read(), path, "exec"), scope)
    package = scope["MpixQueue"]
    print("\n".join(facts))
    print("git " + package.git)
    for n in range(len(variants) + 1):
        for chosen in itertools.combinations(variants, n):
            for tests in (False, True):
                args = package(chosen, tests).configure_args()
                names = "".join("+" + v for v in chosen) + ("+tests" if tests else "")
                print("args %s: %s" % (names, " ".join(args)))


main(sys.argv[1])
