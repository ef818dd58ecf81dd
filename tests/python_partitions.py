# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Partitioned requests of mpix_queue in a ring of any number of ranks: partitions of different
numbers at the two ends, made ready in any order, by threads and by functions on a stream, in
buffers of several kinds; data and what lies around it is compared. Buffers that the program has
lost, and errors."""
import gc
import random
import threading
import weakref
from array import array

import mpix_queue
from mpi4py import MPI
from python_check import check, comm, end, fails, hint, rank, size

SENT, RECEIVED, COUNT, GUARD = 6, 4, 50, -77  # partitions at either end, elements of one sent
N = SENT * COUNT
to, source = (rank + 1) % size, (rank - 1) % size


def value(who, step, i):
    return 1000000 * who + 1000 * step + i


class Exchange:
    """A send to the next rank and a receive from the one before, and what lies around."""

    def __init__(self, tag, partitions=RECEIVED):
        self.out, self.into = array("q", [0] * N), array("q", [GUARD] * (N + 2))
        self.send = mpix_queue.psend_init(comm, self.out, SENT, to, tag)
        self.receive = mpix_queue.precv_init(comm, memoryview(self.into)[1:N + 1], partitions,
                                             source, tag)
        self.requests = [self.receive, self.send]
        mpix_queue.match(self.requests)

    def fill(self, step, partition):
        for i in range(partition * COUNT, (partition + 1) * COUNT):
            self.out[i] = value(rank, step, i)

    def ready(self, step, partition):
        self.fill(step, partition)
        mpix_queue.pready(self.send, partition)

    def expect(self, step, partitions=range(RECEIVED)):
        check(self.into[0] == GUARD and self.into[N + 1] == GUARD, "bytes around the message")
        for partition in partitions:
            for i in range(partition * N // RECEIVED, (partition + 1) * N // RECEIVED):
                check(self.into[i + 1] == value(source, step, i), "element %d of step %d"
                      % (i, step))

    def free(self):
        for request in self.requests:
            request.Free()


def by_host():
    e, numbers = Exchange(1), list(range(SENT))
    check(isinstance(e.send, MPI.Prequest), "requests are those of mpi4py")
    check(mpix_queue.parrived(e.receive, 0), "what is not started has come")
    for step in range(12):
        MPI.Prequest.Startall(e.requests)
        mpix_queue.pbuf_prepare(e.send)
        comm.Barrier()  # nobody has made anything ready
        for partition in range(RECEIVED):
            check(not mpix_queue.parrived(e.receive, partition), "nothing has come yet")
        comm.Barrier()
        random.shuffle(numbers)
        if step % 3 == 0:
            for partition in numbers:
                e.ready(step, partition)
        elif step % 3 == 1:
            for partition in numbers:
                e.fill(step, partition)
            mpix_queue.pready_list(e.send, numbers[:2])
            mpix_queue.pready_list(e.send, ())
            mpix_queue.pready_list(e.send, iter(numbers[2:]))
        else:
            for partition in numbers:
                e.fill(step, partition)
            mpix_queue.pready_range(e.send, 3, SENT - 1)
            mpix_queue.pready_range(e.send, 0, 2)
        for partition in range(RECEIVED):
            while not mpix_queue.parrived(e.receive, partition):
                pass
            e.expect(step, [partition])
        MPI.Request.Waitall(e.requests)
        e.expect(step)
    e.free()


def by_threads():
    e = Exchange(2)
    for step in range(5):
        MPI.Prequest.Startall(e.requests)
        threads = [threading.Thread(target=e.ready, args=(step, n)) for n in range(SENT)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        MPI.Request.Waitall(e.requests)
        e.expect(step)
    e.free()


def by_queue():
    """Ready at once after the enqueued start, and by functions that the stream runs behind it."""
    e, stream = Exchange(3), mpix_queue.HostStream()
    with mpix_queue.Queue(stream) as queue:
        for step in range(10):
            queue.start(e.requests)
            for partition in range(SENT):
                if step % 2 == 0:
                    e.ready(step, partition)
                else:
                    stream.launch(e.ready, step, partition)
            queue.wait(e.requests)
            stream.launch(e.expect, step)
            queue.synchronize()
        stream.synchronize()
    stream.destroy()
    e.free()


def datatypes():
    """Every other element, by a datatype, in one message: the receiver's holes stay."""
    vector = MPI.INT64_T.Create_vector(COUNT, 1, 2).Commit()
    spaced = vector.Create_resized(0, 2 * COUNT * 8).Commit()
    out, into = array("q", range(2 * 2 * COUNT)), array("q", [GUARD] * (2 * 2 * COUNT + 1))
    info = hint("mpixq_partitions", "1")
    # The count, as the number of elements, is that of each partition.
    send = mpix_queue.psend_init(comm, [out, 1, spaced], 2, to, 4, info)
    receive = mpix_queue.precv_init(comm, (into, 1, spaced), 2, source, 4, info)
    spaced.Free()
    vector.Free()
    info.Free()
    mpix_queue.match([send, receive])
    MPI.Prequest.Startall([send, receive])
    mpix_queue.pready_range(send, 0, 1)
    MPI.Request.Waitall([send, receive])
    for i, found in enumerate(into):
        is_sent = i % 2 == 0 and i < 4 * COUNT
        check(found == (i if is_sent else GUARD), "element %d is %d" % (i, found))
    send.Free()
    receive.Free()


