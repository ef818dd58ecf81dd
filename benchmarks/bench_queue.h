/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_queue.h - what the benchmarks enqueue on a stream, and how that is timed
 */
#ifndef MPIXQ_BENCH_QUEUE_H
#define MPIXQ_BENCH_QUEUE_H

#include <semaphore.h>

#include "bench.h"

#define BENCH_MAX_BATCH 40 /* iterations on a device */
#define BENCH_GRAPH 20     /* iterations in a graph; even, for the sets of buffers */

/* The stream modes are timed on the stream: from a first function on it, the gate, to a last one,
 * or on a device between events behind the gate. The gate holds the stream until everything is
 * enqueued, so that what is measured is the stream at work without the host; with --enqueue along
 * it holds nothing. A gate cannot hold more than the stream's depth, so a run is made of
 * batches. */
struct bench_queue {
    MPIX_Host_stream stream; /* unless it is that of the device */
    MPIX_Queue queue;
    MPI_Comm comm; /* for the gates, which start together on all ranks */
    bool along, each;
    bool captures; /* what is put on the stream does not run now */
    long depth;    /* operations that the stream holds */
    sem_t open;
    double began, ended;
    struct bench_counts own; /* of the modes of MPI, and of baselines; host: of all modes */
    bool ran[BENCH_NUM_MODES];
    /* What is enqueued is the same again after so many iterations; 0: each time. */
    long every;
    long position; /* iterations of the run before those that enqueue puts on the stream */
    struct bench_kept_graph *graphs; /* once made */
    int num_graphs;
};

/* Of so many iterations, from one on that is so far behind the last that was like the first. */
struct bench_kept_graph {
    enum bench_mode mode;
    long iterations, phase;
    void *graph;
};

/* Create stream and queue if a stream mode is wanted; otherwise both are null. */
void bench_queue_open(struct bench_queue *bq, const struct bench_options *opts);
void bench_queue_close(struct bench_queue *bq);
/* A queue on the stream of the device. */
int bench_queue_on_device(MPIX_Queue *queue_p);
/* By which channels the requests go that were enqueued on a queue. */
void bench_queue_name_channels(MPIX_Queue queue, char name[BENCH_CHANNEL_LEN]);
/* Run iterations of so many operations on the stream, in batches that it can hold, each but the
 * last of an even number, so that two sets of buffers take turns across them. enqueue puts a batch
 * on the stream, always the same for a mode. Gives the seconds that it took there. Collective. */
typedef void bench_enqueue(void *ctx, enum bench_mode mode, long iterations);
double bench_queue_run(struct bench_queue *bq, enum bench_mode mode, long iterations,
                       int operations, bench_enqueue *enqueue, void *ctx);
/* Until everything on the stream is done. */
void bench_queue_wait(struct bench_queue *bq);
/* The buffers change: what was kept of earlier runs is of no use. */
void bench_queue_renew(struct bench_queue *bq);
/* Behind each iteration of a stream mode, or graph: with --enqueue each, until it is done. */
void bench_queue_step(const struct bench_queue *bq);
/* Put work on the stream. */
void bench_queue_work(const struct bench_queue *bq, const struct bench_work *work, void *arg);
/* Behind calls that enqueue starts and waits, with the time before them. */
static inline void bench_calls_end(struct bench_queue *bq, double before)
{
    bq->own.host += MPI_Wtime() - before;
}
/* Do work in its place among the moves of a baseline: on the stream, or now. */
void bench_link_work(const struct bench_queue *bq, enum bench_mode mode,
                     const struct bench_work *work, void *arg);
/* By a mode so far. */
void bench_queue_counts(const struct bench_queue *bq, enum bench_mode mode,
                        struct bench_counts *counts);
void bench_queue_channel(const struct bench_queue *bq, enum bench_mode mode,
                         char name[BENCH_CHANNEL_LEN]);

/* ---- Kernels that exchange by themselves (bench_fused.c) ------------------------------------- */

struct mpixq_device_request;

/* Handles by which a kernel receives and sends messages of so many bytes element by element. Ends
 * the program if they have no slots. */
void bench_queue_handles(MPIX_Queue queue, enum bench_mode mode, size_t bytes, MPI_Request *recv,
                         MPI_Request *send, struct mpixq_device_request *in,
                         struct mpixq_device_request *out);

/* ---- Beside other work (bench_beside.c) ------------------------------------------------------ */

struct bench_beside {
    void (*begin)(void *ctx, enum bench_mode mode);
    bench_enqueue *enqueue;
    long (*errors)(void *ctx, enum bench_mode mode, long iterations);
    struct bench_queue *bq;
    void *ctx;
};

/* Print what a pending wait of each mode does to a product of matrices of this side, a multiple of
 * 4, on the same GPU. Needs a device and ranks in pairs. Collective. */
void bench_beside(struct bench_report *report, const struct bench_options *opts, size_t side,
                  const struct bench_beside *what);

#endif
