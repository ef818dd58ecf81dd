# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""Each rank puts a number to the next one, ten times, and the host does not wait in between."""
import mpix_queue  # before mpi4py.MPI
from mpi4py import MPI


def pass_on():
    numbers[0] = numbers[1] + 1  # what has come, and one more for the next


comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
window = mpix_queue.Window.allocate(16, comm)  # collective
numbers = window.memory.cast("q")
numbers[0] = rank
arrived, sent = mpix_queue.Signal(window, 1), mpix_queue.Signal(window, 1)
taken = mpix_queue.Signal(window, 1)
mine = mpix_queue.Block(window, 0, 8, sent)
blocks = comm.allgather(mpix_queue.Block(window, 8, 8, arrived))  # where others put to
told = comm.allgather(mpix_queue.Block(window, 0, 0, taken))  # that it may be overwritten
nothing = mpix_queue.Block(window, 0, 0)
stream = mpix_queue.HostStream()
with mpix_queue.Queue(stream) as queue:
    for step in range(10):  # only enqueues
        queue.put(mine, blocks[(rank + 1) % size])
        for signal in (sent, arrived):  # it has left, and that of the rank before is there
            queue.signal_wait_reset(signal)
        stream.launch(pass_on)
        queue.put(nothing, told[rank - 1])
        queue.signal_wait_reset(taken)
    stream.synchronize()  # the host waits here, and nowhere else
print("rank %d: %d" % (rank, numbers[0]))
numbers.release()
window.free()  # collective, with its signals
stream.destroy()
