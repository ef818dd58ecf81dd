/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Arrays of messages in memory of a GPU, which the stream copies: each byte and those beside it, at
 * odd addresses and of sizes about the one up to which a kernel copies, more of them than a launch
 * takes, and among messages in other memory. What the stream writes before the starts is sent, and
 * what it reads after the waits is what was received. On the double also by how many operations.
 */
#include "mtest.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"
#include "stream/gpu_submit.h"
#include "stream/pieces.h"

enum { MOST = 2 * MPIXQ_PIECES + 3, ROUNDS = 3, TAG = 11, GUARD = 0xa5, GAP = 40 };

/* Messages of an array: their sizes come again and again, or their kinds of memory do. */
struct array {
    const char *name;
    int n, n_sizes, n_kinds;
    size_t sizes[9];
    enum mtest_memory kinds[4];
};

static const struct array arrays[] = {
    {"one", 1, 1, 1, {100}, {MTEST_DEVICE}},
    {"two", 2, 1, 1, {8}, {MTEST_DEVICE}},
    {"one and none", 2, 2, 1, {8, 0}, {MTEST_DEVICE}},
    {"small", 9, 9, 1, {1, 8, 15, 16, 17, 31, 100, 1024, 4099}, {MTEST_DEVICE}},
    {"the limit", 4, 4, 1, {MPIXQ_SMALL - 1, MPIXQ_SMALL, MPIXQ_SMALL + 1, 5}, {MTEST_DEVICE}},
    {"large", 2, 2, 1, {MPIXQ_SMALL + 1, 300001}, {MTEST_DEVICE}},
    {"one small", 2, 2, 1, {3, 300001}, {MTEST_DEVICE}},
    {"a launch", MPIXQ_PIECES, 3, 1, {24, 1, 777}, {MTEST_DEVICE}},
    {"a launch and one", MPIXQ_PIECES + 1, 2, 1, {48, 3}, {MTEST_DEVICE}},
    {"many", MOST, 4, 1, {8, 70000, 2048, 33}, {MTEST_DEVICE}},
    {"mixed",
     12,
     5,
     4,
     {8, 0, 100, 70000, 999},
     {MTEST_DEVICE, MTEST_PINNED, MTEST_MANAGED, MTEST_PAGEABLE}},
    {"none", 3, 1, 1, {64}, {MTEST_PINNED}},
};

/* Calls so far on the double. */
struct counts {
    long launches, copies, writes, waits, devices;
};

static long (*calls_of)(const char *function); /* NULL: a real GPU */
static bool by_values;

static struct counts count(void)
{
    return calls_of == NULL ? (struct counts){0, 0, 0, 0, 0}
                            : (struct counts){.launches = calls_of("hipModuleLaunchKernel"),
                                              .copies = calls_of("hipMemcpyAsync"),
                                              .writes = calls_of("hipStreamWriteValue64"),
                                              .waits = calls_of("hipStreamWaitValue64"),
                                              .devices = calls_of("hipGetDevice")};
}

struct message {
    size_t bytes, place; /* in the block of its kind */
    enum mtest_memory kind;
};

/* All messages of a kind lie in one block, with guards between them; what they are sent from and
 * what they arrive in look alike. */
struct side {
    void *stream;
    MPIX_Queue queue;
    const struct array *array;
    int peer, n;
    struct message messages[MOST];
    size_t size[MTEST_DEVICE + 1];
    unsigned char *out[MTEST_DEVICE + 1], *in[MTEST_DEVICE + 1];
    unsigned char *source[MTEST_DEVICE + 1], *sink[MTEST_DEVICE + 1]; /* ROUNDS blocks, pinned */
    MPI_Request requests[2 * MOST];
};

static void lay_out(struct side *s)
{
    const struct array *a = s->array;

    s->n = a->n;
    memset(s->size, 0, sizeof s->size);
    for (int i = 0; i < a->n; i++) {
        struct message *m = &s->messages[i];

        m->bytes = a->sizes[i % a->n_sizes];
        m->kind = a->kinds[i % a->n_kinds];
        m->place = s->size[m->kind] + GAP + (size_t)(i * 7 % 19); /* at any address */
        s->size[m->kind] = m->place + m->bytes + GAP;
    }
}

