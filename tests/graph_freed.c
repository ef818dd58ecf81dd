/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests that are freed right after their replay, when the stream was synchronized and the graph
 * destroyed, before a thread of the library has seen that they were started. What takes the place
 * of a receive then waits for its own sender. And those that are freed beside a replay of another,
 * replayed before or not.
 * Two ranks, with MTEST_STREAM and MTEST_BUFFER.
 *
 *     graph_freed [lives]   so many requests, one after the other; 15 unless told otherwise
 *     graph_freed match     a match beside a replay
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, BYTES = 64, MOST = 100 };
enum {
    REST_US = 200000, /* after so long at rest the library looks at what graphs do every 10 ms */
    GONE_US = 500,    /* the GPU's library tells that a graph is gone */
    SEEN_US = 20000   /* both ends have heard that the request is freed */
};

/* Kept, so that each pair that follows has ends that were never used. */
static struct {
    struct mtest_buf back, there;
    MPI_Request r[2];
} next[MOST];

static struct gpu_lanes_side side;

static void init(struct mtest_buf *b, int from, int tag, MPI_Request *r)
{
    MTEST_OK(mtest_init(mtest_rank == from ? MTEST_SEND : MTEST_RECV, b, 1 - mtest_rank, tag,
                        MPI_COMM_WORLD, r));
}

static void make(struct mtest_buf *b, int from, int seed)
{
    mtest_buf_make(b, MPI_BYTE, BYTES);
    if (mtest_rank == from) {
        mtest_buf_fill(b, seed);
    } else {
        mtest_buf_clear(b);
    }
}

static void pause_together(useconds_t us)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    usleep(us);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void *capture(MPI_Request *r)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_start(side.queue, r));
    MTEST_OK(MPIX_Enqueue_wait(side.queue, r));
    return gpu_graph_end_executable(side.stream);
}

/* From rank 0 to rank 1, replayed once and freed. */
static void replay_and_free(int seed)
{
    struct mtest_buf b;
    MPI_Request r;
    void *executable;

    make(&b, 0, seed);
    init(&b, 0, TAG, &r);
    MTEST_OK(MPIX_Match(&r));
    executable = capture(&r);
    pause_together(REST_US);
    gpu_graph_launch(executable, side.stream);
    mtest_gpu_synchronize(side.stream);
    gpu_graph_free_executable(executable);
    usleep(GONE_US);
    MTEST_OK(MPI_Request_free(&r));
    if (mtest_rank == 1) {
        MTEST_FULL(&b, seed);
    }
    pause_together(SEEN_US);
    mtest_buf_free(&b);
}

/* The pair that comes first takes the words of the ends that were freed, and the receive of the
 * second one its slots. It is started while nothing was sent to it. */
static void take_its_place(int life, int seed)
{
    make(&next[life].back, 1, seed);
    make(&next[life].there, 0, seed + 1);
    init(&next[life].back, 1, TAG + 1 + 2 * life, &next[life].r[0]);
    init(&next[life].there, 0, TAG + 2 + 2 * life, &next[life].r[1]);
    MTEST_OK(MPIX_Matchall(2, next[life].r));
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Enqueue_start(side.queue, &next[life].r[1]));
        MTEST_OK(MPIX_Enqueue_wait(side.queue, &next[life].r[1]));
        usleep(SEEN_US);
        MTEST_UNTOUCHED(&next[life].there);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_start(side.queue, &next[life].r[1]));
        MTEST_OK(MPIX_Enqueue_wait(side.queue, &next[life].r[1]));
    }
    gpu_lanes_side_finish(&side);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_FULL(&next[life].there, seed + 1);
    }
}

static void transfer(struct mtest_buf *b, MPI_Request *r, int seed)
{
    MTEST_OK(MPIX_Enqueue_start(side.queue, r));
    MTEST_OK(MPIX_Enqueue_wait(side.queue, r));
    gpu_lanes_side_finish(&side);
    if (mtest_rank == 1) {
        MTEST_FULL(b, seed);
    }
}

