# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""The functions of libmpix_queue for programs that use mpi4py.

    import mpix_queue                      # before mpi4py.MPI
    from mpi4py import MPI

    requests = [comm.Send_init(out, peer), comm.Recv_init(into, peer)]
    mpix_queue.match(requests)             # once
    stream = mpix_queue.HostStream()
    with mpix_queue.Queue(stream) as queue:
        for step in range(steps):          # only enqueues
            queue.start(requests)
            queue.wait(requests)           # the stream waits, the host goes on
            stream.launch(compute, out, into)
        stream.synchronize()

Requests are those of mpi4py, one or a list of them, and must be kept while they are matched: they
hold their buffers. What the functions do is said in mpix_queue.h, under the names of C. Those that
fail raise Error, since mpi4py has MPI return its errors.

The library has to come before MPI, so this module loads it and must be imported before mpi4py.MPI,
unless the library is preloaded. It must be the one for the MPI of mpi4py.
"""
import ctypes
import itertools
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
    # As installed, this file is in share/mpix-queue/python of the folder that has lib.
    prefix = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
    for folder in ("lib", "lib64"):
        path = os.path.normpath(os.path.join(prefix, folder, _SONAME))
        if os.path.exists(path):
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(_SONAME, mode=ctypes.RTLD_GLOBAL)


_library = _load()

from mpi4py import MPI  # noqa: E402: behind the library

QUEUE_AUTO, QUEUE_FALLBACK, QUEUE_CXI, QUEUE_IPC = range(4)
(ERR_NONE, ERR_INTERPOSE, ERR_ARG, ERR_REQUEST, ERR_STATE, ERR_MATCH, ERR_UNSUPPORTED,
 ERR_RESOURCES, ERR_THREAD_LEVEL, ERR_COMM, ERR_TIMEOUT) = range(11)
_ALL_STARTED = -1


class Error(MPI.Exception):
    """An error of a function of the library; its text is that of MPI.Get_error_string."""

    @property
    def kind(self):
        """Which of the ERR_ constants it is."""
        kind = ctypes.c_int(ERR_NONE)
        _library.MPIXQ_Error_kind(self.Get_error_code(), ctypes.byref(kind))
        return kind.value


def _check(code):
    if code != MPI.SUCCESS:
        raise Error(code)


def _handle_type(kind):
    # Integers with MPICH and its like, pointers with Open MPI.
    return ctypes.c_int if MPI._sizeof(kind) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p


_Request = _handle_type(MPI.Request)
_Info = _handle_type(MPI.Info)
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _declare():
    pointer, number = ctypes.c_void_p, ctypes.c_int
    requests, flag = ctypes.POINTER(_Request), ctypes.POINTER(ctypes.c_int)
    for name, arguments in {
            "Get_version": [flag, flag, flag],
            "Error_kind": [number, flag],
            "Queue_init_info": [ctypes.POINTER(pointer), number, pointer, _Info],
            "Queue_free": [ctypes.POINTER(pointer)],
            "Queue_wait": [pointer],
            "Queue_test": [pointer, flag],
            "Queue_get_stream": [pointer, pointer],
            "Queue_get_info": [pointer, ctypes.POINTER(_Info)],
            "Matchall_info": [number, requests, _Info],
            "Imatchall_info": [number, requests, _Info, requests],
            "Is_matched": [_Request, flag],
            "Enqueue_startall": [pointer, number, requests],
            "Enqueue_waitall": [pointer, number, requests],
            "Host_stream_create": [ctypes.POINTER(pointer)],
            "Host_stream_destroy": [ctypes.POINTER(pointer)],
            "Host_stream_launch": [pointer, _Function, pointer],
            "Host_stream_synchronize": [pointer],
            "Host_stream_query": [pointer, flag],
    }.items():
        function = getattr(_library, "MPIXQ_" + name)
        function.argtypes, function.restype = arguments, number


_declare()


def _array(requests):
    """A request or several as an array of C, and its length."""
    if isinstance(requests, MPI.Request):
        requests = [requests]
    return len(requests), (_Request * len(requests))(*map(MPI._handleof, requests))


def _object(made, handle):
    """An object of mpi4py with the handle that a function of C gave."""
    ctypes.memmove(MPI._addressof(made), ctypes.byref(handle), ctypes.sizeof(handle))
    return made


def _flag(function, handle):
    flag = ctypes.c_int()
    _check(function(handle, ctypes.byref(flag)))
    return bool(flag.value)


def version():
    """The version of the library, as three numbers."""
    numbers = [ctypes.c_int() for _ in range(3)]
    _check(_library.MPIXQ_Get_version(*map(ctypes.byref, numbers)))
    return tuple(number.value for number in numbers)


def match(requests, info=MPI.INFO_NULL):
    """Match persistent requests with those of their peers, for good; waits for the peers."""
    _check(_library.MPIXQ_Matchall_info(*_array(requests), MPI._handleof(info)))


def imatch(requests, info=MPI.INFO_NULL):
    """Begin to match; the request that this returns is complete when all are matched."""
    made = _Request()
    _check(_library.MPIXQ_Imatchall_info(*_array(requests), MPI._handleof(info),
                                         ctypes.byref(made)))
    return _object(MPI.Request(), made)


def is_matched(request):
    return _flag(_library.MPIXQ_Is_matched, MPI._handleof(request))


# Functions that were launched and have not begun, by their numbers. The one function of C must not
# go while it runs, as one for each of them would.
_launched = {}
_numbers = itertools.count(1)


@_Function
def _run(number):
    stream, function, arguments = _launched.pop(number)
    try:
        function(*arguments)
    except BaseException as error:  # raised by synchronize
        if stream._error is None:
            stream._error = error


class HostStream:
    """A stream on a thread of the host."""

    def __init__(self):
        self.handle = ctypes.c_void_p()
        self._error = None
        _check(_library.MPIXQ_Host_stream_create(ctypes.byref(self.handle)))

    def launch(self, function, *arguments):
        """Call the function on the stream, after all that was enqueued before. What it raises is
        raised by synchronize."""
        number = next(_numbers)
        _launched[number] = self, function, arguments
        try:
            _check(_library.MPIXQ_Host_stream_launch(self.handle, _run, number))
        except Error:
            del _launched[number]
            raise

    def synchronize(self):
        """Wait until all that was enqueued has run; raise the first error of what was launched."""
        _check(_library.MPIXQ_Host_stream_synchronize(self.handle))
        error, self._error = self._error, None
        if error is not None:
            raise error

    def query(self):
        """Whether all that was enqueued has run."""
        return _flag(_library.MPIXQ_Host_stream_query, self.handle)

    def destroy(self):
        """Wait until all that was launched has run, and end the stream, which no queue uses."""
        _check(_library.MPIXQ_Host_stream_destroy(ctypes.byref(self.handle)))


class Queue:
    """Communication in the order of a stream: a HostStream, or the handle of a stream of a GPU as a
    number, or None, for a host stream of the queue's own. A kind ("cudaStream_t", "hipStream_t")
    says of what a number is the handle, where a process uses both.

    In a "with" statement its end waits for all that was enqueued, and frees the queue."""

    def __init__(self, stream=None, type=QUEUE_AUTO, kind=None, info=MPI.INFO_NULL):
        self.handle = ctypes.c_void_p()
        self._stream = stream  # which must live as long
        handle = getattr(stream, "handle", stream)
        handle = handle if isinstance(handle, ctypes.c_void_p) else ctypes.c_void_p(handle)
        address = None if stream is None else ctypes.byref(handle)
        hints = MPI.Info.Create() if info == MPI.INFO_NULL else info.Dup()
        try:
            if kind is not None:
                hints.Set("type", kind)
            _check(_library.MPIXQ_Queue_init_info(ctypes.byref(self.handle), type, address,
                                                  MPI._handleof(hints)))
        finally:
            hints.Free()

    def start(self, requests):
        """Enqueue the start of matched requests."""
        _check(_library.MPIXQ_Enqueue_startall(self.handle, *_array(requests)))

    def wait(self, requests=None):
        """Enqueue a wait for started requests; for all that were started if none are named."""
        count, array = (_ALL_STARTED, None) if requests is None else _array(requests)
        _check(_library.MPIXQ_Enqueue_waitall(self.handle, count, array))

    def synchronize(self):
        """Wait, on the host, for all that was enqueued."""
        _check(_library.MPIXQ_Queue_wait(self.handle))

    def test(self):
        """Whether all that was enqueued is done."""
        return _flag(_library.MPIXQ_Queue_test, self.handle)

    def stream(self):
        """The handle of the stream, as a number."""
        handle = ctypes.c_void_p()
        _check(_library.MPIXQ_Queue_get_stream(self.handle, ctypes.byref(handle)))
        return handle.value

    def info(self):
        """What the queue uses and has done, as a dictionary."""
        made = _Info()
        _check(_library.MPIXQ_Queue_get_info(self.handle, ctypes.byref(made)))
        info = _object(MPI.Info(), made)
        try:
            return dict(info.items())
        finally:
            info.Free()

    def free(self):
        """Free the queue, which has nothing left to do."""
        _check(_library.MPIXQ_Queue_free(ctypes.byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.wait()
            self.synchronize()
        finally:  # a queue that has failed can be freed
            self.free()
