/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What collective_dies.sh runs: rank 1 kills itself while all others wait in a collective, for it
 * or for one another. Each of them writes what it got into a file, FILE.RANK, stays until all have
 * written, since a wait may not end just because those who have failed are gone, and leaves without
 * MPI_Finalize, which cannot end without rank 1.
 *
 *     collective_dies_probe KIND WAY HOW FILE
 *
 * KIND  barrier, small or large: the last two are sums; with MTEST_STREAM of numbers in memory of
 *       a GPU
 * WAY   host, queue: who starts and waits
 * HOW   before: rank 1 dies before it starts; loopN: in the midst of starts, sooner or later as N
 *       says
 */
#include "config.h"
#include "mtest.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpix_queue.h>

#include "apart.h"
#include "collective_names.h"
#include "mtest_gpu.h"

enum { LARGE = 100000, LARGE_OF_GPU = 10000, SMALL = 10 };

static int rank, size, out_of_host[LARGE], in_of_host[LARGE];
static int *out = out_of_host, *in = in_of_host, large = LARGE;
static FILE *file;
static MPIX_Queue queue;

static void say(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, kind = MPIXQ_ERR_NONE;

    MPI_Error_string(code, text, &length);
    MPIX_Error_kind(code, &kind);
    fprintf(file, "%s: kind %d: %s\n", what, kind, text);
}

static void *kill_later(void *how)
{
    usleep(1000 + 37000 * (unsigned)atoi(how));
    kill(getpid(), SIGKILL);
    return NULL;
}

static int run(MPI_Request *request, int by_queue)
{
    int rc;

    if (by_queue) {
        rc = MPIX_Enqueue_start(queue, request);
        rc = rc != MPI_SUCCESS ? rc : MPIX_Enqueue_wait(queue, request);
        return rc != MPI_SUCCESS ? rc : MPIX_Queue_wait(queue);
    }
    rc = MPI_Start(request);
    return rc != MPI_SUCCESS ? rc : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void use_gpu(void)
{
    mtest_rank = rank;
    apart_begin();
    if (mtest_gpu_kind() != NULL) {
        mtest_gpu_set_device(rank % mtest_gpu_devices());
        large = LARGE_OF_GPU;
        out = mtest_gpu_alloc(MTEST_DEVICE, LARGE_OF_GPU * sizeof *out);
        in = mtest_gpu_alloc(MTEST_DEVICE, LARGE_OF_GPU * sizeof *in);
    }
}

static void make(const char *kind, MPI_Request *request)
{
    if (strcmp(kind, "barrier") == 0) {
        COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, request);
    } else {
        COLLECTIVE(Allreduce_init)
        (out, in, strcmp(kind, "large") == 0 ? large : SMALL, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
         MPI_INFO_NULL, request);
    }
}

static void wait_for_all(const char *name)
{
    for (int i = 0; i < size; i++) {
        char other[300], line[400];
        int ended = i == 1;

        snprintf(other, sizeof other, "%s.%d", name, i);
        while (!ended) {
            FILE *f = fopen(other, "r");

            while (f != NULL && fgets(line, sizeof line, f) != NULL) {
                ended = ended || strncmp(line, "end:", 4) == 0;
            }
            if (f != NULL) {
                fclose(f);
            }
            usleep(20000);
        }
    }
}

static void live_on(MPI_Request *request, int by_queue)
{
    int rc;

    do {
        rc = run(request, by_queue);
    } while (rc == MPI_SUCCESS);
    say("failed", rc);
    say("again", run(request, by_queue));
    say("queue", MPIX_Queue_free(&queue));
    say("request", MPI_Request_free(request));
    fprintf(file, "end: 1\n");
}

int main(int argc, char *argv[])
{
    MPI_Request request;
    pthread_t killer;
    char name[300];
    int by_queue, level;

    /* MPICH's launcher tells of a process that has ended by the first, and then ends itself. */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) {
        return 2;
    }
    snprintf(name, sizeof name, "%s.%d", argv[4], rank);
    file = fopen(name, "w");
    if (file == NULL) {
        return 2;
    }
    setvbuf(file, NULL, _IOLBF, 0);
    fprintf(file, "pid: %ld\n", (long)getpid());
    by_queue = strcmp(argv[2], "queue") == 0;
    use_gpu();
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL);
    make(argv[1], &request);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    say("match", MPIX_Match(&request));
    say("once", run(&request, by_queue)); /* while all live */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strcmp(argv[3], "before") == 0) {
        kill(getpid(), SIGKILL);
    } else if (rank == 1) {
        pthread_create(&killer, NULL, kill_later, argv[3] + strlen("loop"));
    }
    live_on(&request, by_queue);
    if (rank != 1) {
        wait_for_all(argv[4]);
    }
    _exit(0);
}
