/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collectives whose buffers are in memory of a GPU, or only one of the two is, on a queue on a
 * stream of it: every element and the guards, several starts with new data. The host starts those
 * that GPUs move, which they do if MPIXQ_CHANNELS names ipc, and no others; what leaves gaps there
 * is refused on all ranks. Argument "graph": the same from a graph that is captured once and
 * replayed, and every other time by the queue; what was freed is not started by its graph. "fails",
 * with the watchdog: one rank does not replay what the others do, whose waits end with errors, as
 * does its own when it replays after all. */
#include "mtest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective_names.h"
#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { MOST = 30000, SHORT = 4, GUARD = 16, ROUNDS = 3, UNSET = -77 };

static void *stream;
static MPIX_Queue queue;
static bool by_graph, by_gpus, is_mixed;
static int ranks;

/* Integers in some memory, with guards on both sides, and what the host has of them. */
struct array {
    enum mtest_memory memory;
    int n;
    int *all, *copy; /* of the n and the guards; copy is the host's */
};

static size_t bytes_of(const struct array *a)
{
    return ((size_t)a->n + 2 * GUARD) * sizeof(int);
}

static int *data_of(const struct array *a)
{
    return a->all + GUARD;
}

static void make(struct array *a, enum mtest_memory memory, int n)
{
    *a = (struct array){.memory = memory, .n = n};
    a->copy = malloc(bytes_of(a));
    a->all = memory == MTEST_PAGEABLE ? malloc(bytes_of(a)) : mtest_gpu_alloc(memory, bytes_of(a));
    MTEST_CHECK(a->copy != NULL && a->all != NULL);
}

static void unmake(struct array *a)
{
    if (a->memory == MTEST_PAGEABLE) {
        free(a->all);
    } else {
        mtest_gpu_free(a->memory, a->all);
    }
    free(a->copy);
}

/* value(i), in the order of the stream if it is the GPU's; else now, when the stream is idle. */
static void fill(struct array *a, int (*value)(int i))
{
    for (int i = 0; i < a->n + 2 * GUARD; i++) {
        a->copy[i] = i < GUARD || i >= GUARD + a->n ? UNSET : value(i - GUARD);
    }
    if (a->memory == MTEST_PAGEABLE) {
        memcpy(a->all, a->copy, bytes_of(a));
    } else {
        mtest_gpu_copy(stream, a->all, a->copy, bytes_of(a));
    }
}

static void expect(int line, const char *name, struct array *a, int (*value)(int i))
{
    int wrong = 0;

    for (int i = 0; i < a->n + 2 * GUARD; i++) {
        int want = i < GUARD || i >= GUARD + a->n ? UNSET : value(i - GUARD);

        if (a->copy[i] != want && wrong++ < 3) {
            mtest_fail(__FILE__, line, "%s: element %d of %d is %d, expected %d", name, i - GUARD,
                       a->n, a->copy[i], want);
        }
    }
}

static void fetch(struct array *a)
{
    if (a->memory != MTEST_PAGEABLE) {
        mtest_gpu_copy(stream, a->copy, a->all, bytes_of(a));
    }
}

static void settle(struct array *a)
{
    if (a->memory == MTEST_PAGEABLE) {
        memcpy(a->copy, a->all, bytes_of(a));
    }
}

/* What a case sends and has to receive: functions of these. */
static int round_now, root, block;

static int own(int i)
{
    return 1000 * round_now + 17 * mtest_rank + i;
}

static int unset(int i)
{
    (void)i;
    return UNSET;
}

static int sum(int i)
{
    return ranks * (1000 * round_now + i) + 17 * (ranks * (ranks - 1) / 2);
}

static int of_root(int i)
{
    return 1000 * round_now + 17 * root + i;
}

static int own_or_unset(int i)
{
    return mtest_rank == root ? own(i) : UNSET;
}

static int gathered(int i)
{
    return 1000 * round_now + 17 * (i / block) + i % block;
}

static int own_block(int i)
{
    return i / block == mtest_rank ? gathered(i) : UNSET;
}

/* Of a ring: below and above; and each sends what is for below first. */
static int from_neighbors(int i)
{
    int other = (mtest_rank + (i < block ? ranks - 1 : 1)) % ranks;

    return 1000 * round_now + 17 * other + (i < block ? block + i : i - block);
}

static void enqueue(MPI_Request *r)
{
    static int calls; /* in turn by one call and by two */

    MTEST_OK(calls++ % 2 == 0 ? MPIX_Enqueue_startwaitall(queue, 1, r)
                              : MPIX_Enqueue_start(queue, r) || MPIX_Enqueue_wait(queue, r));
}

