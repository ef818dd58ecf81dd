/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A program that resets its device between its queues (cudaDeviceReset, hipDeviceReset). What it
 * makes afterwards works as it did before, however often, and nothing is left behind of what was
 * there; so do requests with buffers in memory of the host, which it has kept. What was there and
 * is used afterwards is an error: requests with buffers on the device, at both ends, and queues.
 * With the argument "freed", only what has freed its requests in time.
 */
#include <dirent.h>
#include <mpix_queue_partitions.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_pair.h"

enum { TAG = 40, RESETS = 20, WARM = 5, KEPT = 5, BYTES = 3000, LARGE = 150000, ROUNDS = 2 };
enum {
    GROWTH = 8 << 20
}; /* bytes that a process may grow by from WARM on: a block of each is more */

static int peer;

struct place {
    void *stream;
    MPIX_Queue queue;
};

static struct place place_make(void *stream)
{
    struct place place = {.stream = stream, .queue = MPIX_QUEUE_NULL};

    MTEST_OK(mtest_gpu_queue(&place.queue, MPIX_QUEUE_AUTO, &place.stream));
    return place;
}

static void place_end(struct place *place)
{
    MTEST_OK(MPIX_Queue_free(&place->queue));
    mtest_gpu_stream_end(place->stream);
}

/* Two ways of one pair, with buffers that the host sees. */
struct host_pair {
    unsigned char out[BYTES], in[BYTES];
    MPI_Request r[2];
};

static void host_make(struct host_pair *p, int tag)
{
    MTEST_OK(MPI_Recv_init(p->in, BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &p->r[0]));
    MTEST_OK(MPI_Send_init(p->out, BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &p->r[1]));
}

static void host_exchange(struct host_pair *p, MPIX_Queue queue, int round, const char *what)
{
    size_t wrong = 0;

    for (size_t i = 0; i < BYTES; i++) {
        p->out[i] = mtest_pattern(round + 100 * mtest_rank, i);
        p->in[i] = (unsigned char)~mtest_pattern(round + 100 * peer, i);
    }
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, p->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, p->r));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (size_t i = 0; i < BYTES; i++) {
        wrong += p->in[i] != mtest_pattern(round + 100 * peer, i);
    }
    if (wrong != 0) {
        mtest_fail(__FILE__, __LINE__, "%s: round %d: %zu of %d bytes are wrong", what, round,
                   wrong, BYTES);
    }
}

static void host_free(struct host_pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
}

static void exchange_all(struct gpu_pair *p, const struct place *place, const char *what)
{
    for (size_t round = 0; round < p->rounds; round++) {
        gpu_pair_exchange(p, place->queue, place->stream, round);
    }
    MTEST_OK(MPIX_Queue_wait(place->queue));
    mtest_gpu_synchronize(place->stream);
    gpu_pair_check(p, p->rounds, what);
}

/* What of a process could grow. */
struct held {
    long bytes, files, live; /* live: blocks of the double; 0 elsewhere */
};

static struct held held(void)
{
    int (*live)(void) = NULL;
    struct held now = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    DIR *folder = opendir("/proc/self/fd");

    *(void **)&live = mtest_gpu_symbol("hip_double_live");
    MTEST_CHECK(file != NULL && fscanf(file, "%*d %ld", &now.bytes) == 1);
    now.bytes *= 4096;
    while (folder != NULL && readdir(folder) != NULL) {
        now.files++;
    }
    now.live = live != NULL ? live() : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return now;
}

