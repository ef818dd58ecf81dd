/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranks 0 and 1 exchange a number ten times, and the host does not wait in between. */
#include <mpix_queue.h>
#include <stdio.h>

static void add(void *arg)
{
    int *number = arg; /* ours, and the one received */
    number[0] += number[1];
}

int main(int argc, char **argv)
{
    int rank, peer, number[2] = {0, 0};
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    MPI_Request req[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank < 2 ? 1 - rank : MPI_PROC_NULL;
    number[0] = rank + 1;
    MPI_Send_init(&number[0], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&number[1], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req); /* once: each request finds its partner */
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int i = 0; i < 10; i++) { /* only enqueues */
        MPIX_Enqueue_startall(queue, 2, req);
        MPIX_Enqueue_waitall(queue, 2, req);
        MPIX_Host_stream_launch(stream, add, number);
    }
    MPIX_Host_stream_synchronize(stream); /* the host waits here, and nowhere else */
    printf("rank %d: %d\n", rank, number[0]);
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    return MPI_Finalize();
}
