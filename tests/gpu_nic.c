/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Buffers in memory of a GPU that the NIC of the channel cxi accesses itself: no byte is copied on
 * the stream, all data is right and nothing beside it is touched, whatever the peer does; and once
 * a request is freed, or could not be matched, its buffer can be freed. The double of HIP ends the
 * program if it is freed while the NIC has it, and those of both if anything else reaches it.
 *
 * Argument 1: which ends the NIC is to access itself: both, receives, or none; or whole: both, as
 * far as the provider maps the allocations that they are part of, of which it takes one of this
 * test's and not two (CXI_DOUBLE_HMEM_MIB=3).
 */
#include "mtest.h"

#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { ROUNDS = 4, TAG = 3, GUARD = 77, LARGE = 300001, FILL = 0x5a };

static struct {
    void *stream;
    MPIX_Queue queue;
    int peer;
    bool sends, receives; /* are accessed by the NIC */
    long (*calls)(const char *function);
    int (*fail)(const char *function, long n, int error);
} run;

/* One end: a buffer somewhere within an allocation, with what is to be around it. */
struct buffer {
    enum mtest_memory memory;
    size_t bytes;
    unsigned char *block, *data;
    unsigned char *image; /* of the whole block, pinned */
};

static size_t room(const struct buffer *b)
{
    return b->bytes + 2 * (size_t)GUARD;
}

static void buffer_make(struct buffer *b, enum mtest_memory memory, size_t bytes)
{
    b->memory = memory;
    b->bytes = bytes;
    b->block = mtest_gpu_alloc(memory, room(b));
    b->data = b->block + GUARD;
    b->image = mtest_gpu_alloc(MTEST_PINNED, room(b));
    memset(b->image, FILL, room(b));
    mtest_gpu_copy(run.stream, b->block, b->image, room(b));
    mtest_gpu_synchronize(run.stream);
}

static void buffer_free(struct buffer *b)
{
    mtest_gpu_free(b->memory, b->block);
    mtest_gpu_free(MTEST_PINNED, b->image);
}

/* What a sender with this rank sends in a round. */
static void buffer_fill(struct buffer *b, int rank, int round)
{
    for (size_t i = 0; i < b->bytes; i++) {
        b->image[GUARD + i] = mtest_pattern(round + 100 * rank, i);
    }
}

static void buffer_check(const struct buffer *b, int round, int line)
{
    size_t wrong = 0;

    for (size_t i = 0; i < room(b); i++) {
        bool inside = i >= GUARD && i < GUARD + b->bytes;

        wrong += b->image[i] != (inside ? mtest_pattern(round + 100 * run.peer, i - GUARD) : FILL);
    }
    if (wrong != 0) {
        mtest_fail(__FILE__, line, "%zu bytes, round %d: %zu wrong", b->bytes, round, wrong);
    }
}

static long copies(void)
{
    return run.calls("hipMemcpyAsync");
}

