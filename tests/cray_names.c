/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Beside an MPI library whose header declares MPIX_Queue and MPIX_Enqueue_ functions with another
 * meaning: the header compiles without its MPIX_ spellings, and in one program each name reaches
 * its own library. The declarations and definitions stand in for that library.
 */
#include <mpi.h>

typedef struct other_queue {
    MPI_Comm comm;
    void *stream;
    int started;
    int waited;
} * MPIX_Queue;

int MPIX_Create_queue(MPI_Comm comm, void *stream, MPIX_Queue *queue);
int MPIX_Free_queue(MPIX_Queue queue);
int MPIX_Enqueue_start(MPIX_Queue queue);
int MPIX_Enqueue_wait(MPIX_Queue queue);

#define MPIX_QUEUE_NO_ALIASES
#include "mpix_queue.h"

#include <stdio.h>
#include <stdlib.h>

int MPIX_Create_queue(MPI_Comm comm, void *stream, MPIX_Queue *queue)
{
    *queue = calloc(1, sizeof(**queue));
    if (*queue == NULL) {
        return MPI_ERR_NO_MEM;
    }
    (*queue)->comm = comm;
    (*queue)->stream = stream;
    return MPI_SUCCESS;
}

int MPIX_Free_queue(MPIX_Queue queue)
{
    free(queue);
    return MPI_SUCCESS;
}

int MPIX_Enqueue_start(MPIX_Queue queue)
{
    queue->started++;
    return MPI_SUCCESS;
}

int MPIX_Enqueue_wait(MPIX_Queue queue)
{
    queue->waited++;
    return MPI_SUCCESS;
}

static int wrong;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not true: %s\n", what);
        wrong = 1;
    }
}

/* With the default error handler every failure ends the program, so results need no check. */
static void use_ours(void)
{
    MPIXQ_Queue queue = MPIXQ_QUEUE_NULL;
    MPI_Request r[2];
    int in = 0;
    int out = 23;

    MPIXQ_Queue_init(&queue, MPIXQ_QUEUE_AUTO, NULL);
    MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]);
    MPI_Send_init(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]);
    MPIXQ_Matchall(2, r);
    MPIXQ_Enqueue_start(queue, &r[0]);
    MPIXQ_Enqueue_start(queue, &r[1]);
    MPIXQ_Enqueue_wait(queue, &r[0]);
    MPIXQ_Enqueue_waitall(queue, MPIXQ_ALL_STARTED, NULL);
    MPIXQ_Queue_wait(queue);
    expect(in == 23, "our queue moved the data");
    out = 24;
    MPIXQ_Enqueue_startwaitall(queue, 2, r);
    MPIXQ_Queue_wait(queue);
    expect(in == 24, "and by a start and a wait in one call");
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPIXQ_Queue_free(&queue);
}

int main(int argc, char **argv)
{
    MPIX_Queue other = NULL;
    int provided = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPIX_Create_queue(MPI_COMM_WORLD, NULL, &other);
    MPIX_Enqueue_start(other);
    use_ours();
    MPIX_Enqueue_start(other);
    MPIX_Enqueue_wait(other);
    expect(other->started == 2 && other->waited == 1, "the other library got its own calls");
    expect(other->comm == MPI_COMM_WORLD && other->stream == NULL, "and its arguments");
    MPIX_Free_queue(other);
    MPI_Finalize();
    return wrong;
}
