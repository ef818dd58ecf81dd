# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Partitioned requests: mpix_queue_partitions.h."""
import ctypes
import sys

from ._library import (
    MPI, Comm, Datatype, Flag, Info, Request, check, declare, flag, handle, integer,
    library, made, memory_of)

_pointer, _number, _count = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
_init = [_pointer, _number, _count, Datatype, _number, _number, Comm, Info, ctypes.POINTER(Request)]
declare({
    "Psend_init": _init,
    "Precv_init": _init,
    "Pready": [_number, Request],
    "Pready_range": [_number, _number, Request],
    "Pready_list": [_number, Flag, Request],
    "Parrived": [Request, _number, Flag],
    "Pbuf_prepare": [Request],
})

# The memory of requests that are not freed, by their handles: a program may lose the object of a
# request that a stream has yet to start, or that a peer sends to. And that of requests that were
# freed while a start was under way: nobody is told when that is over.
_kept = {}
_left = []


class PartitionedRequest(MPI.Prequest):
    """A persistent request for mpi4py's Start, Wait, Test and their like. Free frees it; its memory
    stays alive until then, or for good if a start is under way then or has failed."""

    def _is_over(self):
        try:
            return self.Get_status()
        except MPI.Exception:
            return False

    def Free(self):
        key = MPI._handleof(self)
        memory = _kept.pop(key, None)  # now: the next request may get this handle
        over = memory is None or self._is_over()
        try:
            super().Free()
        except MPI.Exception:
            if memory is not None:
                _kept[key] = memory
            raise
        if not over:
            _left.append(memory)


def _type_of(data, name):
    """The datatype of the elements of an array, as mpi4py finds it."""
    try:
        code = memoryview(data).format
    except TypeError:  # not in memory of the host
        code = getattr(data, "__cuda_array_interface__", {}).get("typestr", "")
    native = "@=|" + ("<" if sys.byteorder == "little" else ">")
    try:
        return MPI._typedict[code.lstrip(native)]
    except KeyError:
        raise ValueError("%s: no datatype is known for elements of format %r; give one: "
                         "[data, datatype]" % (name, code)) from None


def _message(buf, partitions, writable):
    """Memory, elements of each partition and datatype of what mpi4py calls a buffer: data, or
    [data, count], [data, datatype] or [data, count, datatype], where the count is that of each
    partition. All of it has to lie in the memory."""
    parts = list(buf) if isinstance(buf, (list, tuple)) else [buf]
    data, count, datatype = parts[0] if parts else None, None, None
    for part in parts[1:]:
        if isinstance(part, (MPI.Datatype, str)) and datatype is None:
            datatype = part
        elif count is None and datatype is None and not isinstance(part, str):
            count = integer(part, "buf: count", _count)
        else:
            raise ValueError("buf is not [data, count, datatype]")
    if isinstance(datatype, str):
        if datatype not in MPI._typedict:
            raise ValueError("buf: no datatype is called %r" % datatype)
        datatype = MPI._typedict[datatype]
    memory = memory_of(data, "buf", writable)
    datatype = _type_of(data, "buf") if datatype is None else datatype
    if datatype == MPI.DATATYPE_NULL:
        raise ValueError("buf: the datatype is null")
    return memory, _fitting(memory, partitions, count, datatype), datatype


def _fitting(memory, partitions, count, datatype):
    """The count, which may be None, if as many elements lie in the memory."""
    extent = datatype.Get_extent()[1]
    if count is None:
        elements, rest = divmod(memory.nbytes, extent) if extent > 0 else (0, 1)
        if rest or (partitions > 0 and elements % partitions):
            raise ValueError("buf: %d bytes are not %d partitions of whole elements of %d bytes"
                             % (memory.nbytes, partitions, extent))
        count = elements // partitions if partitions > 0 else 0
    elements = partitions * count
    first, span = datatype.Get_true_extent()
    behind = (elements - 1) * extent  # where the last one lies
    if elements > 0 and span > 0 and (first + min(0, behind) < 0
                                      or first + max(0, behind) + span > memory.nbytes):
        raise ValueError("buf: %d partitions of %d elements are more than its %d bytes"
                         % (partitions, count, memory.nbytes))
    return count


def _make(function, comm, buf, partitions, peer, tag, info, writable):
    comm, info = handle(comm, MPI.Comm, "comm"), handle(info, MPI.Info, "info")
    partitions = integer(partitions, "partitions")
    memory, count, datatype = _message(buf, partitions, writable)
    request = Request()
    check(function(memory.address, partitions, count, MPI._handleof(datatype),
                   integer(peer, "source" if writable else "dest"), integer(tag, "tag"), comm, info,
                   ctypes.byref(request)))
    result = made(PartitionedRequest(), request)
    _kept[MPI._handleof(result)] = memory
    return result


def psend_init(comm, buf, partitions, dest, tag=0, info=MPI.INFO_NULL):
    """A send of a buffer in so many partitions: data that is divided among them, or [data, count,
    datatype], with the count of each partition."""
    return _make(library.MPIXQ_Psend_init, comm, buf, partitions, dest, tag, info, False)


def precv_init(comm, buf, partitions, source, tag=0, info=MPI.INFO_NULL):
    """A receive, likewise."""
    return _make(library.MPIXQ_Precv_init, comm, buf, partitions, source, tag, info, True)


def _handle_of(request):
    return handle(request, MPI.Request, "request")


def pready(request, partition):
    """A partition of a started send is ready; by any thread, also on a HostStream."""
    check(library.MPIXQ_Pready(integer(partition, "partition"), _handle_of(request)))


def pready_range(request, low, high):
    """The partitions from the one to the other, both included, are ready."""
    check(library.MPIXQ_Pready_range(integer(low, "low"), integer(high, "high"),
                                     _handle_of(request)))


def pready_list(request, partitions):
    """These partitions are ready."""
    numbers = [integer(partition, "partitions") for partition in partitions]
    check(library.MPIXQ_Pready_list(len(numbers), (ctypes.c_int * len(numbers))(*numbers),
                                    _handle_of(request)))


def parrived(request, partition):
    """Whether a partition of a started receive has come."""
    return flag(library.MPIXQ_Parrived, _handle_of(request), integer(partition, "partition"))


def pbuf_prepare(request):
    """Wait until the receiver has started its receive."""
    check(library.MPIXQ_Pbuf_prepare(_handle_of(request)))
