# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Ranks 0 and 1 exchange a number ten times, and the host does not wait in between."""
import mpix_queue  # before mpi4py.MPI
from mpi4py import MPI
from array import array


def add():
    mine[0] += theirs[0]


comm = MPI.COMM_WORLD
rank = comm.Get_rank()
peer = 1 - rank if rank < 2 else MPI.PROC_NULL
mine, theirs = array("i", [rank + 1]), array("i", [0])
requests = [comm.Send_init(mine, peer), comm.Recv_init(theirs, peer)]
mpix_queue.match(requests)  # once: each request finds its partner
stream = mpix_queue.HostStream()
with mpix_queue.Queue(stream) as queue:
    for step in range(10):  # only enqueues
        queue.start(requests)
        queue.wait(requests)
        stream.launch(add)
    stream.synchronize()  # the host waits here, and nowhere else
print("rank %d: %d" % (rank, mine[0]))
stream.destroy()
for request in requests:
    request.Free()