/* The block as it was sent, or will have been received, in a round. */
static void fill(const struct side *s, enum mtest_memory kind, int rank, int round,
                 unsigned char *block)
{
    memset(block, GUARD, s->size[kind]);
    for (int i = 0; i < s->n; i++) {
        const struct message *m = &s->messages[i];

        for (size_t k = 0; m->kind == kind && k < m->bytes; k++) {
            block[m->place + k] = mtest_pattern(100 * rank + 10 * round + i, k);
        }
    }
}

static void make(struct side *s)
{
    for (int kind = MTEST_PAGEABLE; kind <= MTEST_DEVICE; kind++) {
        size_t size = s->size[kind];

        if (size == 0) {
            continue;
        }
        s->out[kind] = mtest_gpu_alloc((enum mtest_memory)kind, size);
        s->in[kind] = mtest_gpu_alloc((enum mtest_memory)kind, size);
        s->source[kind] = mtest_gpu_alloc(MTEST_PINNED, ROUNDS * size);
        s->sink[kind] = mtest_gpu_alloc(MTEST_PINNED, ROUNDS * size);
        memset(s->sink[kind], GUARD, size);
        mtest_gpu_copy(s->stream, s->in[kind], s->sink[kind], size);
        mtest_gpu_synchronize(s->stream);
        for (int k = 0; k < ROUNDS; k++) {
            fill(s, (enum mtest_memory)kind, mtest_rank, k, s->source[kind] + (size_t)k * size);
        }
    }
    for (int i = 0; i < s->n; i++) {
        const struct message *m = &s->messages[i];

        MTEST_OK(MPI_Recv_init(s->in[m->kind] + m->place, (int)m->bytes, MPI_BYTE, s->peer, TAG + i,
                               MPI_COMM_WORLD, &s->requests[i]));
        MTEST_OK(MPI_Send_init(s->out[m->kind] + m->place, (int)m->bytes, MPI_BYTE, s->peer,
                               TAG + i, MPI_COMM_WORLD, &s->requests[s->n + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * s->n, s->requests));
}

static void unmake(struct side *s)
{
    for (int i = 0; i < 2 * s->n; i++) {
        MTEST_OK(MPI_Request_free(&s->requests[i]));
    }
    for (int kind = MTEST_PAGEABLE; kind <= MTEST_DEVICE; kind++) {
        if (s->size[kind] > 0) {
            mtest_gpu_free((enum mtest_memory)kind, s->out[kind]);
            mtest_gpu_free((enum mtest_memory)kind, s->in[kind]);
            mtest_gpu_free(MTEST_PINNED, s->source[kind]);
            mtest_gpu_free(MTEST_PINNED, s->sink[kind]);
        }
    }
}

/* Several small ones are copied by kernels, which tell when all is copied. */
static void check_counts(const struct side *s, struct counts before, bool waits)
{
    struct counts now = count();
    long small = 0, staged = 0, launches = 0, copies, tells = 1;

    for (int i = 0; i < s->n; i++) {
        const struct message *m = &s->messages[i];

        staged += m->kind == MTEST_DEVICE && m->bytes > 0;
        small += m->kind == MTEST_DEVICE && m->bytes > 0 && m->bytes <= MPIXQ_SMALL && !by_values;
    }
    small = small >= MPIXQ_SEVERAL ? small : 0;
    copies = staged - small;
    if (small > 0) {
        launches = (small + MPIXQ_PIECES - 1) / MPIXQ_PIECES;
        tells = 0;
    }
    if (waits) { /* for the gate, which tells itself when nothing is copied */
        launches += !by_values;
        tells -= staged == 0 && !by_values;
    }
    MTEST_EQ(now.launches - before.launches, by_values ? 0 : launches + tells);
    MTEST_EQ(now.copies - before.copies, copies);
    MTEST_EQ(now.writes - before.writes, by_values ? 1 : 0);
    MTEST_EQ(now.waits - before.waits, by_values && waits ? 1 : 0);
}

static void copy_blocks(struct side *s, int round, bool outwards)
{
    for (int kind = MTEST_PAGEABLE; kind <= MTEST_DEVICE; kind++) {
        size_t size = s->size[kind], at = (size_t)round * size;

        if (size > 0 && outwards) {
            mtest_gpu_copy(s->stream, s->out[kind], s->source[kind] + at, size);
        } else if (size > 0) {
            mtest_gpu_copy(s->stream, s->sink[kind] + at, s->in[kind], size);
        }
    }
}

static void run_rounds(struct side *s)
{
    for (int k = 0; k < ROUNDS; k++) {
        struct counts before;

        copy_blocks(s, k, true);
        before = count();
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2 * s->n, s->requests));
        if (calls_of != NULL) {
            check_counts(s, before, false);
        }
        before = count();
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2 * s->n, s->requests));
        if (calls_of != NULL) {
            check_counts(s, before, true);
        }
        copy_blocks(s, k, false);
    }
    MTEST_OK(MPIX_Queue_wait(s->queue));
    mtest_gpu_synchronize(s->stream);
}