class Device:
    """Bytes as libraries for GPUs describe theirs, in memory of the host."""

    def __init__(self, data, elements, typestr):
        address, self.data = data.buffer_info()[0], data
        self.__cuda_array_interface__ = {"shape": (elements,), "typestr": typestr,
                                         "data": (address, False), "version": 3}


def forms():
    """What names a buffer: data alone, with a count, with a datatype or its letter; and nothing."""
    try:
        import numpy
        grid = numpy.zeros((4, 3))
        made = [grid, [grid, "d"], [grid, 3, "d"]]
    except ImportError:
        print("without numpy its arrays are not tried")
        made = []
    numbers = array("d", [0.0] * 12)
    made += [numbers, [numbers], [numbers, 3], [numbers, MPI.DOUBLE], [numbers, 3, MPI.DOUBLE],
             (numbers, 24, MPI.BYTE), [bytearray(96), "d"], [bytearray(96), 24, MPI.BYTE],
             Device(numbers, 12, "<f8"), Device(numbers, 96, "|u1")]
    for n, buf in enumerate(made):
        data = buf[0] if isinstance(buf, (list, tuple)) else buf
        data = numbers if isinstance(buf, Device) else data
        into, sent = memoryview(data).cast("B"), bytes(range(n, n + 96))
        send = mpix_queue.psend_init(comm, [sent, MPI.BYTE], 2, to, 5)  # bytes can be sent
        receive = mpix_queue.precv_init(comm, buf, 4, source, 5)
        mpix_queue.match([send, receive])
        MPI.Prequest.Startall([send, receive])
        mpix_queue.pready_range(send, 0, 1)
        MPI.Request.Waitall([send, receive])
        for i in range(96):
            check(into[i] == n + i, "byte %d of form %d" % (i, n))
        send.Free()
        receive.Free()
    for buf, peer in ((None, MPI.PROC_NULL), ([None, 0, MPI.INT], MPI.PROC_NULL)):
        none = [mpix_queue.psend_init(comm, [buf, "b"] if buf is None else buf, 0, peer),
                mpix_queue.precv_init(comm, [buf, "b"] if buf is None else buf, 0, peer)]
        mpix_queue.match(none)
        MPI.Prequest.Startall(none)
        MPI.Request.Waitall(none)
        for request in none:
            request.Free()


def lifetimes():
    """Buffers live until their requests are freed, and longer if these are under way."""
    kept = mpix_queue._partitions._kept
    check(not kept, "nothing is left of what was freed: %s" % kept)
    e = Exchange(6)
    out, into = weakref.ref(e.out), weakref.ref(e.into)
    requests, keep = e.requests, e.into
    del e.out, e.into, e.send, e.receive
    keep = None
    gc.collect()
    check(out() is not None and into() is not None and keep is None, "the buffers of requests live")
    MPI.Prequest.Startall(requests)
    for i in range(N):
        out()[i] = value(rank, 1, i)
    mpix_queue.pready_range(requests[1], 0, SENT - 1)
    MPI.Request.Waitall(requests)
    e.into = into()
    e.expect(1)
    del e.into
    for request in requests:
        request.Free()
        check(request == MPI.REQUEST_NULL, "a request is freed")
    gc.collect()
    check(out() is None and into() is None and not kept, "the buffers are let go of")
    # The receive is under way when it is freed: its peer may be sending. No send is started.
    e = Exchange(7)
    into = weakref.ref(e.into)
    e.receive.Start()
    comm.Barrier()
    e.free()
    del e
    gc.collect()
    check(into() is not None and not kept, "a buffer that is under way lives")
    comm.Barrier()