static void *capture(MPI_Request *r)
{
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    enqueue(r);
    return gpu_graph_end_executable(stream);
}

/* Of so many integers: they go in one round, and not in shares. */
static bool are_short(int n)
{
    const char *kib = getenv("MPIXQ_DIRECT_KIB");

    return (size_t)n * sizeof(int) <= (kib != NULL ? (size_t)atol(kib) * 1024 : 32 * 1024 - 1);
}

/* Long ones only if the variable is set, or there are GPUs; and without it they are broadcast. */
static bool do_gpus(const char *name, const struct array *out)
{
    bool is_set = getenv("MPIXQ_DIRECT_KIB") != NULL, reduces = strncmp(name, "allreduce", 9) == 0;
    bool is_real = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0;

    return by_gpus && (are_short(out->n) || (reduces ? (is_real || is_set) && out->n >= ranks
                                                     : !is_set || strcmp(name, "broadcast") != 0));
}

static void refill(struct array *in, int (*before)(int), struct array *out, int (*untouched)(int))
{
    if (in != out) {
        fill(in, before);
    }
    fill(out, untouched);
}

static void release(MPI_Request *r, void *graph)
{
    MTEST_OK(MPI_Request_free(r));
    if (graph != NULL) {
        gpu_graph_free_executable(graph);
    }
}

static void start_by_host(const char *name, MPI_Request *r, struct array *in, int (*before)(int),
                          struct array *out, int (*untouched)(int), int (*after)(int))
{
    if (!do_gpus(name, out)) {
        MTEST_KIND(MPI_Start(r), MPIXQ_ERR_UNSUPPORTED);
        return;
    }
    for (int i = 0; i < ROUNDS; i++, round_now++) {
        refill(in, before, out, untouched);
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPI_Start(r));
        MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
        fetch(out);
        mtest_gpu_synchronize(stream);
        expect(__LINE__, name, out, after);
        if (i == 1) { /* and the queue again */
            refill(in, before, out, untouched);
            enqueue(r);
            fetch(out);
            mtest_gpu_synchronize(stream);
            MTEST_OK(MPIX_Queue_wait(queue));
            expect(__LINE__, name, out, after);
        }
    }
}

static void run(const char *name, MPI_Request *r, struct array *in, int (*before)(int),
                struct array *out, int (*untouched)(int), int (*after)(int))
{
    void *graph;

    MTEST_OK(MPIX_Match(r));
    graph = by_graph ? capture(r) : NULL;
    for (round_now = 0; round_now < (by_graph ? 2 : 1) * ROUNDS; round_now++) {
        refill(in, before, out, untouched);
        if (graph != NULL && round_now % 3 != 2) {
            gpu_graph_launch(graph, stream);
        } else {
            enqueue(r);
        }
        fetch(out);
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        settle(out);
        expect(__LINE__, name, out, after);
    }
    if (in->memory == MTEST_DEVICE && out->memory == MTEST_DEVICE && !is_mixed) {
        start_by_host(name, r, in, before, out, untouched, after);
    }
    release(r, graph);
}

