# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Puts with signals of mpix_queue, in a ring of any number of ranks: by the host, by plans and
enqueued, in buffers of the program and in memory of the library, with blocks that are sent as
buffers and as objects; data and what lies around it is compared. Lives of buffers, and errors. With
the argument hip: in memory of a GPU of HIP's double."""
import ctypes
import gc
import pickle
import sys
import threading
import weakref
from array import array

import mpix_queue
from mpi4py import MPI
from mpix_queue import Block, Plan, Signal, Window
from python_check import check, comm, end, fails, hint, kind_of, rank, size

GUARD, STEPS = -77, 5
to, source = (rank + 1) % size, (rank - 1) % size


def value(who, step, i):
    return 1000000 * who + 1000 * step + i


def of_next(block):
    """The block of the next rank that it makes as this one makes its own."""
    theirs = Block()
    comm.Sendrecv([block, MPI.BYTE], source, 1, [theirs, MPI.BYTE], to, 1)
    return theirs


class Ring:
    """Elements of a window that are put to the next rank, in parts, and where those of the one
    before come: a guard, what is put, a guard, what has come, a guard."""

    def __init__(self, window, elements, n, parts=1):
        self.window, self.elements, self.n = window, elements, n
        for i in range(2 * n + 3):
            elements[i] = GUARD
        self.sent, self.arrived = Signal(window, parts), Signal(window, parts)
        self.taken = Signal(window)
        bounds = [8 * (n * part // parts) for part in range(parts + 1)]
        self.local = [Block(window, 8 + low, high - low, self.sent)
                      for low, high in zip(bounds, bounds[1:])]
        self.remote = [of_next(Block(window, 8 * (n + 2) + low, high - low, self.arrived))
                       for low, high in zip(bounds, bounds[1:])]
        self.nothing = Block(window, 0, 0)
        self.told = comm.allgather(Block(window, 0, 0, self.taken))[source]

    def fill(self, step):
        for i in range(self.n):
            self.elements[i + 1] = value(rank, step, i)

    def expect(self, step):
        e, n = self.elements, self.n
        check(e[0] == e[n + 1] == e[2 * n + 2] == GUARD, "bytes around what is put")
        for i in range(n):
            check(e[i + 1] == value(rank, step, i), "element %d of step %d was put" % (i, step))
            check(e[n + 2 + i] == value(source, step, i), "element %d of step %d" % (i, step))

    def put_all(self):
        for local, remote in zip(self.local, self.remote):
            mpix_queue.put(local, remote)

    def finish(self, step):
        """What one end does by the host: the other may put again only when it has looked."""
        self.sent.wait()
        self.arrived.wait()
        check(self.sent.test() and self.arrived.test(), "signals are complete")
        self.expect(step)
        self.sent.reset()
        self.arrived.reset()
        mpix_queue.put(self.nothing, self.told)
        self.taken.wait_reset()

    def free(self):
        self.window.flush()
        for signal in (self.sent, self.arrived, self.taken):
            signal.free()
            check(not signal.handle.value, "a signal is freed")


def by_host(window, elements, n):
    ring = Ring(window, elements, n, 3)
    with Plan(ring.local, ring.remote) as plan:
        for step in range(STEPS):
            ring.fill(step)
            if step % 2 == 0:
                ring.put_all()
            else:
                plan.start()
            ring.finish(step)
    check(not plan.handle.value, "a plan is freed")
    ring.free()


def by_get(window, elements, n):
    """The next rank's elements are read, into where those of the one before come elsewhere."""
    for i in range(2 * n + 3):
        elements[i] = GUARD
    with Signal(window) as here, Signal(window) as read:
        mine = Block(window, 8, 8 * n, read)
        into, theirs = Block(window, 8 * (n + 2), 8 * n, here), of_next(mine)
        for step in range(STEPS):
            for i in range(n):
                elements[i + 1] = value(rank, step, i)
            comm.Barrier()
            mpix_queue.get(into, theirs)
            here.wait()
            read.wait()
            check(elements[0] == elements[n + 1] == elements[2 * n + 2] == GUARD, "bytes around")
            for i in range(n):
                check(elements[n + 2 + i] == value(to, step, i), "element %d is read" % i)
            here.reset()
            read.reset()
        window.flush()


def by_queue(window, elements, n):
    ring, stream = Ring(window, elements, n, 2), mpix_queue.HostStream()
    with mpix_queue.Queue(stream) as queue, Plan(ring.local, ring.remote) as plan:
        for step in range(STEPS):
            stream.launch(ring.fill, step)
            if step % 2 == 0:
                queue.plan_start(plan)
            else:
                for local, remote in zip(ring.local, ring.remote):
                    queue.put(local, remote)
            queue.signal_wait(ring.sent)
            queue.signal_wait(ring.arrived)
            stream.launch(ring.expect, step)
            queue.signal_reset(ring.sent)
            queue.signal_reset(ring.arrived)
            queue.put(ring.nothing, ring.told)
            queue.signal_wait_reset(ring.taken)
        queue.synchronize()
        stream.synchronize()
    stream.destroy()
    ring.window.flush()


def by_flush(window, elements, n):
    """Without signals: a flush at all ranks says that all is there."""
    for i in range(2 * n + 3):
        elements[i] = GUARD
    for i in range(n):
        elements[i + 1] = value(rank, 1, i)
    theirs = of_next(Block(window, 8 * (n + 2), 8 * n))
    mpix_queue.put(Block(window, 8, 8 * n), theirs)
    window.flush()
    comm.Barrier()
    check(elements[0] == elements[n + 1] == elements[2 * n + 2] == GUARD, "bytes around")
    for i in range(n):
        check(elements[n + 2 + i] == value(source, 1, i), "element %d after a flush" % i)
    comm.Barrier()


def moves():
    """In a buffer of the program, and in memory of the library."""
    for n in (1, 37, 5000):
        bytes_ = 8 * (2 * n + 3)
        buffer = array("q", [GUARD] * (2 * n + 5))
        for window in (Window(memoryview(buffer)[1:-1], comm), Window.allocate(bytes_, comm)):
            check(window.nbytes == bytes_ and window.address != 0, "the size and place of a window")
            elements = memoryview(window.memory).cast("B").cast("q")
            before = GUARD if window.memory.format == "q" else 0
            check(elements.tolist() == [before] * len(elements), "the memory of a new window")
            for way in (by_host, by_get, by_queue, by_flush):
                way(window, elements, n)
            elements.release()
            window.free()
            check(not window.handle.value and window.memory is None, "a window is freed")
            window.free()  # does nothing, as in C
        check(buffer[0] == buffer[2 * n + 4] == GUARD, "elements around a window")


def blocks():
    """Blocks as objects and as bytes, of the whole window, with the signal of others."""
    window = Window(array("q", [rank] * (size + 1)), comm)
    with Signal(window, size) as signal, Signal(window) as other:
        mine = Block(window, 8 * rank, 8)
        slots = Block(window, 0, 0, signal)
        for form in ("objects", "bytes", "buffers"):
            made = [Block(window, 8 * i, 8, signal) for i in range(size)]
            if form == "objects":
                theirs = comm.alltoall(made)
            elif form == "bytes":
                theirs = [Block.from_buffer_copy(b) for b in comm.alltoall(list(map(bytes, made)))]
            else:
                theirs = (Block * size)()
                comm.Alltoall([(Block * size)(*made), MPI.BYTE], [theirs, MPI.BYTE])
            comm.Barrier()  # all have made theirs
            window.memory[size] = 10 * rank + len(form)
            source_block = Block(window, 8 * size, 8)
            for block in theirs:
                mpix_queue.put(source_block, block)  # each rank has a place at all
            signal.wait()
            for i in range(size):
                check(window.memory[i] == 10 * i + len(form), "what rank %d put by %s" % (i, form))
            signal.reset()
            window.flush()
            comm.Barrier()
        check(bytes(pickle.loads(pickle.dumps(mine))) == bytes(mine) and len(bytes(mine)) == 64,
              "a block as an object and as bytes")
        check(bytes(Block()) == bytes(64), "the block of MPI.PROC_NULL")
        mpix_queue.put(mine, Block())
        mpix_queue.get(mine, Block())
        whole = Block(window)
        check(bytes(whole) == bytes(Block(window, 0, 8 * (size + 1))), "the block of all of it")
        # The signal of another block, and none.
        here = Block(window, 0, 8)
        here.set_signal(Block(window, 0, 0, other))
        mpix_queue.put(mine, here)
        other.wait()
        here.set_signal(None)
        mpix_queue.put(mine, here)
        window.flush()
        check(other.test(), "a block without a signal counts nowhere")
        check(slots.set_signal(None) is None and not signal.test(), "another signal waits")
    window.free()


def lifetimes():
    kept = mpix_queue._rma._kept
    check(not kept, "nothing is left of what was freed: %s" % kept)
    buffer = array("q", [GUARD] * 4)
    there = weakref.ref(buffer)
    window = Window(buffer, comm)
    theirs, mine = of_next(Block(window, 8, 8)), Block(window, 0, 8)
    buffer[0] = rank
    handle = window.handle
    del buffer, window
    gc.collect()
    check(there() is not None, "the buffer of a window that the program has lost lives")
    mpix_queue.put(mine, theirs)
    comm.Barrier()
    window = Window.__new__(Window)
    window.handle, window._view = handle, None
    window.flush()
    comm.Barrier()
    check(there().tolist() == [rank, source, GUARD, GUARD], "what was put there")
    window.free()
    gc.collect()
    check(there() is None and not kept, "the buffer is let go of")
    # Memory of a window does not move, and is not used after it by who still has it.
    growing = bytearray(8)
    window = Window(growing, comm)
    try:
        growing.append(1)
        check(False, "memory of a window stays where it is")
    except BufferError:
        pass
    window.free()
    growing.append(1)
    info = hint("mpixq_memory", "host")
    window = Window.allocate(8, comm, info)
    info.Free()
    view = window.memory
    view[0] = 1
    window.free()
    try:
        check(view[0] == 1 and False, "memory of a window that is gone is not read")
    except ValueError:
        pass
    # Arrays that were made of it do not keep a window from being freed.
    window = Window.allocate(8, comm)
    other = (ctypes.c_char * 8).from_buffer(window.memory)
    other[0] = b"x"
    check(window.memory[0] == ord("x"), "an array is the memory of a window")
    window.free()
    for empty in (Window(None, comm), Window.allocate(0, comm)):
        check(empty.nbytes == 0, "a window of nothing")
        mpix_queue.put(Block(empty, 0, 0), Block(empty, 0, 0))
        empty.free()


def free_too_early():
    """A stream has yet to put: nothing is freed, at any rank."""
    buffer, go = array("q", [rank, GUARD]), threading.Event()
    there = weakref.ref(buffer)
    window, stream = Window(buffer, comm), mpix_queue.HostStream()
    signal = Signal(window)
    mine, theirs = Block(window, 0, 8), of_next(Block(window, 8, 8, signal))
    del buffer
    queue = mpix_queue.Queue(stream)
    stream.launch(go.wait)
    queue.put(mine, theirs)
    queue.signal_wait(signal)
    fails(mpix_queue.ERR_STATE, "", window.free)
    gc.collect()
    check(window.handle.value and there() is not None, "the window and its buffer stay")
    fails(mpix_queue.ERR_STATE, "", signal.free)
    check(signal.handle.value, "the signal stays")
    comm.Barrier()
    go.set()
    queue.synchronize()
    check(there().tolist() == [rank, source], "what the stream has put")
    queue.free()
    window.free()
    stream.destroy()
    check(kind_of(signal.wait) == mpix_queue.ERR_ARG, "a signal goes with its window")
    gc.collect()
    check(there() is None, "the buffer is let go of")


def wrong_arguments(window):
    fails(TypeError, "memory: ", Window, 5, comm)
    fails(ValueError, "memory: ", Window, b"fixed", comm)
    fails(ValueError, "memory: ", Window, memoryview(bytearray(8))[::2], comm)
    fails(TypeError, "comm is no Comm", Window, bytearray(8), MPI.INFO_NULL)
    fails(TypeError, "info is no Info", Window, bytearray(8), comm, 5)
    fails(mpix_queue.ERR_ARG, "comm", Window, bytearray(8), MPI.COMM_NULL)
    fails(TypeError, "nbytes is no integer", Window.allocate, 8.0, comm)
    fails(ValueError, "nbytes is too large", Window.allocate, 1 << 64, comm)
    fails(mpix_queue.ERR_ARG, "bytes", Window.allocate, -1, comm)
    info = hint("mpixq_memory", "no such")
    fails(mpix_queue.ERR_ARG, "mpixq_memory", Window.allocate, 8, comm, info)
    info.Free()
    if size > 1:
        fails(mpix_queue.ERR_ARG, "not the same at all", Window.allocate, 8 + rank, comm)
    fails(TypeError, "window is no Window", Signal, comm)
    fails(TypeError, "events is no integer", Signal, window, "1")
    fails(ValueError, "events is too large", Signal, window, 1 << 32)
    fails(mpix_queue.ERR_ARG, "num_event", Signal, window, 0)
    fails(TypeError, "window is no Window", Block, comm)
    fails(TypeError, "offset is no integer", Block, window, 1.5)
    fails(ValueError, "nbytes is too large", Block, window, 0, 1 << 63)
    fails(TypeError, "signal is no Signal", Block, window, 0, 8, window)
    fails(mpix_queue.ERR_ARG, "offset", Block, window, -1, 1)
    fails(mpix_queue.ERR_ARG, "beyond", Block, window, 1, window.nbytes)
    fails(mpix_queue.ERR_ARG, "bytes", Block, window, window.nbytes + 1)


def misuse(window):
    good, small = Block(window, 0, 8), Block(window, 8, 4)
    away = comm.allgather(good)[to]
    for function in (mpix_queue.put, mpix_queue.get):
        fails(TypeError, "local is no Block", function, None, good)
        fails(TypeError, "remote is no Block", function, good, bytes(good))
        fails(mpix_queue.ERR_ARG, "more or less bytes", function, good, small)
        if size > 1:
            fails(mpix_queue.ERR_ARG, "another process", function, away, good)
    forged = Block.from_buffer_copy(good)
    forged.words[3] += 8
    fails(mpix_queue.ERR_ARG, "argument remote: no block", mpix_queue.put, good, forged)
    fails(TypeError, "block is no Block", good.set_signal, window)
    fails(mpix_queue.ERR_ARG, "argument blk", forged.set_signal, good)
    fails(ValueError, "local has 2 blocks, remote 1", Plan, [good, good], [good])
    fails(TypeError, "remote is no Block", Plan, [good], [None])
    fails(mpix_queue.ERR_ARG, "remote", Plan, [good], [forged])
    with Signal(window, 2) as signal, Plan([], []) as plan, mpix_queue.Queue() as queue:
        plan.start()
        check(not signal.test(), "nothing has come")
        fails(mpix_queue.ERR_STATE, "2 of 2 events", signal.reset)
        fails(TypeError, "remote is no Block", queue.put, good, None)
        fails(mpix_queue.ERR_ARG, "more or less bytes", queue.put, good, small)
        fails(TypeError, "plan is no Plan", queue.plan_start, signal)
        fails(TypeError, "signal is no Signal", queue.signal_wait, plan)
        fails(TypeError, "signal is no Signal", queue.signal_reset, plan)
        fails(TypeError, "signal is no Signal", queue.signal_wait_reset, plan)
    for function in (signal.wait, signal.test, signal.reset, signal.wait_reset):
        fails(mpix_queue.ERR_ARG, "sig", function)
    signal.free()  # does nothing, as in C
    plan.free()
    fails(mpix_queue.ERR_ARG, "plan", plan.start)
    plan = Plan([good], [away])
    window.free()
    fails(mpix_queue.ERR_STATE, "window was freed", plan.start)
    fails(mpix_queue.ERR_STATE, "window", mpix_queue.put, good, good)
    fails(mpix_queue.ERR_ARG, "win", window.flush)
    fails(mpix_queue.ERR_ARG, "win", Signal, window)
    fails(mpix_queue.ERR_ARG, "win", Block, window, 0, 8)
    plan.free()


def hip():
    """The memory of a window is that of a GPU, which the host reads and writes by copies."""
    library, n = ctypes.CDLL("libamdhip64.so.5"), 37
    info = hint("mpixq_memory", "hip")
    window = Window.allocate(8 * (2 * n + 3), comm, info)
    info.Free()
    check(window.memory is None and window.address != 0, "memory of a GPU is no buffer of the host")
    elements, zeros = array("q", [GUARD] * (2 * n + 3)), array("q", [1] * (2 * n + 3))

    def copy(into, from_, nbytes):  # hipMemcpyDefault
        code = library.hipMemcpy(ctypes.c_void_p(into), ctypes.c_void_p(from_),
                                 ctypes.c_size_t(nbytes), 4)
        check(code == 0, "hipMemcpy: %d" % code)

    copy(zeros.buffer_info()[0], window.address, window.nbytes)
    check(zeros.tolist() == [0] * len(zeros), "it is zeroed")
    ring = Ring(window, elements, n, 2)
    for step in range(STEPS):
        ring.fill(step)
        copy(window.address, elements.buffer_info()[0], 8 * (n + 2))
        copy(window.address + 8 * (2 * n + 2), elements.buffer_info()[0], 8)
        comm.Barrier()
        ring.put_all()
        ring.arrived.wait()
        copy(elements.buffer_info()[0], window.address, window.nbytes)
        ring.finish(step)
    ring.free()
    window.free()


if sys.argv[1:] == ["hip"]:
    hip()
else:
    moves()
    blocks()
    lifetimes()
    free_too_early()
    area = Window(bytearray(4096), comm)
    wrong_arguments(area)
    misuse(area)
end()