static void check_block(const struct side *s, enum mtest_memory kind, int round)
{
    const unsigned char *got = s->sink[kind] + (size_t)round * s->size[kind];
    unsigned char *wanted = mtest_gpu_alloc(MTEST_PAGEABLE, s->size[kind]);
    size_t wrong = 0, first = 0;

    fill(s, kind, s->peer, round, wanted);
    for (size_t i = s->size[kind]; i-- > 0;) {
        wrong += got[i] != wanted[i];
        first = got[i] != wanted[i] ? i : first;
    }
    if (wrong != 0) {
        mtest_fail(__FILE__, __LINE__, "%s, memory %d, round %d, peer %d: %zu wrong, first at %zu",
                   s->array->name, (int)kind, round, s->peer, wrong, first);
    }
    mtest_gpu_free(MTEST_PAGEABLE, wanted);
}

static void exchange(struct side *s)
{
    lay_out(s);
    make(s);
    run_rounds(s);
    for (int kind = MTEST_PAGEABLE; kind <= MTEST_DEVICE; kind++) {
        for (int k = 0; s->size[kind] > 0 && k < ROUNDS; k++) {
            check_block(s, (enum mtest_memory)kind, k);
        }
    }
    unmake(s);
}

/* Nothing is under way, so that nobody asks how the stream does. */
static void test_places(struct side *s)
{
    struct counts before;

    s->array = &arrays[1];
    lay_out(s);
    make(s);
    before = count();
    MTEST_OK(MPIX_Enqueue_startall(s->queue, 2 * s->n, s->requests));
    MTEST_EQ(count().devices - before.devices, 1);
    MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2 * s->n, s->requests));
    MTEST_OK(MPIX_Queue_wait(s->queue));
    unmake(s);
}

int main(int argc, char **argv)
{
    const char *ops = getenv("MPIXQ_GPU_OPS");
    struct side s = {.stream = NULL};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("MTEST_STREAM names no GPU");
        return mtest_end();
    }
    *(void **)&calls_of = dlsym(RTLD_DEFAULT, "hip_double_calls");
    by_values = ops != NULL && strcmp(ops, "values") == 0;
    s.stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&s.queue, MPIX_QUEUE_AUTO, &s.stream));
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        s.array = &arrays[i];
        s.peer = mtest_rank;
        exchange(&s);
        s.peer = mtest_size - 1 - mtest_rank;
        exchange(&s);
    }
    if (calls_of != NULL) {
        test_places(&s);
    }
    MTEST_OK(MPIX_Queue_free(&s.queue));
    mtest_gpu_stream_end(s.stream);
    return mtest_end();
}