def wrong_arguments():
    data = array("q", [0] * N)
    for make in (mpix_queue.psend_init, mpix_queue.precv_init):
        fails(TypeError, "comm is no Comm, but a Info", make, MPI.INFO_NULL, data, SENT, to)
        fails(TypeError, "info is no Info", make, comm, data, SENT, to, 1, comm)
        fails(TypeError, "partitions is no integer", make, comm, data, 6.0, to)
        fails(ValueError, "partitions is too large", make, comm, data, 1 << 32, to)
        fails(ValueError, "tag is too large", make, comm, data, SENT, to, 1 << 32)
        fails(TypeError, "buf: ", make, comm, 5, SENT, to)
        fails(TypeError, "buf: ", make, comm, "text", SENT, to)
        fails(TypeError, "buf: ", make, comm, [MPI.BOTTOM, 1, MPI.INT], SENT, to)
        fails(ValueError, "buf: ", make, comm, [memoryview(data)[::2], MPI.INT], 1, to)
        fails(ValueError, "not 7 partitions of whole elements", make, comm, data, 7, to)
        fails(ValueError, "whole elements of 16", make, comm, [array("b", [0] * 20), MPI.COMPLEX16],
              1, to)
        fails(ValueError, "elements of format '>f8'", make, comm, Device(data, N, ">f8"), 1, to)
        fails(ValueError, "no datatype is called 'no such'", make, comm, [data, "no such"], 1, to)
        fails(ValueError, "buf is not [data", make, comm, [data, 1, 2], 1, to)
        fails(ValueError, "buf is not [data", make, comm, [data, "d", "d"], 1, to)
        fails(ValueError, "datatype is null", make, comm, [data, 1, MPI.DATATYPE_NULL], 1, to)
        fails(ValueError, "6 partitions of 51 elements", make, comm, [data, 51, "q"], 6, to)
        fails(ValueError, "more than its 2400 bytes", make, comm, [data, 1 << 60, "q"], 6, to)
        fails(mpix_queue.ERR_ARG, "partitions", make, comm, data, -1, to)
        fails(mpix_queue.ERR_ARG, "count", make, comm, [data, -1, "q"], 1, to)
        info = hint("mpixq_partitions", "1025")
        fails(mpix_queue.ERR_ARG, "mpixq_partitions", make, comm, data, 1, to, 1, info)
        info.Free()
        try:
            make(comm, data, 1, size)
            check(False, "there is no such rank")
        except mpix_queue.Error as error:
            check(error.Get_error_class() == MPI.ERR_RANK, "the class of an error of MPI")
    fails(ValueError, "buf: ", mpix_queue.precv_init, comm, [bytes(8), "q"], 1, source)
    fails(mpix_queue.ERR_ARG, "source", mpix_queue.precv_init, comm, data, 1, MPI.ANY_SOURCE)
    check(not mpix_queue._partitions._kept, "what was refused is not kept")


def misuse():
    e, plain = Exchange(8, SENT), comm.Send_init(array("b", [1]), to)
    fails(mpix_queue.ERR_REQUEST, "not a partitioned", mpix_queue.pready, plain, 0)
    fails(mpix_queue.ERR_REQUEST, "not a partitioned", mpix_queue.parrived, plain, 0)
    fails(mpix_queue.ERR_REQUEST, "not a partitioned", mpix_queue.pbuf_prepare, plain)
    fails(TypeError, "request is no Request", mpix_queue.pready, comm, 0)
    fails(TypeError, "request is no Request", mpix_queue.parrived, None, 0)
    check(mpix_queue.parrived(MPI.REQUEST_NULL, 7), "of no request all has come")
    fails(mpix_queue.ERR_STATE, "not started", mpix_queue.pready, e.send, 0)
    fails(mpix_queue.ERR_STATE, "not started", mpix_queue.pbuf_prepare, e.send)
    MPI.Prequest.Startall(e.requests)
    fails(mpix_queue.ERR_ARG, "partition", mpix_queue.pready, e.send, SENT)
    fails(mpix_queue.ERR_ARG, "partition_low", mpix_queue.pready_range, e.send, 2, 1)
    fails(mpix_queue.ERR_STATE, "ready already", mpix_queue.pready_list, e.send, [1, 2, 1])
    fails(TypeError, "partitions is no integer", mpix_queue.pready_list, e.send, ["0"])
    fails(TypeError, "partition is no integer", mpix_queue.parrived, e.receive, 1.5)
    fails(ValueError, "partition is too large", mpix_queue.pready, e.send, 1 << 32)
    fails(mpix_queue.ERR_REQUEST, "a receive", mpix_queue.pready, e.receive, 0)
    fails(mpix_queue.ERR_REQUEST, "a send", mpix_queue.parrived, e.send, 0)
    for partition in range(SENT):  # none of them was made ready
        e.ready(1, partition)
    MPI.Request.Waitall(e.requests)
    e.expect(1)
    e.free()
    plain.Free()


by_host()
by_threads()
by_queue()
datatypes()
forms()
wrong_arguments()
misuse()
lifetimes()
end()
