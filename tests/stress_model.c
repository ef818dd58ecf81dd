/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Random programs against a model. The ranks draw the same pairs and, for every round, the same
 * subset of pairs to run; each rank draws by itself on which queues, in which order, in which
 * portions, when it waits and what it polls. Before a send a function on the stream writes what the
 * model says, after a receive one checks it. Within a round a rank enqueues all its starts before
 * its waits, so no program waits for a start that comes later.
 * Arguments: first seed, number of seeds, rounds per seed. MTEST_BUFFER says where the data is,
 * which the host has to access.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>

#include "mtest_gpu.h"

enum { PAIRS = 14, QUEUES = 4, STREAMS = 3, MAX_ENDS = 2 * PAIRS, TAGS = 3 };

struct pair {
    int source;
    int dest;
    int tag;
    int ints;
    enum mtest_mode mode;
};

/* One end of a pair in this process. */
struct end {
    struct pair *pair;
    int is_send;
    int *data;
    MPI_Request request;
    int queue;    /* where it is started until the next full stop; -1: not yet drawn */
    int started;  /* started without a wait */
    int done;     /* iterations the stream has filled or checked; stream's thread only */
    int enqueued; /* iterations enqueued */
};

struct world {
    MPIX_Host_stream stream[STREAMS];
    MPIX_Queue queue[QUEUES];
    struct pair pairs[PAIRS];
    struct end ends[MAX_ENDS];
    int count;
    int seed;
};

static int stream_of(int queue)
{
    return queue % STREAMS;
}

static int value(const struct end *e, int iteration, int i)
{
    return e->pair->source * 10000000 + e->pair->tag * 1000000 + iteration * 1000 + i % 997;
}

static void fill(void *arg)
{
    struct end *e = arg;

    for (int i = 0; i < e->pair->ints; i++) {
        e->data[i] = value(e, e->done, i);
    }
    e->done++;
}

static void check(void *arg)
{
    struct end *e = arg;
    int wrong = 0;

    for (int i = 0; i < e->pair->ints; i++) {
        wrong += e->data[i] != value(e, e->done, i);
        e->data[i] = -1;
    }
    wrong += e->data[e->pair->ints] != -7;
    if (wrong > 0) {
        mtest_fail(__FILE__, __LINE__, "iteration %d of %d->%d tag %d (%s, %d ints): %d wrong",
                   e->done, e->pair->source, e->pair->dest, e->pair->tag,
                   mtest_mode_name(e->pair->mode), e->pair->ints, wrong);
    }
    e->done++;
}

/* Large synchronous and standard messages, small buffered ones. */
static void draw_pairs(struct world *w, unsigned long long *common)
{
    static const int sizes[] = {0, 1, 3, 100, 5000, 40000};

    for (int p = 0; p < PAIRS; p++) {
        enum mtest_mode mode = (enum mtest_mode)(mtest_random(common) % 3);
        unsigned size = mtest_random(common) % (mode == MTEST_BSEND ? 4 : 6);

        w->pairs[p] = (struct pair){
            .source = (int)(mtest_random(common) % (unsigned)mtest_size),
            .dest = (int)(mtest_random(common) % (unsigned)mtest_size),
            .tag = (int)(mtest_random(common) % TAGS),
            .ints = sizes[size],
            .mode = mode,
        };
    }
}

static void add_end(struct world *w, struct pair *pair, int is_send)
{
    struct end *e = &w->ends[w->count++];

    *e = (struct end){.pair = pair, .is_send = is_send, .queue = -1};
    e->data = mtest_gpu_alloc(mtest_gpu_memory(), sizeof(int) * ((size_t)pair->ints + 1));
    for (int i = 0; i < pair->ints; i++) {
        e->data[i] = -1;
    }
    e->data[pair->ints] = -7;
    MTEST_OK(mtest_init_raw(is_send ? pair->mode : MTEST_RECV, e->data, pair->ints, MPI_INT,
                            is_send ? pair->dest : pair->source, pair->tag, MPI_COMM_WORLD,
                            &e->request));
}

/* Pairs of equal envelope are begun in the order of the list on both sides. */
static void make_ends(struct world *w)
{
    MPI_Request all[MAX_ENDS];

    w->count = 0;
    for (int p = 0; p < PAIRS; p++) {
        if (w->pairs[p].source == mtest_rank) {
            add_end(w, &w->pairs[p], 1);
        }
        if (w->pairs[p].dest == mtest_rank) {
            add_end(w, &w->pairs[p], 0);
        }
    }
    for (int i = 0; i < w->count; i++) {
        all[i] = w->ends[i].request;
    }
    MTEST_OK(MPIX_Matchall(w->count, all));
}

static void free_ends(struct world *w)
{
    for (int i = 0; i < w->count; i++) {
        struct end *e = &w->ends[i];

        MTEST_EQ(e->done, e->enqueued);
        MTEST_OK(MPI_Request_free(&e->request));
        mtest_gpu_free(mtest_gpu_memory(), e->data);
    }
}

