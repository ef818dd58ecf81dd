# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Puts with signals: mpix_queue_rma.h."""
import ctypes

from ._library import (
    MPI, Aint, Comm, Error, Flag, Info, check, declare, flag, handle, instance, integer, library,
    memory_of)


class Block(ctypes.Structure):
    """A part of the window of this process, and the signal that each put or get of it is an event
    of, for all processes of the window: as one of them receives it, by mpi4py's functions for
    objects (comm.bcast(block)) or for buffers ([block, MPI.BYTE]), or as bytes(block) and
    Block.from_buffer_copy(bytes). Without a window it is the block of MPI.PROC_NULL, to which puts
    do nothing."""

    _fields_ = [("words", ctypes.c_uint64 * 8)]

    def __init__(self, window=None, offset=0, nbytes=None, signal=None):
        super().__init__()
        if window is None:
            return
        window, offset = instance(window, Window, "window"), integer(offset, "offset", Aint)
        nbytes = window.nbytes - offset if nbytes is None else integer(nbytes, "nbytes", Aint)
        signal = None if signal is None else instance(signal, Signal, "signal").handle
        check(library.MPIXQ_Blk_init(window.handle, offset, nbytes, signal, self))

    def set_signal(self, block):
        """Give it the signal of another block of the same process and window, or with None none."""
        check(library.MPIXQ_Blk_set_signal(
            self, None if block is None else instance(block, Block, "block")))


_pointer, _handle, _block = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Block)
declare({
    "Window_create": [_pointer, Aint, Comm, Info, _handle],
    "Window_allocate": [Aint, Comm, Info, _handle, _handle],
    "Window_free": [_handle],
    "Window_flush": [_pointer],
    "Signal_init": [_pointer, ctypes.c_int, _handle],
    "Signal_reset": [_pointer],
    "Signal_test": [_pointer, Flag],
    "Signal_wait": [_pointer],
    "Signal_wait_reset": [_pointer],
    "Signal_free": [_handle],
    "Blk_init": [_pointer, Aint, Aint, _pointer, _block],
    "Blk_set_signal": [_block, _block],
    "Put": [_block, _block],
    "Get": [_block, _block],
    "Plan_create": [ctypes.c_int, _block, _block, _handle],
    "Plan_start": [_pointer],
    "Plan_free": [_handle],
})

# The memory of windows that are not freed, by the numbers of their handles: other processes put to
# it, whether or not the program still has the object. And that of windows that have failed, which
# MPI may still use.
_kept = {}
_left = []


class Window:
    """Memory of each process of a communicator that the others can put to and get from: any buffer
    of mpi4py, which stays alive until the window is freed; or None. Collective. Like those of
    mpi4py, windows are freed by free alone, as that is collective too.

    memory   what was given; or, of an allocated window, a memoryview, or None if it is a GPU's
    address  of the memory, as a number
    nbytes   its size at this process"""

    def __init__(self, memory, comm, info=MPI.INFO_NULL):
        held = memory_of(memory, "memory")
        self.handle, self._view = ctypes.c_void_p(), None
        self.memory, self.address, self.nbytes = memory, held.address, held.nbytes
        check(library.MPIXQ_Window_create(self.address, self.nbytes, handle(comm, MPI.Comm, "comm"),
                                          handle(info, MPI.Info, "info"),
                                          ctypes.byref(self.handle)))
        _kept[self.handle.value] = held

    @classmethod
    def allocate(cls, nbytes, comm, info=MPI.INFO_NULL):
        """A window in zeroed memory of the library, of the same size at all processes. Its memory
        ends with it: arrays that were made of it must not be used any more."""
        window, base = cls.__new__(cls), ctypes.c_void_p()
        window.handle, window.nbytes = ctypes.c_void_p(), integer(nbytes, "nbytes", Aint)
        check(library.MPIXQ_Window_allocate(window.nbytes, handle(comm, MPI.Comm, "comm"),
                                            handle(info, MPI.Info, "info"), ctypes.byref(base),
                                            ctypes.byref(window.handle)))
        window.address, window._view = base.value or 0, None
        if info == MPI.INFO_NULL or info.Get("mpixq_memory") in (None, "host"):
            window._view = memoryview(bytearray() if window.nbytes == 0 else
                                      MPI.memory.fromaddress(window.address, window.nbytes))
        window.memory = window._view
        return window

    def flush(self):
        """Wait until all puts and gets of this process are complete at both ends."""
        check(library.MPIXQ_Window_flush(self.handle))

    def free(self):
        """Free the window with its signals. Collective."""
        key = self.handle.value
        held = _kept.pop(key, None)  # now: the next window may get this handle
        try:
            check(library.MPIXQ_Window_free(ctypes.byref(self.handle)))
        except Error:
            if self.handle.value == key:
                _kept[key] = held
            else:
                _left.append(held)
            raise
        self.memory = None
        if self._view is not None:
            try:
                self._view.release()  # who still has it gets an error, and no memory that is gone
            except BufferError:  # as mpi4py's: arrays were made of it
                pass


class _Owner:
    """What is freed by a local call, at the end of a "with" statement too."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()


class Signal(_Owner):
    """Counts events, puts or gets of blocks that have it, and is complete after so many. It is
    freed by free, by the end of a "with" statement, or with its window."""

    def __init__(self, window, events=1):
        self.handle = ctypes.c_void_p()
        check(library.MPIXQ_Signal_init(instance(window, Window, "window").handle,
                                        integer(events, "events"), ctypes.byref(self.handle)))

    def wait(self):
        """Wait until it is complete; then the data of its events is there."""
        check(library.MPIXQ_Signal_wait(self.handle))

    def test(self):
        """Whether it is complete."""
        return flag(library.MPIXQ_Signal_test, self.handle)

    def wait_reset(self):
        """Wait until it is complete, and set it to its number of events again."""
        check(library.MPIXQ_Signal_wait_reset(self.handle))

    def reset(self):
        """Set a complete signal to its number of events again."""
        check(library.MPIXQ_Signal_reset(self.handle))

    def free(self):
        check(library.MPIXQ_Signal_free(ctypes.byref(self.handle)))


def put(local, remote):
    """Start to write a block of this process into one of any process."""
    check(library.MPIXQ_Put(instance(local, Block, "local"), instance(remote, Block, "remote")))


def get(local, remote):
    """Start to read a block of any process into one of this process."""
    check(library.MPIXQ_Get(instance(local, Block, "local"), instance(remote, Block, "remote")))


class Plan(_Owner):
    """Many puts that are started as one: from each block of one list to that of the other. It is
    freed by free, or by the end of a "with" statement."""

    def __init__(self, local, remote):
        local = [instance(block, Block, "local") for block in local]
        remote = [instance(block, Block, "remote") for block in remote]
        if len(local) != len(remote):
            raise ValueError("local has %d blocks, remote %d" % (len(local), len(remote)))
        blocks = Block * len(local)
        self.handle = ctypes.c_void_p()
        check(library.MPIXQ_Plan_create(len(local), blocks(*local), blocks(*remote),
                                        ctypes.byref(self.handle)))

    def start(self):
        check(library.MPIXQ_Plan_start(self.handle))

    def free(self):
        check(library.MPIXQ_Plan_free(ctypes.byref(self.handle)))