/* All is freed before each reset. */
static void one_life(enum mtest_memory memory, size_t bytes, int round, struct held *held_p)
{
    struct place place = place_make(mtest_gpu_stream());
    struct gpu_pair small, large;
    struct host_pair host;

    gpu_pair_make(&small, memory, bytes, peer, TAG, ROUNDS);
    gpu_pair_make(&large, memory, LARGE, peer, TAG + 1, ROUNDS);
    host_make(&host, TAG + 2);
    MTEST_OK(MPIX_Matchall(2, small.r));
    MTEST_OK(MPIX_Matchall(2, large.r));
    MTEST_OK(MPIX_Matchall(2, host.r));
    exchange_all(&small, &place, "small");
    exchange_all(&large, &place, "large");
    host_exchange(&host, place.queue, round, "new requests");
    *held_p = held();
    gpu_pair_free(&small);
    gpu_pair_free(&large);
    host_free(&host);
    place_end(&place);
}

/* Sanitizers keep what was freed. */
static void check_bytes(long before, long now)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (now - before > GROWTH) {
        mtest_fail(__FILE__, __LINE__, "%ld bytes are held, and %ld were", now, before);
    }
#else
    (void)before;
    (void)now;
#endif
}

/* The ranks reset when they come to it, or one after the other. */
static void test_freed(void)
{
    struct held at_first = {0}, now = {0};
    long live = 0;

    for (int i = 0; i < RESETS; i++) {
        one_life(MTEST_DEVICE, BYTES, i, &now);
        at_first = i == WARM ? now : at_first;
        live = i == 0 ? now.live : live;
        if (i % 2 == 0) {
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        }
        mtest_gpu_reset();
    }
    /* A channel may have more words while the peer has not freed its ends yet. */
    MTEST_CHECK(now.live - live < RESETS * 3 / 4);
    MTEST_CHECK(now.files <= at_first.files);
    check_bytes(at_first.bytes, now.bytes);
}

static void test_kept(void)
{
    struct host_pair host;

    host_make(&host, TAG);
    MTEST_OK(MPIX_Matchall(2, host.r));
    for (int i = 0; i < KEPT; i++) {
        struct place place = place_make(mtest_gpu_stream());

        host_exchange(&host, place.queue, 2 * i, "kept requests");
        host_exchange(&host, place.queue, 2 * i + 1, "kept requests, again");
        place_end(&place);
        if (i % 2 == 0 || mtest_rank == 0) {
            mtest_gpu_reset();
        }
    }
    MTEST_OK(MPI_Startall(2, host.r));
    MTEST_OK(MPI_Waitall(2, host.r, MPI_STATUSES_IGNORE));
    host_free(&host);
}

/* A pair whose buffers are gone with the device. */
static void lost_free(struct gpu_pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
    free(p->moves);
}

/* Requests with buffers on the device are kept; this rank resets it, or only the peer does. Who has
 * not reset may see it at the start or later, and has its memory still. */