static void reduce(enum mtest_memory from, enum mtest_memory to, int n)
{
    struct array in, out;
    MPI_Request r;

    make(&in, from, n);
    make(&out, to, n);
    MTEST_OK(COLLECTIVE(Allreduce_init)(data_of(&in), data_of(&out), n, MPI_INT, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    run("allreduce", &r, &in, own, &out, unset, sum);
    MTEST_OK(COLLECTIVE(Allreduce_init)(MPI_IN_PLACE, data_of(&out), n, MPI_INT, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    run("allreduce in place", &r, &out, own, &out, own, sum);
    unmake(&in);
    unmake(&out);
}

static void broadcast(int n)
{
    struct array all;
    MPI_Request r;

    make(&all, MTEST_DEVICE, n);
    for (root = 0; root < ranks; root++) {
        MTEST_OK(COLLECTIVE(Bcast_init)(data_of(&all), n, MPI_INT, root, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &r));
        run("broadcast", &r, &all, own_or_unset, &all, own_or_unset, of_root);
    }
    unmake(&all);
}

static void gather(enum mtest_memory from, enum mtest_memory to, int n)
{
    struct array in, out;
    MPI_Request r;

    block = n;
    make(&in, from, n);
    make(&out, to, n * ranks);
    MTEST_OK(COLLECTIVE(Allgather_init)(data_of(&in), n, MPI_INT, data_of(&out), n, MPI_INT,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    run("allgather", &r, &in, own, &out, unset, gathered);
    MTEST_OK(COLLECTIVE(Allgather_init)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data_of(&out), n,
                                        MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    run("allgather in place", &r, &out, own_block, &out, own_block, gathered);
    unmake(&in);
    unmake(&out);
}

static void neighbors(enum mtest_memory from, enum mtest_memory to, int n)
{
    const int periodic = 1, counts[2] = {n, n}, places[2] = {0, n};
    struct array in, out;
    MPI_Request r;
    MPI_Comm ring;

    block = n;
    MTEST_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring));
    make(&in, from, 2 * n);
    make(&out, to, 2 * n);
    MTEST_OK(COLLECTIVE(Neighbor_alltoall_init)(data_of(&in), n, MPI_INT, data_of(&out), n, MPI_INT,
                                                ring, MPI_INFO_NULL, &r));
    run("neighbor alltoall", &r, &in, own, &out, unset, from_neighbors);
    MTEST_OK(COLLECTIVE(Neighbor_alltoallv_init)(data_of(&in), counts, places, MPI_INT,
                                                 data_of(&out), counts, places, MPI_INT, ring,
                                                 MPI_INFO_NULL, &r));
    run("neighbor alltoallv", &r, &in, own, &out, unset, from_neighbors);
    MTEST_OK(MPI_Comm_free(&ring));
    unmake(&in);
    unmake(&out);
}

/* A graph that waits twice for a start combines once. */
static void wait_twice(int n)
{
    struct array all;
    MPI_Request r;
    void *graph;

    make(&all, MTEST_DEVICE, n);
    MTEST_OK(COLLECTIVE(Allreduce_init)(MPI_IN_PLACE, data_of(&all), n, MPI_INT, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    enqueue(&r);
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    graph = gpu_graph_end_executable(stream);
    for (round_now = 0; round_now < ROUNDS; round_now++) {
        fill(&all, own);
        gpu_graph_launch(graph, stream);
        fetch(&all);
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        expect(__LINE__, "allreduce, waited for twice", &all, sum);
    }
    release(&r, graph);
    unmake(&all);
}

/* Integers that lie so many behind where their type says. */
static void displaced(void)
{
    enum { BEHIND = 4, EACH = 3 };
    const int length = 1;
    const MPI_Aint at = BEHIND * sizeof(int);
    MPI_Datatype hindexed, one;
    struct array in, out;
    MPI_Request r;

    block = EACH;
    make(&in, MTEST_DEVICE, EACH);
    make(&out, MTEST_DEVICE, EACH * ranks);
    MTEST_OK(MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &hindexed));
    MTEST_OK(MPI_Type_create_resized(hindexed, 0, sizeof(int), &one));
    MTEST_OK(MPI_Type_commit(&one));
    MTEST_OK(COLLECTIVE(Allgather_init)(data_of(&in) - BEHIND, EACH, one, data_of(&out) - BEHIND,
                                        EACH, one, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    run("allgather of a displaced type", &r, &in, own, &out, unset, gathered);
    MTEST_OK(MPI_Type_free(&hindexed));
    MTEST_OK(MPI_Type_free(&one));
    unmake(&in);
    unmake(&out);
}

/* Every other integer. */
static void refuse_gaps(void)
{
    struct array in, out;
    MPI_Datatype gaps;
    MPI_Request r;

    make(&in, MTEST_DEVICE, 8);
    make(&out, MTEST_DEVICE, 8);
    MTEST_OK(MPI_Type_vector(4, 1, 2, MPI_INT, &gaps));
    MTEST_OK(MPI_Type_commit(&gaps));
    MTEST_OK(COLLECTIVE(Allgather_init)(data_of(&in), 4, MPI_INT, data_of(&out), 1, gaps,
                                        MPI_COMM_SELF, MPI_INFO_NULL, &r));
    MTEST_KIND(MPIX_Match(&r), MPIXQ_ERR_UNSUPPORTED);
    MTEST_KIND(MPIX_Enqueue_start(queue, &r), MPIXQ_ERR_STATE);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Type_free(&gaps));
    unmake(&in);
    unmake(&out);
}

/* Rank 0 has its buffers in memory of the host, so nobody moves its messages but the host. */
static void mixed(int n)
{
    enum mtest_memory memory = mtest_rank == 0 ? MTEST_PAGEABLE : MTEST_DEVICE;
    struct array in, out;
    MPI_Request r;

    make(&in, memory, n);
    make(&out, memory, n);
    is_mixed = true;
    MTEST_OK(COLLECTIVE(Allreduce_init)(data_of(&in), data_of(&out), n, MPI_INT, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    run("allreduce of some", &r, &in, own, &out, unset, sum);
    is_mixed = false;
    unmake(&in);
    unmake(&out);
}

/* By the queue, and by the host, which also has its turn with what graphs start. */
static void barrier(void)
{
    MPI_Request r;
    void *graph;

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    graph = by_graph ? capture(&r) : NULL;
    for (int i = 0; i < ROUNDS; i++) {
        enqueue(&r);
        for (int k = 0; graph != NULL && k < 100; k++) {
            gpu_graph_launch(graph, stream);
        }
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
    release(&r, graph);
}

/* What the cases about errors start: a barrier, or a sum of so many integers of a GPU. */
static struct array sums[2];
static int n_sums;

static void init_sums(MPI_Request *r)
{
    if (n_sums == 0) {
        MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, r));
        return;
    }
    MTEST_OK(COLLECTIVE(Allreduce_init)(data_of(&sums[0]), data_of(&sums[1]), n_sums, MPI_INT,
                                        MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r));
}

/* A collective that is captured on a queue of its own, which then fails. */
struct doomed {
    void *stream, *graph;
    MPIX_Queue queue;
    MPI_Request r;
};

static void doomed_make(struct doomed *d, bool with_wait)
{
    *d = (struct doomed){.stream = mtest_gpu_stream(), .queue = MPIX_QUEUE_NULL};
    MTEST_OK(mtest_gpu_queue(&d->queue, MPIX_QUEUE_AUTO, &d->stream));
    init_sums(&d->r);
    MTEST_OK(MPIX_Match(&d->r));
    gpu_graph_begin(d->stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_start(d->queue, &d->r));
    MTEST_KIND(MPIX_Enqueue_start(d->queue, &d->r), MPIXQ_ERR_STATE);
    if (with_wait) {
        MTEST_OK(MPIX_Enqueue_wait(d->queue, &d->r));
    }
    d->graph = gpu_graph_end_executable(d->stream);
}

static int doomed_replay(struct doomed *d)
{
    gpu_graph_launch(d->graph, d->stream);
    mtest_gpu_synchronize(d->stream);
    return MPIX_Queue_wait(d->queue);
}

static void doomed_end(struct doomed *d)
{
    gpu_graph_free_executable(d->graph);
    MTEST_OK(MPIX_Queue_free(&d->queue));
    mtest_gpu_stream_end(d->stream);
}

/* One that was freed: its graph starts nothing, waits for nothing, and the queue says why. */
static void replay_freed(void)
{
    struct doomed d;

    doomed_make(&d, true);
    MTEST_OK(doomed_replay(&d));
    MTEST_OK(MPI_Request_free(&d.r));
    MTEST_KIND(doomed_replay(&d), MPIXQ_ERR_STATE);
    doomed_end(&d);
}

/* Rank 0 replays a start without a wait, and then once more: the others, who wait for that, hear of
 * it. */
static void replay_twice(void)
{
    struct doomed d;

    doomed_make(&d, mtest_rank != 0);
    MTEST_OK(doomed_replay(&d));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_CLASS(doomed_replay(&d), MTEST_ANY_CLASS);
    MTEST_OK(MPI_Request_free(&d.r));
    doomed_end(&d);
}

/* A start by the host while a graph's is under way is refused, and does that no harm. */
static void start_during_replay(void)
{
    void *graph;
    MPI_Request r;

    init_sums(&r);
    MTEST_OK(MPIX_Match(&r));
    graph = capture(&r);
    for (int i = 0; i < ROUNDS && ranks > 1; i++) {
        int flag = 1;

        if (mtest_rank == 0) {
            gpu_graph_launch(graph, stream);
            for (int looks = 0; flag && looks < 10000; looks++) { /* until the GPU has counted it */
                usleep(1000);
                MTEST_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
            }
            MTEST_EQ(flag, 0);
            MTEST_KIND(MPI_Start(&r), MPIXQ_ERR_STATE);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (mtest_rank != 0) {
            gpu_graph_launch(graph, stream);
        }
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
    }
    release(&r, graph);
}

/* A peer may have failed by now, and the start be refused for it. */
static void start_again(void *graph, MPI_Request *r)
{
    if (graph != NULL) {
        gpu_graph_launch(graph, stream);
    } else {
        mtest_forgive(MPIX_Enqueue_start(queue, r) != MPI_SUCCESS);
        mtest_forgive(MPIX_Enqueue_wait(queue, r) != MPI_SUCCESS);
    }
    mtest_gpu_synchronize(stream);
}

/* By a graph, or by the queue. */
static void fail(bool replays)
{
    void *graph = NULL;
    MPI_Request r;
    int last = mtest_rank == ranks - 1;

    init_sums(&r);
    MTEST_OK(MPIX_Match(&r));
    graph = replays ? capture(&r) : NULL;
    start_again(graph, &r);
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < 2; i++) {
        if (last == i) {
            start_again(graph, &r);
            if (last && n_sums <= SHORT) { /* what the others have sent is there already */
                mtest_forgive(MPIX_Queue_wait(queue) != MPI_SUCCESS);
            } else {
                MTEST_CLASS(MPIX_Queue_wait(queue), MTEST_ANY_CLASS);
            }
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    release(&r, graph);
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
}

/* The queue of rank 0 fails, as a message does not come, while its sum waits for the others: they
 * hear of it, the buffer is as it was, and the request has failed. */
static void other_fails(void)
{
    struct array all;
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int rc = round_now = 0;

    make(&all, MTEST_DEVICE, n_sums);
    fill(&all, own);
    mtest_gpu_synchronize(stream);
    MTEST_OK(COLLECTIVE(Allreduce_init)(MPI_IN_PLACE, data_of(&all), n_sums, MPI_INT, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Recv_init(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, &r[1]));
    } else if (mtest_rank == 1) {
        MTEST_OK(MPI_Send_init(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, &r[1]));
    }
    MTEST_OK(MPIX_Matchall(2, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        MTEST_CLASS(MPIX_Queue_wait(queue), MTEST_ANY_CLASS);
        MTEST_OK(MPIX_Queue_free(&queue));
        fetch(&all);
        mtest_gpu_synchronize(stream);
        expect(__LINE__, "allreduce whose queue has failed", &all, own);
        MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
        MTEST_CLASS(MPIX_Enqueue_start(queue, &r[0]), MTEST_ANY_CLASS);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; mtest_rank != 0 && i < 2; i++) { /* once what has come may be used */
        rc = MPIX_Enqueue_start(queue, &r[0]) || MPIX_Enqueue_wait(queue, &r[0]);
        mtest_gpu_synchronize(stream);
        rc = rc || MPIX_Queue_wait(queue);
        mtest_forgive(rc);
        MTEST_CHECK(i == 0 || rc);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < (mtest_rank < 2 ? 2 : 1); i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    unmake(&all);
}

/* With slots, if the channel has them, and without. */
static void fail_all(bool refuses)
{
    static const int counts[] = {0, SHORT, MOST / 2};

    for (int i = 0; i < (by_gpus ? 3 : 1); i++) {
        n_sums = counts[i];
        make(&sums[0], MTEST_DEVICE, n_sums);
        make(&sums[1], MTEST_DEVICE, n_sums);
        if (refuses) {
            replay_freed();
            if (are_short(n_sums)) { /* others send their shares when they wait */
                replay_twice();
            }
            start_during_replay();
        } else {
            fail(true);
            fail(false);
            if (n_sums > 0) {
                other_fails();
            }
        }
        unmake(&sums[0]);
        unmake(&sums[1]);
    }
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 5, 1000, MOST};
    const char *channels = getenv("MPIXQ_CHANNELS");

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    by_graph = argc > 1;
    by_gpus = channels != NULL && strstr(channels, "ipc") != NULL && ranks > 1;
    if (!HAVE_COLLECTIVES || mtest_gpu_kind() == NULL || (by_graph && !gpu_graph_open())) {
        mtest_skip("no persistent collectives in this MPI, no graphs, or no GPU in MTEST_STREAM");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    if (by_graph && strcmp(argv[1], "fails") == 0) {
        fail_all(false);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        reduce(MTEST_DEVICE, MTEST_DEVICE, counts[i]);
        reduce(MTEST_PAGEABLE, MTEST_DEVICE, counts[i]);
        reduce(MTEST_DEVICE, MTEST_PAGEABLE, counts[i]);
        reduce(MTEST_PINNED, MTEST_MANAGED, counts[i]);
        broadcast(counts[i]);
        gather(MTEST_DEVICE, MTEST_DEVICE, counts[i]);
        gather(MTEST_DEVICE, MTEST_PINNED, counts[i]);
        neighbors(MTEST_DEVICE, MTEST_DEVICE, counts[i]);
        neighbors(MTEST_PAGEABLE, MTEST_DEVICE, counts[i]);
        mixed(counts[i]);
    }
    barrier();
    displaced();
    if (by_graph) {
        wait_twice(SHORT);
        wait_twice(MOST / 2);
        fail_all(true);
    }
    refuse_gaps();
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