/* By the queue, without the host between what writes the buffers and what reads them. */
static void rounds_by_queue(struct buffer *out, struct buffer *in, MPI_Request r[2])
{
    long before = copies(), expected;

    for (int k = 0; k < ROUNDS; k++) {
        buffer_fill(out, mtest_rank, k);
        mtest_gpu_copy(run.stream, out->block, out->image, room(out));
        MTEST_OK(MPIX_Enqueue_startall(run.queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(run.queue, 2, r));
        mtest_gpu_copy(run.stream, in->image, in->block, room(in));
        MTEST_OK(MPIX_Queue_wait(run.queue));
        mtest_gpu_synchronize(run.stream);
        buffer_check(in, k, __LINE__);
    }
    expected = 2 + (out->memory == MTEST_DEVICE && !run.sends) +
               (in->memory == MTEST_DEVICE && !run.receives);
    if (out->bytes == LARGE) { /* by copies, not by a kernel for several */
        MTEST_EQ(copies() - before, expected * ROUNDS);
    }
}

/* What is copied needs a stream of a GPU; the rest can be started by the host, too. */
static void rounds_by_host(struct buffer *out, struct buffer *in, MPI_Request r[2])
{
    for (int k = 0; k < ROUNDS; k++) {
        buffer_fill(out, mtest_rank, 50 + k);
        mtest_gpu_copy(run.stream, out->block, out->image, room(out));
        mtest_gpu_synchronize(run.stream);
        MTEST_OK(MPI_Startall(2, r));
        MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        mtest_gpu_copy(run.stream, in->image, in->block, room(in));
        mtest_gpu_synchronize(run.stream);
        buffer_check(in, 50 + k, __LINE__);
    }
}

/* by_host: all ranks can have the host start their requests. */
static void exchange(enum mtest_mode mode, enum mtest_memory from, enum mtest_memory to,
                     size_t bytes, bool by_host)
{
    struct buffer out, in;
    MPI_Request r[2];

    buffer_make(&out, from, bytes);
    buffer_make(&in, to, bytes);
    MTEST_OK(MPI_Recv_init(in.data, (int)bytes, MPI_BYTE, run.peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(
        mtest_init_raw(mode, out.data, (int)bytes, MPI_BYTE, run.peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    rounds_by_queue(&out, &in, r);
    if (by_host) {
        rounds_by_host(&out, &in, r);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    buffer_free(&out);
    buffer_free(&in);
}

/* The rank's own memory at one end, and another kind at the peer's: ends need not agree. */
static void test_kinds(void)
{
    static const size_t sizes[] = {1, 64, 193, 4096, LARGE};
    enum mtest_memory mine = mtest_rank == 0 ? MTEST_DEVICE : MTEST_PINNED;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        exchange(MTEST_SEND, MTEST_DEVICE, MTEST_DEVICE, sizes[i], run.sends);
        exchange(MTEST_SSEND, mine, mine, sizes[i], run.sends);
        exchange(MTEST_SEND, MTEST_DEVICE, MTEST_PINNED, sizes[i], run.sends);
        exchange(MTEST_SEND, MTEST_PINNED, MTEST_DEVICE, sizes[i], run.receives);
    }
}

/* Several requests whose buffers are parts of one allocation, which each process has one of. */
static void test_parts(void)
{
    enum { PARTS = 6, BYTES = 1001, STEP = BYTES + GUARD };
    size_t total = (size_t)2 * PARTS * STEP + GUARD;
    unsigned char *block = mtest_gpu_alloc(MTEST_DEVICE, total);
    unsigned char *image = mtest_gpu_alloc(MTEST_PINNED, total);
    MPI_Request r[2 * PARTS];

    memset(image, FILL, total);
    for (int i = 0; i < 2 * PARTS; i++) {
        size_t at = GUARD + (size_t)i * STEP;

        if (i % 2 == 0) {
            MTEST_OK(
                MPI_Recv_init(block + at, BYTES, MPI_BYTE, run.peer, i / 2, MPI_COMM_WORLD, &r[i]));
            continue;
        }
        for (size_t k = 0; k < BYTES; k++) {
            image[at + k] = mtest_pattern(10 * mtest_rank + i / 2, k);
        }
        MTEST_OK(
            MPI_Send_init(block + at, BYTES, MPI_BYTE, run.peer, i / 2, MPI_COMM_WORLD, &r[i]));
    }
    MTEST_OK(MPIX_Matchall(2 * PARTS, r));
    mtest_gpu_copy(run.stream, block, image, total);
    MTEST_OK(MPIX_Enqueue_startall(run.queue, 2 * PARTS, r));
    MTEST_OK(MPIX_Enqueue_waitall(run.queue, 2 * PARTS, r));
    mtest_gpu_copy(run.stream, image, block, total);
    MTEST_OK(MPIX_Queue_wait(run.queue));
    mtest_gpu_synchronize(run.stream);
    for (size_t at = 0, wrong = 0; at < total; at++) {
        size_t part = at / STEP, within = at % STEP;
        int rank = part % 2 == 0 ? run.peer : mtest_rank;

        wrong += image[at] !=
                 (within < GUARD ? FILL : mtest_pattern(10 * rank + (int)part / 2, within - GUARD));
        if (at + 1 == total) {
            MTEST_EQ(wrong, 0);
        }
    }
    for (int i = 0; i < 2 * PARTS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    mtest_gpu_free(MTEST_DEVICE, block);
    mtest_gpu_free(MTEST_PINNED, image);
}

/* A pair of buffers that are parts of an allocation. */
struct parts {
    unsigned char *block;
    struct buffer out, in;
    MPI_Request r[2];
};
enum { BLOCK = 2 << 20 };

static void part_make(struct buffer *b, unsigned char *at)
{
    *b = (struct buffer){.memory = MTEST_DEVICE, .bytes = LARGE, .block = at, .data = at + GUARD};
    b->image = mtest_gpu_alloc(MTEST_PINNED, room(b));
    memset(b->image, FILL, room(b));
    mtest_gpu_copy(run.stream, b->block, b->image, room(b));
    mtest_gpu_synchronize(run.stream);
}

static void parts_match(struct parts *p, int tag)
{
    MTEST_OK(MPI_Recv_init(p->in.data, LARGE, MPI_BYTE, run.peer, tag, MPI_COMM_WORLD, &p->r[0]));
    MTEST_OK(MPI_Send_init(p->out.data, LARGE, MPI_BYTE, run.peer, tag, MPI_COMM_WORLD, &p->r[1]));
    MTEST_OK(MPIX_Matchall(2, p->r));
}

static void parts_use(struct parts *p, bool direct)
{
    run.sends = run.receives = direct;
    rounds_by_queue(&p->out, &p->in, p->r);
}

static void parts_unmatch(struct parts *p)
{
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
}

/* However little of it is registered, an allocation is mapped as a whole, and once. */
static void test_whole(void)
{
    struct parts parts[2];

    for (int i = 0; i < 2; i++) {
        parts[i].block = mtest_gpu_alloc(MTEST_DEVICE, BLOCK);
        part_make(&parts[i].out, parts[i].block + LARGE / 3);
        part_make(&parts[i].in, parts[i].block + BLOCK / 2);
    }
    parts_match(&parts[0], 0);
    parts_match(&parts[1], 1);
    parts_use(&parts[0], true);
    parts_use(&parts[1], false);
    parts_unmatch(&parts[1]);
    parts_unmatch(&parts[0]);
    parts_match(&parts[1], 1);
    parts_use(&parts[1], true);
    parts_unmatch(&parts[1]);
    for (int i = 0; i < 2; i++) {
        mtest_gpu_free(MTEST_PINNED, parts[i].out.image);
        mtest_gpu_free(MTEST_PINNED, parts[i].in.image);
        mtest_gpu_free(MTEST_DEVICE, parts[i].block);
    }
}

/* A match that fails lets go of the buffer, and the next one has it again. */
static void test_failed_match(void)
{
    enum { SHORT = 1000 };
    bool sends = mtest_rank == 0;
    struct buffer b;
    MPI_Request r;

    buffer_make(&b, MTEST_DEVICE, SHORT + 1);
    for (int fits = 0; fits < 2; fits++) {
        if (sends) {
            MTEST_OK(
                MPI_Send_init(b.data, SHORT + !fits, MPI_BYTE, run.peer, TAG, MPI_COMM_WORLD, &r));
        } else {
            MTEST_OK(MPI_Recv_init(b.data, SHORT, MPI_BYTE, run.peer, TAG, MPI_COMM_WORLD, &r));
        }
        if (fits) {
            MTEST_OK(MPIX_Match(&r));
            MTEST_OK(MPIX_Enqueue_start(run.queue, &r));
            MTEST_OK(MPIX_Enqueue_wait(run.queue, &r));
            MTEST_OK(MPIX_Queue_wait(run.queue));
            MTEST_OK(MPI_Request_free(&r));
        } else {
            MTEST_CLASS(MPIX_Match(&r), MPI_ERR_TRUNCATE);
            buffer_free(&b); /* before its request is */
            MTEST_OK(MPI_Request_free(&r));
            buffer_make(&b, MTEST_DEVICE, SHORT + 1);
        }
    }
    buffer_free(&b);
}

/* A receive that the progress thread matches, since its program is in a call of MPI by then. */
static void test_imatch(enum mtest_memory memory)
{
    enum { BYTES = 5000 };
    bool sends = mtest_rank == 0;
    MPI_Request r, match;
    struct buffer b;

    buffer_make(&b, memory, BYTES);
    if (sends) {
        buffer_fill(&b, mtest_rank, 0);
        mtest_gpu_copy(run.stream, b.block, b.image, room(&b));
        MTEST_OK(MPI_Send_init(b.data, BYTES, MPI_BYTE, run.peer, TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Match(&r));
    } else {
        MTEST_OK(MPI_Recv_init(b.data, BYTES, MPI_BYTE, run.peer, TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!sends) {
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    }
    MTEST_OK(MPIX_Enqueue_start(run.queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(run.queue, &r));
    mtest_gpu_copy(run.stream, b.image, b.block, room(&b));
    MTEST_OK(MPIX_Queue_wait(run.queue));
    mtest_gpu_synchronize(run.stream);
    if (!sends) {
        buffer_check(&b, 0, __LINE__);
    }
    MTEST_OK(MPI_Request_free(&r));
    buffer_free(&b);
}

/* The same of so many that their words fill more than one page. */
static void test_imatch_many(void)
{
    enum { MANY = 520 };
    static int data[MANY];
    bool sends = mtest_rank == 0;
    MPI_Request r[MANY], match;
    int wrong = 0;

    for (int i = 0; i < MANY; i++) {
        data[i] = sends ? 3 * i : -1;
        MTEST_OK(mtest_init_raw(sends ? MTEST_RSEND : MTEST_RECV, &data[i], 1, MPI_INT, run.peer, i,
                                MPI_COMM_WORLD, &r[i]));
    }
    if (!sends) {
        MTEST_OK(MPIX_Imatchall(MANY, r, &match));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (sends) {
        MTEST_OK(MPIX_Matchall(MANY, r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!sends) {
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
        MTEST_OK(MPIX_Enqueue_startall(run.queue, MANY, r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (sends) {
        MTEST_OK(MPIX_Enqueue_startall(run.queue, MANY, r));
    }
    MTEST_OK(MPIX_Enqueue_waitall(run.queue, MANY, r));
    MTEST_OK(MPIX_Queue_wait(run.queue));
    for (int i = 0; i < MANY; i++) {
        wrong += data[i] != 3 * i;
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_EQ(wrong, 0);
}

/* The buffer of the receive, which is the first, is registered, and then cannot be used. It has a
 * staging buffer, unless MPI takes it. */
static void test_refusal(void)
{
    enum { ERROR = 1 };
    const char *aware = getenv("MPIXQ_GPU_AWARE");

    if (run.receives && aware != NULL && strcmp(aware, "no") == 0) {
        MTEST_EQ(run.fail("hipPointerSetAttribute", 1, ERROR), 0);
        run.receives = false;
        exchange(MTEST_SEND, MTEST_DEVICE, MTEST_DEVICE, LARGE, false);
        run.receives = true;
    }
}

static void test_all(void)
{
    test_kinds();
    test_parts();
    test_failed_match();
    test_refusal();
    test_imatch(MTEST_DEVICE);
    test_imatch(MTEST_PINNED);
    test_imatch_many();
}

int main(int argc, char **argv)
{
    void *calls, *fail;
    bool whole;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    calls = mtest_gpu_symbol("hip_double_calls");
    fail = mtest_gpu_symbol("hip_double_fail");
    memcpy(&run.fail, &fail, sizeof fail);
    memcpy(&run.calls, &calls, sizeof calls); /* ISO C has no cast from object to function */
    if (run.calls == NULL) {
        mtest_skip("there is no double of HIP that counts");
        return mtest_end();
    }
    MTEST_EQ(argc, 2);
    whole = argc == 2 && strcmp(argv[1], "whole") == 0;
    run.sends = argc == 2 && strcmp(argv[1], "both") == 0;
    run.receives = run.sends || (argc == 2 && strcmp(argv[1], "receives") == 0);
    run.peer = 1 - mtest_rank;
    run.stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&run.queue, MPIX_QUEUE_AUTO, &run.stream));
    if (whole) {
        test_whole();
    } else {
        test_all();
    }
    MTEST_OK(MPIX_Queue_free(&run.queue));
    mtest_gpu_stream_end(run.stream);
    return mtest_end();
}