static void wait_for(struct world *w, struct end *e)
{
    if (e->started) {
        MTEST_OK(MPIX_Enqueue_wait(w->queue[e->queue], &e->request));
        e->started = 0;
        if (!e->is_send) {
            MTEST_OK(MPIX_Host_stream_launch(w->stream[stream_of(e->queue)], check, e));
        }
    }
}

static void start(struct world *w, struct end *e, unsigned long long *own)
{
    wait_for(w, e);
    if (e->queue < 0) {
        e->queue = (int)(mtest_random(own) % QUEUES);
    }
    if (e->is_send) {
        MTEST_OK(MPIX_Host_stream_launch(w->stream[stream_of(e->queue)], fill, e));
    }
    MTEST_OK(MPIX_Enqueue_start(w->queue[e->queue], &e->request));
    e->started = 1;
    e->enqueued++;
}

static void poll(struct world *w, unsigned long long *own)
{
    struct end *e = &w->ends[mtest_random(own) % (unsigned)w->count];
    int flag = -1;

    switch (mtest_random(own) % 5) {
    case 0:
        MTEST_OK(MPI_Request_get_status(e->request, &flag, MPI_STATUS_IGNORE));
        break;
    case 1:
        MTEST_OK(MPIX_Queue_test(w->queue[mtest_random(own) % QUEUES], &flag));
        break;
    case 2:
        MTEST_OK(MPIX_Is_matched(e->request, &flag));
        MTEST_EQ(flag, 1);
        break;
    case 3:
        MTEST_OK(MPIX_Host_stream_query(w->stream[mtest_random(own) % STREAMS], &flag));
        break;
    default:
        MTEST_OK(MPIX_Enqueue_waitall(w->queue[mtest_random(own) % QUEUES], 0, NULL));
    }
}

static void shuffle(int *order, int n, unsigned long long *own)
{
    for (int i = 0; i < n; i++) {
        int j = (int)(mtest_random(own) % (unsigned)(i + 1));

        order[i] = order[j];
        order[j] = i;
    }
}

static void run_round(struct world *w, unsigned subset, unsigned long long *own)
{
    int order[MAX_ENDS];

    shuffle(order, w->count, own);
    for (int i = 0; i < w->count; i++) {
        struct end *e = &w->ends[order[i]];

        if (subset >> (e->pair - w->pairs) & 1U) {
            start(w, e, own);
        }
    }
    poll(w, own);
    shuffle(order, w->count, own);
    for (int i = 0; i < w->count; i++) {
        if (mtest_random(own) % 3 != 0) {
            wait_for(w, &w->ends[order[i]]);
        }
    }
}

/* All ranks in the same round: the only wait of the host. Afterwards requests may change queues. */
static void full_stop(struct world *w)
{
    for (int i = 0; i < w->count; i++) {
        wait_for(w, &w->ends[i]);
        w->ends[i].queue = -1;
    }
    for (int i = 0; i < QUEUES; i++) {
        MTEST_OK(MPIX_Queue_wait(w->queue[i]));
    }
    for (int i = 0; i < STREAMS; i++) {
        MTEST_OK(MPIX_Host_stream_synchronize(w->stream[i]));
    }
}

static void run(struct world *w, int seed, int rounds)
{
    unsigned long long common = 77ULL * (unsigned)seed + 5;
    unsigned long long own = common + 1013ULL * (unsigned)(mtest_rank + 1);
    int before = mtest_failures();

    draw_pairs(w, &common);
    make_ends(w);
    for (int round = 0; round < rounds; round++) {
        unsigned subset = mtest_random(&common) & ((1U << PAIRS) - 1);

        if (mtest_random(&common) % 8 == 0) {
            full_stop(w);
        }
        if (w->count > 0) {
            run_round(w, subset, &own);
        }
    }
    full_stop(w);
    free_ends(w);
    if (mtest_failures() > before) {
        fprintf(stderr, "rank %d: failed: seed %d\n", mtest_rank, seed);
    }
}

int main(int argc, char **argv)
{
    static struct world w;
    int first = argc > 1 ? atoi(argv[1]) : 1;
    int seeds = argc > 2 ? atoi(argv[2]) : 10;
    int rounds = argc > 3 ? atoi(argv[3]) : 30;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_bsend_attach((size_t)PAIRS * (size_t)rounds * (400 + MPI_BSEND_OVERHEAD));
    for (int i = 0; i < STREAMS; i++) {
        MTEST_OK(MPIX_Host_stream_create(&w.stream[i]));
    }
    for (int i = 0; i < QUEUES; i++) {
        MTEST_OK(MPIX_Queue_init(&w.queue[i], MPIX_QUEUE_AUTO, &w.stream[stream_of(i)]));
    }
    for (int seed = first; seed < first + seeds; seed++) {
        run(&w, seed, rounds);
    }
    for (int i = 0; i < QUEUES; i++) {
        MTEST_OK(MPIX_Queue_free(&w.queue[i]));
    }
    for (int i = 0; i < STREAMS; i++) {
        MTEST_OK(MPIX_Host_stream_destroy(&w.stream[i]));
    }
    mtest_bsend_detach();
    return mtest_end();
}
