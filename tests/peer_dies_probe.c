/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What peer_dies.sh runs: rank 1 kills itself while rank 0 waits for it. Rank 0 writes what it got
 * into a file and leaves without MPI_Finalize, which cannot end without rank 1.
 *
 *     peer_dies_probe HOW FILE
 *
 * HOW  receive, send: a start on a queue waits; host: MPI_Wait does; match: a second match
 *
 * The queue is on a stream of a GPU if MTEST_STREAM says so (mtest_gpu.h).
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpix_queue.h>

/* More than MPI takes into buffers of its own. */
enum { TAG = 7, BYTES = 8 << 20 };

static int rank, drained;
static char *buffer;
static FILE *file;

static void say(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, kind = MPIXQ_ERR_NONE;

    MPI_Error_string(code, text, &length);
    MPIX_Error_kind(code, &kind);
    fprintf(file, "%s: kind %d: %s\n", what, kind, text);
}

/* Receives at rank 0, or sends. */
static void make(int sends, int tag, MPI_Request *request)
{
    if (sends == (rank == 0)) {
        MPI_Send_init(buffer, BYTES, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, request);
    } else {
        MPI_Recv_init(buffer, BYTES, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, request);
    }
}

static void die(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        kill(getpid(), SIGKILL);
    }
}

static void drain(void *arg)
{
    *(int *)arg = 1;
}

static void wait_on_queue(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request *request)
{
    int flag = 0;

    die();
    say("start", MPIX_Enqueue_start(queue, request));
    say("wait", MPIX_Enqueue_wait(queue, request));
    say("queue", MPIX_Queue_wait(queue));
    say("again", MPIX_Enqueue_start(queue, request));
    say("test", MPIX_Queue_test(queue, &flag));
    /* What is behind on the stream runs. */
    say("launch", MPIX_Host_stream_launch(stream, drain, &drained));
    say("synchronize", MPIX_Host_stream_synchronize(stream));
    fprintf(file, "drained: %d\n", drained);
    say("free", MPIX_Queue_free(&queue));
    say("stream", MPIX_Host_stream_destroy(&stream));
    say("request", MPI_Request_free(request));
}

static void wait_by_host(MPI_Request *request)
{
    die();
    say("start", MPI_Start(request));
    say("host", MPI_Wait(request, MPI_STATUS_IGNORE));
    say("request", MPI_Request_free(request));
}

static void match_again(void)
{
    MPI_Request request;

    die();
    make(1, TAG + 1, &request);
    say("match", MPIX_Match(&request));
    say("request", MPI_Request_free(&request));
}

int main(int argc, char *argv[])
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue;
    MPI_Request request;
    char channels[64] = "";
    MPI_Info info;
    int flag;

    /* MPICH's launcher tells of a process that has ended by the first, and then ends itself. */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    buffer = calloc(1, BYTES);
    file = argc == 3 && rank == 0 ? fopen(argv[2], "w") : stderr;
    if (argc != 3 || buffer == NULL || file == NULL) {
        return 2;
    }
    setvbuf(file, NULL, _IOLBF, 0);
    fprintf(file, "pid: %ld\n", (long)getpid());
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    make(strcmp(argv[1], "receive") != 0, TAG, &request);
    MPIX_Match(&request);
    /* Once while both live. */
    MPIX_Enqueue_start(queue, &request);
    MPIX_Enqueue_wait(queue, &request);
    MPIX_Queue_wait(queue);
    MPIX_Queue_get_info(queue, &info);
    MPI_Info_get(info, "mpixq_channels", sizeof channels - 1, channels, &flag);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(argv[1], "host") == 0) {
        wait_by_host(&request);
    } else if (strcmp(argv[1], "match") == 0) {
        match_again();
    } else {
        wait_on_queue(queue, stream, &request);
    }
    fprintf(file, "channel: %s\n", channels);
    fclose(file);
    _exit(0);
}
