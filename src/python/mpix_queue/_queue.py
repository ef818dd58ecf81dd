# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Matching, host streams and queues: mpix_queue.h, and what mpix_queue_rma.h enqueues."""
import ctypes
import itertools

from ._library import (
    MPI, Error, Flag, Info, Request, check, declare, flag, handle, handles_of, instance, library,
    made)
from ._rma import Block, Plan, Signal

QUEUE_AUTO, QUEUE_FALLBACK, QUEUE_CXI, QUEUE_IPC = range(4)
_ALL_STARTED = -1
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_pointer, _number, _requests = ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Request)
declare({
    "Queue_init_info": [ctypes.POINTER(_pointer), _number, _pointer, Info],
    "Queue_free": [ctypes.POINTER(_pointer)],
    "Queue_wait": [_pointer],
    "Queue_test": [_pointer, Flag],
    "Queue_get_stream": [_pointer, _pointer],
    "Queue_get_info": [_pointer, ctypes.POINTER(Info)],
    "Matchall_info": [_number, _requests, Info],
    "Imatchall_info": [_number, _requests, Info, _requests],
    "Is_matched": [Request, Flag],
    "Enqueue_startall": [_pointer, _number, _requests],
    "Enqueue_waitall": [_pointer, _number, _requests],
    "Enqueue_startwaitall": [_pointer, _number, _requests],
    "Enqueue_put": [_pointer, ctypes.POINTER(Block), ctypes.POINTER(Block)],
    "Enqueue_plan_start": [_pointer, _pointer],
    "Enqueue_signal_wait": [_pointer, _pointer],
    "Enqueue_signal_reset": [_pointer, _pointer],
    "Enqueue_signal_wait_reset": [_pointer, _pointer],
    "Host_stream_create": [ctypes.POINTER(_pointer)],
    "Host_stream_destroy": [ctypes.POINTER(_pointer)],
    "Host_stream_launch": [_pointer, _Function, _pointer],
    "Host_stream_synchronize": [_pointer],
    "Host_stream_query": [_pointer, Flag],
})


def match(requests, info=MPI.INFO_NULL):
    """Match persistent requests with those of their peers, for good; waits for the peers."""
    check(library.MPIXQ_Matchall_info(*handles_of(requests), handle(info, MPI.Info, "info")))


def imatch(requests, info=MPI.INFO_NULL):
    """Begin to match; the request that this returns is complete when all are matched."""
    request = Request()
    check(library.MPIXQ_Imatchall_info(*handles_of(requests), handle(info, MPI.Info, "info"),
                                       ctypes.byref(request)))
    return made(MPI.Request(), request)


def is_matched(request):
    return flag(library.MPIXQ_Is_matched, handle(request, MPI.Request, "request"))


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
        check(library.MPIXQ_Host_stream_create(ctypes.byref(self.handle)))

    def launch(self, function, *arguments):
        """Call the function on the stream, after all that was enqueued before. What it raises is
        raised by synchronize."""
        number = next(_numbers)
        _launched[number] = self, function, arguments
        try:
            check(library.MPIXQ_Host_stream_launch(self.handle, _run, number))
        except Error:
            del _launched[number]
            raise

    def synchronize(self):
        """Wait until all that was enqueued has run; raise the first error of what was launched."""
        check(library.MPIXQ_Host_stream_synchronize(self.handle))
        error, self._error = self._error, None
        if error is not None:
            raise error

    def query(self):
        """Whether all that was enqueued has run."""
        return flag(library.MPIXQ_Host_stream_query, self.handle)

    def destroy(self):
        """Wait until all that was launched has run, and end the stream, which no queue uses."""
        check(library.MPIXQ_Host_stream_destroy(ctypes.byref(self.handle)))


class Queue:
    """Communication in the order of a stream: a HostStream, or the handle of a stream of a GPU as a
    number, or None, for a host stream of the queue's own. A kind ("cudaStream_t", "hipStream_t")
    says of what a number is the handle, where a process uses both.

    In a "with" statement its end waits for all that was enqueued, and frees the queue."""

    def __init__(self, stream=None, type=QUEUE_AUTO, kind=None, info=MPI.INFO_NULL):
        self.handle = ctypes.c_void_p()
        self._stream = stream  # which must live as long
        given = getattr(stream, "handle", stream)
        given = given if isinstance(given, ctypes.c_void_p) else ctypes.c_void_p(given)
        address = None if stream is None else ctypes.byref(given)
        info = instance(info, MPI.Info, "info")
        hints = MPI.Info.Create() if info == MPI.INFO_NULL else info.Dup()
        try:
            if kind is not None:
                hints.Set("type", kind)
            check(library.MPIXQ_Queue_init_info(ctypes.byref(self.handle), type, address,
                                                  MPI._handleof(hints)))
        finally:
            hints.Free()

    def start(self, requests):
        """Enqueue the start of matched requests."""
        check(library.MPIXQ_Enqueue_startall(self.handle, *handles_of(requests)))

    def wait(self, requests=None):
        """Enqueue a wait for started requests; for all that were started if none are named."""
        count, array = (_ALL_STARTED, None) if requests is None else handles_of(requests)
        check(library.MPIXQ_Enqueue_waitall(self.handle, count, array))

    def start_wait(self, requests):
        """Enqueue the start of matched requests and a wait for them, in one call."""
        check(library.MPIXQ_Enqueue_startwaitall(self.handle, *handles_of(requests)))

    def put(self, local, remote):
        """Enqueue a put from one block to another."""
        check(library.MPIXQ_Enqueue_put(self.handle, instance(local, Block, "local"),
                                        instance(remote, Block, "remote")))

    def plan_start(self, plan):
        """Enqueue the puts of a plan."""
        check(library.MPIXQ_Enqueue_plan_start(self.handle, instance(plan, Plan, "plan").handle))

    def signal_wait(self, signal):
        """Enqueue a wait for a signal."""
        signal = instance(signal, Signal, "signal")
        check(library.MPIXQ_Enqueue_signal_wait(self.handle, signal.handle))

    def signal_reset(self, signal):
        """Enqueue that a signal is set to its number of events again."""
        signal = instance(signal, Signal, "signal")
        check(library.MPIXQ_Enqueue_signal_reset(self.handle, signal.handle))

    def signal_wait_reset(self, signal):
        """Enqueue a wait for a signal, and that it is set to its number of events again."""
        signal = instance(signal, Signal, "signal")
        check(library.MPIXQ_Enqueue_signal_wait_reset(self.handle, signal.handle))

    def synchronize(self):
        """Wait, on the host, for all that was enqueued."""
        check(library.MPIXQ_Queue_wait(self.handle))

    def test(self):
        """Whether all that was enqueued is done."""
        return flag(library.MPIXQ_Queue_test, self.handle)

    def stream(self):
        """The handle of the stream, as a number."""
        given = ctypes.c_void_p()
        check(library.MPIXQ_Queue_get_stream(self.handle, ctypes.byref(given)))
        return given.value

    def info(self):
        """What the queue uses and has done, as a dictionary."""
        value = Info()
        check(library.MPIXQ_Queue_get_info(self.handle, ctypes.byref(value)))
        info = made(MPI.Info(), value)
        try:
            return dict(info.items())
        finally:
            info.Free()

    def free(self):
        """Free the queue, which has nothing left to do."""
        check(library.MPIXQ_Queue_free(ctypes.byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.wait()
            self.synchronize()
        finally:  # a queue that has failed can be freed
            self.free()
