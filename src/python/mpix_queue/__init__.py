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
hold their buffers. What the functions do is said in mpix_queue.h, under the names of C; those of
partitioned requests (psend_init and precv_init make them) in mpix_queue_partitions.h, and those of
puts with signals (Window, Signal, Block, put, get, Plan) in mpix_queue_rma.h. Those that fail raise
Error, since mpi4py has MPI return its errors; for what is no argument of C at all, they raise
TypeError or ValueError.

The library has to come before MPI, so this module loads it and must be imported before mpi4py.MPI,
unless the library is preloaded. It must be the one for the MPI of mpi4py.
"""
from ._library import (  # noqa: F401: for programs; this one has to be the first
    ERR_ARG, ERR_COMM, ERR_INTERPOSE, ERR_MATCH, ERR_NONE, ERR_REQUEST, ERR_RESOURCES, ERR_STATE,
    ERR_THREAD_LEVEL, ERR_TIMEOUT, ERR_UNSUPPORTED, Error, version)
from ._partitions import (  # noqa: F401
    PartitionedRequest, parrived, pbuf_prepare, pready, pready_list, pready_range, precv_init,
    psend_init)
from ._queue import (  # noqa: F401
    QUEUE_AUTO, QUEUE_CXI, QUEUE_FALLBACK, QUEUE_IPC, HostStream, Queue, imatch, is_matched, match)
from ._rma import Block, Plan, Signal, Window, get, put  # noqa: F401