/* A replay of rank 1 waits from now on. NULL on rank 0. */
static void *replay_one(MPI_Request *r)
{
    void *executable;

    if (mtest_rank == 0) {
        return NULL;
    }
    executable = capture(r);
    gpu_graph_launch(executable, side.stream);
    usleep(SEEN_US);
    return executable;
}

/* It ends, as the other rank sends now. */
static void end_replay(struct mtest_buf *b, MPI_Request *r, void *executable)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        transfer(b, r, 1);
    } else {
        gpu_lanes_side_finish(&side);
        MTEST_FULL(b, 1);
        gpu_graph_free_executable(executable);
    }
}

/* The first pair that can go by the channel ipc is matched while a replay waits for another one. A
 * kernel that tries that channel would wait, too, where all streams share a hardware queue. */
static void match_beside_replay(void)
{
    struct mtest_buf awaited, other;
    MPI_Request r[2];
    MPI_Info info;
    void *executable;

    make(&awaited, 0, 1);
    make(&other, 0, 2);
    init(&awaited, 0, TAG, &r[0]);
    init(&other, 0, TAG + 1, &r[1]);
    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "mpixq_channels", "fallback"));
    MTEST_OK(MPIX_Matchall_info(1, r, info));
    MTEST_OK(MPI_Info_free(&info));
    executable = replay_one(&r[0]);
    MTEST_OK(MPIX_Match(&r[1]));
    end_replay(&awaited, &r[0], executable);
    transfer(&other, &r[1], 2);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_buf_free(&awaited);
    mtest_buf_free(&other);
}

static void transfer_by_replay(struct mtest_buf *b, MPI_Request *r, int seed)
{
    void *executable = capture(r);

    gpu_graph_launch(executable, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_graph_free_executable(executable);
    if (mtest_rank == 1) {
        MTEST_FULL(b, seed);
    }
    usleep(SEEN_US); /* what destroys graphs has gone by then */
}

/* The message for which a replay of rank 1 waits is sent once that rank has freed other requests,
 * which lets go of memory of its peer, or of a doorbell that GPUs see: the GPU's library may wait
 * there for all that GPUs do. */
static void free_beside_replay(void)
{
    struct mtest_buf awaited, other[2];
    MPI_Request r[3];
    void *executable;

    make(&awaited, 0, 1);
    init(&awaited, 0, TAG, &r[0]);
    for (int i = 0; i < 2; i++) {
        make(&other[i], 0, 2 + i);
        init(&other[i], 0, TAG + 1 + i, &r[1 + i]);
    }
    MTEST_OK(MPIX_Matchall(3, r));
    transfer(&other[0], &r[1], 2);
    transfer_by_replay(&other[1], &r[2], 3);
    executable = replay_one(&r[0]);
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPI_Request_free(&r[2]));
    end_replay(&awaited, &r[0], executable);
    MTEST_OK(MPI_Request_free(&r[0]));
    mtest_buf_free(&awaited);
    mtest_buf_free(&other[0]);
    mtest_buf_free(&other[1]);
}

int main(int argc, char **argv)
{
    int lives = argc > 1 ? atoi(argv[1]) : 15;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    lives = lives < 1 || lives > MOST ? MOST : lives;
    gpu_lanes_side_make(&side);
    if (argc > 1 && strcmp(argv[1], "match") == 0) {
        match_beside_replay();
        gpu_lanes_side_free(&side);
        return mtest_end();
    }
    for (int i = 0; i < lives; i++) {
        replay_and_free(3 * i);
        take_its_place(i, 3 * i + 1);
    }
    free_beside_replay();
    for (int i = 0; i < lives; i++) {
        MTEST_OK(MPI_Request_free(&next[i].r[0]));
        MTEST_OK(MPI_Request_free(&next[i].r[1]));
        mtest_buf_free(&next[i].back);
        mtest_buf_free(&next[i].there);
    }
    gpu_lanes_side_free(&side);
    return mtest_end();
}
