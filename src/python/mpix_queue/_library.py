# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""The library, loaded before MPI, its errors, and arguments for its functions."""
import ctypes
import operator
import os
import sys

_SONAME = "libmpix_queue.so.0"


def _load():
    """The library, for all that is loaded later, MPI among it."""
    try:
        return ctypes.CDLL(_SONAME, mode=os.RTLD_NOLOAD | ctypes.RTLD_GLOBAL)
    except OSError:
        pass
    if "mpi4py.MPI" in sys.modules:
        raise ImportError("mpi4py.MPI was imported before mpix_queue, and its calls pass by "
                          "libmpix_queue: import mpix_queue first, or preload the library")
    # As installed, this package is in share/mpix-queue/python of the folder that has lib.
    package = os.path.dirname(os.path.realpath(__file__))
    prefix = os.path.join(package, "..", "..", "..", "..")
    for folder in ("lib", "lib64"):
        path = os.path.normpath(os.path.join(prefix, folder, _SONAME))
        if os.path.exists(path):
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(_SONAME, mode=ctypes.RTLD_GLOBAL)


library = _load()

from mpi4py import MPI  # noqa: E402: behind the library

(ERR_NONE, ERR_INTERPOSE, ERR_ARG, ERR_REQUEST, ERR_STATE, ERR_MATCH, ERR_UNSUPPORTED,
 ERR_RESOURCES, ERR_THREAD_LEVEL, ERR_COMM, ERR_TIMEOUT) = range(11)


class Error(MPI.Exception):
    """An error of a function of the library; its text is that of MPI.Get_error_string."""

    @property
    def kind(self):
        """Which of the ERR_ constants it is."""
        kind = ctypes.c_int(ERR_NONE)
        library.MPIXQ_Error_kind(self.Get_error_code(), ctypes.byref(kind))
        return kind.value


def check(code):
    if code != MPI.SUCCESS:
        raise Error(code)


def _handle_type(kind):
    # Integers with MPICH and its like, pointers with Open MPI.
    return ctypes.c_int if MPI._sizeof(kind) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p


Comm, Datatype = _handle_type(MPI.Comm), _handle_type(MPI.Datatype)
Info, Request = _handle_type(MPI.Info), _handle_type(MPI.Request)
Aint = ctypes.c_ssize_t
Flag = ctypes.POINTER(ctypes.c_int)


def declare(functions):
    """What arguments functions of C have, by their names without the prefix."""
    for name, arguments in functions.items():
        function = getattr(library, "MPIXQ_" + name)
        function.argtypes, function.restype = arguments, ctypes.c_int


declare({"Get_version": [Flag, Flag, Flag], "Error_kind": [ctypes.c_int, Flag]})


# ---- Arguments ----------------------------------------------------------------------------------

def instance(value, kind, name):
    """The value, which has to be of that class."""
    if not isinstance(value, kind):
        raise TypeError("%s is no %s, but a %s" % (name, kind.__name__, type(value).__name__))
    return value


def handle(value, kind, name):
    """The handle of C of an object of mpi4py."""
    return MPI._handleof(instance(value, kind, name))


def integer(value, name, kind=ctypes.c_int):
    """The value as an integer of that type of C, which cuts off what does not fit."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError("%s is no integer, but a %s" % (name, type(value).__name__)) from None
    if kind(value).value != value:
        raise ValueError("%s is too large for C: %d" % (name, value))
    return value


def memory_of(data, name, writable=True):
    """The contiguous memory that an object gives by any protocol that mpi4py knows, and none of
    None. What this returns holds the object."""
    try:
        return MPI.memory.frombuffer(bytearray() if data is None else data, not writable)
    except TypeError as error:
        raise TypeError("%s: %s" % (name, error)) from None
    except (BufferError, ValueError) as error:
        raise ValueError("%s: %s" % (name, error)) from None


def handles_of(requests):
    """A request or several as an array of C, and its length."""
    if isinstance(requests, MPI.Request):
        requests = [requests]
    handles = [handle(request, MPI.Request, "requests") for request in requests]
    return len(handles), (Request * len(handles))(*handles)


def made(empty, value):
    """An object of mpi4py with the handle that a function of C gave."""
    ctypes.memmove(MPI._addressof(empty), ctypes.byref(value), ctypes.sizeof(value))
    return empty


def flag(function, *arguments):
    """What a function of C tells as its last argument."""
    told = ctypes.c_int()
    check(function(*arguments, ctypes.byref(told)))
    return bool(told.value)


def version():
    """The version of the library, as three numbers."""
    numbers = [ctypes.c_int() for _ in range(3)]
    check(library.MPIXQ_Get_version(*map(ctypes.byref, numbers)))
    return tuple(number.value for number in numbers)
