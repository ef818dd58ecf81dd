# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""What mpix_queue does with matching, queues and host streams, on 2 ranks: exchanges whose data is
compared, functions on streams, results and errors. With the argument hip: on a stream of HIP's
runtime or of its double."""
import ctypes
import re
import sys
from array import array

import mpix_queue
from mpi4py import MPI
from python_check import check, comm, end, fails, kind_of, rank

N, STEPS, GUARD = 37, 10, -77
peer = 1 - rank
launched = mpix_queue._queue._launched


def value(who, step, i):
    return 1000000 * who + 1000 * step + i


class Exchange:
    """Both ends of it, and what lies around."""

    def __init__(self, tag):
        self.out, self.into = array("q", [0] * N), array("q", [GUARD] * (N + 2))
        self.requests = [
            comm.Recv_init(memoryview(self.into)[1:N + 1], peer, tag),
            comm.Send_init(self.out, peer, tag),
        ]

    def fill(self, step):
        for i in range(N):
            self.out[i] = value(rank, step, i)

    def expect(self, step):
        check(self.into[0] == GUARD and self.into[N + 1] == GUARD, "bytes around the message")
        for i in range(N):
            check(self.into[i + 1] == value(peer, step, i), "element %d of step %d" % (i, step))

    def free(self):
        for request in self.requests:
            request.Free()


def steps(queue):
    e = Exchange(1)
    for start in queue.start, queue.start_wait:
        check(kind_of(start, e.requests) == mpix_queue.ERR_STATE, "what is unmatched starts not")
    check(not mpix_queue.is_matched(e.requests[0]), "a request is not matched yet")
    mpix_queue.match(e.requests)
    check(mpix_queue.is_matched(e.requests[0]), "a request is matched")
    for step in range(STEPS):
        e.fill(step)
        if step % 3 == 0:
            queue.start(e.requests)
            queue.wait(e.requests)
        elif step % 3 == 1:
            queue.start_wait(e.requests)
        else:
            queue.start(e.requests[0])
            queue.start(e.requests[1])
            queue.wait()
        queue.synchronize()
        check(queue.test(), "nothing is left to do")
        e.expect(step)
    check(queue.info()["mpixq_starts"] == str(2 * STEPS), "the starts in %s" % queue.info())
    e.free()


def streams():
    stream = mpix_queue.HostStream()
    e, seen = Exchange(2), []
    made = mpix_queue.imatch(e.requests)
    made.Wait()
    check(made == MPI.REQUEST_NULL and mpix_queue.is_matched(e.requests[1]), "the match is done")

    def look(step):
        e.expect(step)
        seen.append(step)

    with mpix_queue.Queue(stream) as queue:
        check(queue.stream() == stream.handle.value, "the stream of the queue")
        for step in range(STEPS):
            stream.launch(e.fill, step)
            queue.start(e.requests)
            queue.wait(e.requests)
            stream.launch(look, step)
        check(kind_of(stream.destroy) == mpix_queue.ERR_STATE, "a stream that is used stays")
        stream.synchronize()
    check(not queue.handle.value, "the queue is freed")
    check(seen == list(range(STEPS)), "the functions ran in order: %s" % seen)
    # What a function raises comes out once, and the first of it.
    stream.launch(lambda: 1 // 0)
    stream.launch(seen.clear)
    stream.launch([].pop)
    for expected in (ZeroDivisionError, None):
        try:
            stream.synchronize()
            found = None
        except Exception as error:
            found = type(error)
        check(found == expected, "%s is raised, not %s" % (expected, found))
    check(stream.query() and not seen and not launched, "all of them ran")
    stream.destroy()
    check(kind_of(stream.launch, print) == mpix_queue.ERR_ARG and not launched,
          "a stream that is destroyed launches nothing")
    e.free()


def errors():
    check(kind_of(mpix_queue.Queue, None, 99) == mpix_queue.ERR_ARG, "there is no type 99")
    check(kind_of(mpix_queue.Queue, 0, 0, "mpix_host_stream") == mpix_queue.ERR_ARG, "stream 0")
    info = MPI.Info.Create()
    info.Set("mpixq_channels", "no such")
    check(kind_of(mpix_queue.match, [], info) == mpix_queue.ERR_ARG, "hints are handed on")
    info.Free()
    # Handles of another kind would be addresses of something else.
    fails(TypeError, "requests is no Request", mpix_queue.match, [comm])
    fails(TypeError, "request is no Request", mpix_queue.is_matched, 1)
    fails(TypeError, "info is no Info", mpix_queue.match, [], comm)
    fails(TypeError, "info is no Info", lambda: mpix_queue.Queue(info=5))
    # A start that its "with" statement leaves gets its wait.
    e = Exchange(3)
    mpix_queue.match(e.requests)
    e.fill(7)
    with mpix_queue.Queue(type=mpix_queue.QUEUE_FALLBACK) as queue:
        queue.start(e.requests)
    e.expect(7)
    e.free()


def constants(header):
    """They are those of the header."""
    with open(header, encoding="ascii") as file:
        text = file.read()
    found = re.findall(r"^    MPIXQ_((?:ERR|QUEUE)_[A-Z_]*) = (\d+)", text, re.MULTILINE)
    check(len(found) > 12, "the header has constants")
    for name, number in found:
        check(getattr(mpix_queue, name, None) == int(number), "%s is %s" % (name, number))
    version = [re.search(r"MPIXQ_VERSION_%s (\d+)" % part, text).group(1)
               for part in ("MAJOR", "MINOR", "PATCH")]
    check([str(number) for number in mpix_queue.version()] == version, "the version")


def hip():
    library, handle = ctypes.CDLL("libamdhip64.so.5"), ctypes.c_void_p()
    check(library.hipStreamCreate(ctypes.byref(handle)) == 0, "there is a stream of HIP")
    queue = mpix_queue.Queue(handle.value, kind="hipStream_t")
    check(queue.info()["type"] == "hipStream_t", "the kind of the stream in %s" % queue.info())
    check(queue.stream() == handle.value, "the stream of the queue")
    steps(queue)
    queue.free()
    check(library.hipStreamDestroy(handle) == 0, "the stream goes")


check(comm.Get_size() == 2, "there are 2 ranks")
if sys.argv[1] == "hip":
    hip()
else:
    with mpix_queue.Queue() as own:
        steps(own)
    streams()
    errors()
    constants(sys.argv[1])
end()
