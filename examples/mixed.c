/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The same requests started by the host and by streams, in a ring of ranks: the host sets up and
 * finishes, and in between a stream works by itself. An end does not know how the other starts. */
#include <mpix_queue.h>
#include <stdio.h>

enum { STEPS = 10 };

static void pass_on(void *arg)
{
    int *number = arg; /* what goes out, and what has come in */

    number[0] = number[1] + 1;
}

static void by_host(MPI_Request req[2], int number[2])
{
    MPI_Startall(2, req);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    pass_on(number);
}

static void by_stream(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request req[2], int number[2])
{
    MPIX_Enqueue_startall(queue, 2, req);
    MPIX_Enqueue_waitall(queue, 2, req);
    MPIX_Host_stream_launch(stream, pass_on, number);
}

int main(int argc, char **argv)
{
    int rank, size, number[2] = {0, 0};
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    MPI_Request req[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Send_init(&number[0], 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&number[1], 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req);
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);

    by_host(req, number); /* all ranks */
    for (int i = 0; i < STEPS; i++) {
        if (rank % 2 == 0) { /* these wait in every step */
            by_host(req, number);
        } else { /* and these only enqueue */
            by_stream(queue, stream, req, number);
        }
    }
    MPIX_Queue_wait(queue); /* until the host may start them again */
    MPIX_Host_stream_synchronize(stream);
    by_host(req, number);
    printf("rank %d: %d\n", rank, number[0]);

    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    MPI_Finalize();
    return number[0] != STEPS + 2;
}