static void test_lost(bool both)
{
    struct place place = place_make(mtest_gpu_stream());
    bool resets = both || mtest_rank == 0;
    struct gpu_pair p;

    gpu_pair_make(&p, MTEST_DEVICE, BYTES, peer, TAG, 1);
    MTEST_OK(MPIX_Matchall(2, p.r));
    exchange_all(&p, &place, "before it is lost");
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the failure would overtake what is under way */
    if (resets) {
        place_end(&place);
        mtest_gpu_reset();
        place = place_make(mtest_gpu_stream());
        MTEST_KIND_TEXT(MPIX_Enqueue_start(place.queue, &p.r[0]), MPIXQ_ERR_COMM, "reset");
        MTEST_KIND_TEXT(MPIX_Enqueue_startall(place.queue, 1, &p.r[1]), MPIXQ_ERR_COMM, "reset");
        MTEST_KIND_TEXT(MPI_Start(&p.r[0]), MPIXQ_ERR_COMM, "reset");
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (!both && mtest_rank == 0) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (!resets) {
        struct mtest_errors before = mtest_errors();
        int rc = MPIX_Enqueue_startall(place.queue, 2, p.r);

        rc = rc == MPI_SUCCESS ? MPIX_Enqueue_waitall(place.queue, 2, p.r) : rc;
        rc = rc == MPI_SUCCESS ? MPIX_Queue_wait(place.queue) : rc;
        mtest_kind(__FILE__, __LINE__, "starts of a pair that is lost", rc, MPIXQ_ERR_COMM, NULL,
                   before);
        place_end(&place);
        gpu_pair_free(&p);
        place = place_make(mtest_gpu_stream());
    } else {
        lost_free(&p);
    }
    gpu_pair_make(&p, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    exchange_all(&p, &place, "after others were lost");
    gpu_pair_free(&p);
    place_end(&place);
}

/* A partitioned request, which only the host starts, and only where GPUs move its data. */
static void test_lost_parts(void)
{
    enum { PARTITIONS = 3, OF_EACH = BYTES / PARTITIONS };
    unsigned char *in = mtest_gpu_alloc(MTEST_DEVICE, BYTES);
    unsigned char *out = mtest_gpu_alloc(MTEST_DEVICE, BYTES);
    struct place place;
    MPI_Request r[2];

    MTEST_OK(MPIX_Precv_init(in, PARTITIONS, OF_EACH, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &r[0]));
    MTEST_OK(MPIX_Psend_init(out, PARTITIONS, OF_EACH, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Startall(2, r));
    MTEST_OK(MPIX_Pready_range(0, PARTITIONS - 1, r[1]));
    MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_gpu_reset();
    place = place_make(mtest_gpu_stream());
    MTEST_KIND_TEXT(MPI_Start(&r[0]), MPIXQ_ERR_COMM, "reset");
    MTEST_KIND_TEXT(MPI_Start(&r[1]), MPIXQ_ERR_COMM, "reset");
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    place_end(&place);
}

/* A queue that was there is an error, also while nobody has made another one since; and can be
 * freed. By the default stream, whose handle is as good as before, and by one that is gone: to a
 * driver of CUDA that may be any address. */
static void test_queue(void *stream, bool other_first)
{
    struct place old = place_make(stream), place = {0};
    struct host_pair host;

    host_make(&host, TAG);
    MTEST_OK(MPIX_Matchall(2, host.r));
    host_exchange(&host, old.queue, 0, "before");
    mtest_gpu_reset();
    if (other_first) {
        place = place_make(mtest_gpu_stream());
    }
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(old.queue, 2, host.r), MPIXQ_ERR_COMM, "reset");
    MTEST_KIND_TEXT(MPIX_Queue_wait(old.queue), MPIXQ_ERR_COMM, "reset");
    MTEST_OK(MPIX_Queue_free(&old.queue));
    if (!other_first) {
        place = place_make(mtest_gpu_stream());
    }
    host_free(&host);
    host_make(&host, TAG + 1);
    MTEST_OK(MPIX_Matchall(2, host.r));
    host_exchange(&host, place.queue, 1, "after a queue that was there");
    host_free(&host);
    place_end(&place);
}

/* They do on the channel ipc, which needs kernels. */
static bool gpus_move(void)
{
    const char *channels = getenv("MPIXQ_CHANNELS"), *ops = getenv("MPIXQ_GPU_OPS");

    return channels != NULL && strstr(channels, "ipc") != NULL &&
           (ops == NULL || strcmp(ops, "values") != 0);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("no GPU is asked for (MTEST_STREAM), or these are not two ranks");
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    test_freed();
    test_kept();
    if (argc < 2 || strcmp(argv[1], "freed") != 0) {
        test_lost(true);
        test_lost(false);
        if (gpus_move()) {
            test_lost_parts();
        }
        test_queue(NULL, false);
        test_queue(NULL, true);
        if (strcmp(mtest_gpu_kind(), "hipStream_t") == 0) {
            test_queue(mtest_gpu_stream(), false);
            test_queue(mtest_gpu_stream(), true);
        }
    }
    mtest_gpu_reset(); /* as programs do at their end: nothing is freed twice by MPI_Finalize */
    return mtest_end();
}
