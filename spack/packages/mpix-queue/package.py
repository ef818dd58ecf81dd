# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""The package mpix-queue. There is no release yet: it builds branch main of the checkout that
this file is in."""

import os

from spack.package import *

try:
    # Since Spack 1.0 the build systems are in the repository of the packages.
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


def _checkout():
    """The tree that this recipe lies in. A tarball has it twice, at two depths."""
    folder = os.path.dirname(os.path.realpath(__file__))
    while not os.path.exists(os.path.join(folder, "configure.ac")) and folder != os.sep:
        folder = os.path.dirname(folder)
    return folder


class MpixQueue(AutotoolsPackage):
    """Starts and waits of persistent MPI requests in the order of a stream."""

    git = "file://" + _checkout()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("libfabric", default=True, description="Triggered communication by libfabric")
    variant("fortran", default=True, description="The module mpix_queue for Fortran")
    variant("cuda", default=False, description="Streams of CUDA")
    variant("rocm", default=False, description="Streams of HIP")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("uthash")
    depends_on("mpi")
    depends_on("libfabric", when="+libfabric")
    depends_on("cuda", when="+cuda")
    depends_on("hip", when="+rocm")
    depends_on("cmocka", type="test")

    def configure_args(self):
        # What is asked for and missing is an error, and what is not asked for is not looked for.
        args = ["CC=" + self.spec["mpi"].mpicc]
        for option, variant_name in (("libfabric", "libfabric"), ("cuda", "cuda"), ("hip", "rocm")):
            if self.spec.satisfies("+" + variant_name):
                args.append("--with-{0}={1}".format(option, self.spec[option].prefix))
            else:
                args.append("--without-" + option)
        # In a toolkit of CUDA.
        if self.spec.satisfies("+cuda"):
            args.append("--with-nvtx=" + self.spec["cuda"].prefix)
        else:
            args.append("--without-nvtx")
        # A compiler of MPI's is wanted, which configure finds beside that of C.
        args.append("--with-fortran" if self.spec.satisfies("+fortran") else "--without-fortran")
        if self.run_tests:
            args.append("--with-cmocka=" + self.spec["cmocka"].prefix)
        else:
            args.append("--without-cmocka")
        return args
