/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What errors look like, on ranks 0 and 1: a call that is wrong, a match of two ends that do not
 * fit, and a communication that fails after it was enqueued. After each the program goes on. */
#include <mpix_queue.h>
#include <stdio.h>

static int rank;

/* Says what a call has returned. MPI's own handler would end the program. */
static void say(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, kind;

    MPI_Error_string(code, text, &length);
    MPIX_Error_kind(code, &kind); /* MPIXQ_ERR_NONE: the error is MPI's */
    printf("rank %d: %s: kind %d: %s\n", rank, call, kind, text);
}

static MPI_Request make(int *number, int count, int receiver)
{
    MPI_Request req;

    if (rank == receiver) {
        MPI_Recv_init(number, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &req);
    } else {
        MPI_Send_init(number, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &req);
    }
    return req;
}

/* A call that fails changes nothing: the queue and the request are as before. */
static void wrong_call(MPIX_Queue queue, MPI_Request *req)
{
    int code = MPIX_Enqueue_start(queue, req), kind;

    MPIX_Error_kind(code, &kind);
    if (kind == MPIXQ_ERR_STATE) { /* not matched yet */
        say("start without a match", code);
        MPIX_Match(req);
        code = MPIX_Enqueue_start(queue, req);
    }
    if (code == MPI_SUCCESS) {
        MPIX_Enqueue_wait(queue, req);
        say("start after it", MPIX_Queue_wait(queue));
    }
}

/* Both ends hear of it, and both requests are as if they had not been given to a match. */
static void wrong_match(void)
{
    int numbers[2] = {1, 2};
    MPI_Request req = make(numbers, rank == 0 ? 2 : 1, 1); /* two numbers for a buffer of one */

    say("match of a send of two and a receive of one", MPIX_Match(&req));
    MPI_Request_free(&req);
}

/* The call that enqueued it has returned long ago: the queue tells, and takes no more work. */
static void wrong_peer(void)
{
    MPIX_Queue queue;
    int number;
    MPI_Request req = make(&number, 1, 0);

    MPIX_Match(&req);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL);
    if (rank == 0) {
        MPIX_Enqueue_start(queue, &req);
        MPIX_Enqueue_wait(queue, &req);
        say("wait for a peer that has freed its end", MPIX_Queue_wait(queue));
    }
    MPI_Request_free(&req); /* rank 1 sends nothing */
    say("free of the queue", MPIX_Queue_free(&queue));
}

int main(int argc, char **argv)
{
    int number = 7, size;
    MPIX_Queue queue;
    MPI_Request req;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (size == 2) {
        number = rank == 0 ? 7 : 0;
        req = make(&number, 1, 1);
        MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL); /* on a stream of its own */
        wrong_call(queue, &req);
        printf("rank %d: %d\n", rank, number);
        MPIX_Queue_free(&queue);
        MPI_Request_free(&req);
        wrong_match();
        wrong_peer();
    }
    return MPI_Finalize();
}
