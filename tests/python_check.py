# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""For the tests in Python: checks that are told with the rank, counted, and judged by all ranks."""
import sys

import mpix_queue
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
_wrong = 0


def check(what, text):
    global _wrong
    if not what:
        print("rank %d: not true: %s" % (rank, text), flush=True)
        _wrong += 1


def kind_of(function, *arguments):
    """The kind of the error that it raises, or None."""
    try:
        function(*arguments)
    except mpix_queue.Error as error:
        check(str(error) == MPI.Get_error_string(error.Get_error_code()), "the text of an error")
        return error.kind
    return None


def fails(kind, text, function, *arguments):
    """It raises an error of that kind, and one that is no Error if this is a class, whose text has
    that in it."""
    try:
        function(*arguments)
    except (mpix_queue.Error, TypeError, ValueError) as error:
        found = error.kind if isinstance(error, mpix_queue.Error) else type(error)
        check(found == kind and text in str(error),
              "an error %s with %r, where %s says %s" % (kind, text, found, error))
    else:
        check(False, "an error %s with %r" % (kind, text))


def hint(key, value):
    info = MPI.Info.Create()
    info.Set(key, value)
    return info


def end():
    sys.exit(comm.allreduce(_wrong) != 0)
