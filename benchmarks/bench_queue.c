/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_queue.c - the queue of the stream modes, and what the library counted on it
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

static void get_value(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int flag;

    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
    if (!flag) {
        fprintf(stderr, "benchmark: MPIX_Queue_get_info does not tell %s\n", key);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
}

static double get_count(MPI_Info info, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];

    get_value(info, key, value);
    return strtod(value, NULL);
}

static long read_depth(const struct bench_queue *bq)
{
    MPI_Info info;
    double depth;

    MPIX_Queue_get_info(bq->queue, &info);
    depth = get_count(info, "mpixq_stream_depth");
    MPI_Info_free(&info);
    return (long)depth;
}

/* A launch on a device waits when so many operations are queued, and nobody tells how many; then
 * the gate would never be opened. Of an iteration there are that many: two kernels of the
 * benchmark, and what a start and a wait of any number of requests take, with copies. */
enum { DEVICE_DEPTH = 256, DEVICE_OPERATIONS = 6 };

static void open_on_device(struct bench_queue *bq)
{
    void *stream = bench_device_stream();
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", bench_device_kind());
    MPIX_Queue_init_info(&bq->queue, MPIX_QUEUE_AUTO, &stream, info);
    MPI_Info_free(&info);
}

static void open_on_host(struct bench_queue *bq)
{
    MPIX_Host_stream_create(&bq->stream);
    MPIX_Queue_init(&bq->queue, MPIX_QUEUE_AUTO, &bq->stream);
}

void bench_queue_open(struct bench_queue *bq, const struct bench_options *opts)
{
    *bq = (struct bench_queue){.stream = MPIX_HOST_STREAM_NULL, .queue = MPIX_QUEUE_NULL};
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && bench_mode_is_stream((enum bench_mode)mode)) {
            (bench_on_device() ? open_on_device : open_on_host)(bq);
            MPI_Comm_dup(MPI_COMM_WORLD, &bq->comm);
            bq->along = opts->along;
            bq->depth = read_depth(bq);
            sem_init(&bq->open, 0, 0);
            return;
        }
    }
}

void bench_queue_close(struct bench_queue *bq)
{
    if (bq->queue != MPIX_QUEUE_NULL) {
        MPIX_Queue_free(&bq->queue);
        if (bq->stream != MPIX_HOST_STREAM_NULL) {
            MPIX_Host_stream_destroy(&bq->stream);
        }
        MPI_Comm_free(&bq->comm);
        sem_destroy(&bq->open);
    }
}

long bench_queue_batch(struct bench_queue *bq, int operations)
{
    /* Room for the gate, the end, and what an app does once per batch. */
    long iterations = (bq->depth - 8) / operations / 2 * 2;
    long on_device = (DEVICE_DEPTH - 8) / DEVICE_OPERATIONS / 2 * 2;

    if (bench_on_device() && iterations > on_device) {
        iterations = on_device;
    }
    if (iterations >= 2) {
        return iterations;
    }
    bq->along = true; /* nothing can be enqueued ahead on a stream this short */
    return 2;
}

/* Runs on the stream. It sleeps until the host has enqueued everything, then meets the other
 * ranks. */
static void gate(void *arg)
{
    struct bench_queue *bq = arg;

    while (sem_wait(&bq->open) != 0) {
    }
    MPI_Barrier(bq->comm);
    bq->began = MPI_Wtime();
}

static void end(void *arg)
{
    struct bench_queue *bq = arg;

    bq->ended = MPI_Wtime();
}

void bench_queue_work(const struct bench_queue *bq, const struct bench_work *work, void *arg)
{
    if (bench_on_device()) {
        work->launch(arg);
    } else {
        MPIX_Host_stream_launch(bq->stream, work->call, arg);
    }
}

static void launch(const struct bench_queue *bq, void (*fn)(void *), void *arg)
{
    if (bench_on_device()) {
        bench_device_call(fn, arg);
    } else {
        MPIX_Host_stream_launch(bq->stream, fn, arg);
    }
}

void bench_queue_hold(struct bench_queue *bq)
{
    launch(bq, gate, bq);
    if (bq->along) {
        sem_post(&bq->open);
    }
}

double bench_queue_release(struct bench_queue *bq)
{
    launch(bq, end, bq);
    if (!bq->along) {
        sem_post(&bq->open);
    }
    if (bench_on_device()) {
        bench_device_synchronize();
    } else {
        MPIX_Host_stream_synchronize(bq->stream);
    }
    MPIX_Queue_wait(bq->queue); /* tells whether all went well */
    return bq->ended - bq->began;
}

void bench_queue_counts(const struct bench_queue *bq, struct bench_counts *counts)
{
    MPI_Info info;

    MPIX_Queue_get_info(bq->queue, &info);
    counts->starts = get_count(info, "mpixq_starts");
    counts->waits = get_count(info, "mpixq_waits");
    counts->launches = get_count(info, "mpixq_launches");
    counts->posts = get_count(info, "mpixq_posts");
    counts->rings = get_count(info, "mpixq_rings");
    MPI_Info_free(&info);
}

/* The column names one channel. Messages to the own rank are not what is measured, so "self" gives
 * way to another; several others are joined by '+', since a comma would end the column. */
void bench_queue_channel(const struct bench_queue *bq, char name[BENCH_CHANNEL_LEN])
{
    char value[MPI_MAX_INFO_VAL + 1], *save = NULL;
    MPI_Info info;

    MPIX_Queue_get_info(bq->queue, &info);
    get_value(info, "mpixq_channels", value);
    MPI_Info_free(&info);
    name[0] = '\0';
    for (char *part = strtok_r(value, ", ", &save); part != NULL;
         part = strtok_r(NULL, ", ", &save)) {
        size_t used = strlen(name);

        if (strcmp(part, "self") != 0) {
            snprintf(name + used, BENCH_CHANNEL_LEN - used, "%s%s", used == 0 ? "" : "+", part);
        }
    }
    if (name[0] == '\0') {
        snprintf(name, BENCH_CHANNEL_LEN, "self");
    }
}
