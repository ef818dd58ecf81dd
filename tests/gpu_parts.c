/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Messages in parts (MPIXQ_PART_KIB), where MPI does not take memory of GPUs: sizes about those
 * where they begin, with one end or both in memory of a GPU, each byte and the guards; by how many
 * operations of MPI. That a part is copied by the receiver before the last one is by the sender.
 * And what becomes of a message of which only the first parts were sent, or none was received.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { ROUNDS = 2, TAG = 5, MOST = 16 };

static void *stream;
static MPIX_Queue queue;
static long unit;            /* MPIXQ_PART_KIB in bytes */
static void (*hold)(long n); /* NULL: a real GPU */
static long (*copied)(void);
static void (*break_gpu)(int error);
static int (*pending)(void);

enum datatype { BYTES, INTS, VECTOR, GAPS };

/* From rank number % 2 to the other one. */
struct message {
    int number;
    const char *from, *to; /* values of MTEST_BUFFER */
    enum mtest_mode mode;
    enum datatype type;
    long bytes, more;  /* for which the receive has room */
    int wild, by_host; /* ends that are not copied */
};

struct end {
    const struct message *m;
    int sends;
    struct mtest_buf buf;
    MPI_Datatype type;
    MPI_Request r;
};

static int in_gpu(const char *memory)
{
    return strcmp(memory, "device") == 0;
}

/* Of one operation of MPI each. */
static long parts_of(const struct message *m)
{
    int both = in_gpu(m->from) && in_gpu(m->to), none = !in_gpu(m->from) && !in_gpu(m->to);
    int whole = none || m->mode == MTEST_BSEND || (m->type == GAPS && !both) || m->bytes < 2 * unit;
    long part = unit * ((m->bytes - 1) / (unit * MOST) + 1);

    return whole || m->bytes == 0 ? 1 : (m->bytes - 1) / part + 1;
}

static long posts(void)
{
    char text[MPI_MAX_INFO_VAL + 1] = "";

    MTEST_CHECK(mtest_queue_info(queue, "mpixq_posts", text));
    return atol(text);
}

static MPI_Datatype make_type(enum datatype kind)
{
    MPI_Datatype type = MPI_BYTE;

    switch (kind) {
    case BYTES:
        break;
    case INTS:
        MPI_Type_contiguous(4, MPI_INT, &type);
        break;
    case VECTOR:
        MPI_Type_vector(4, 1, 1, MPI_INT, &type);
        break;
    case GAPS:
        MPI_Type_vector(4, 1, 2, MPI_INT, &type);
        break;
    }
    if (type != MPI_BYTE) {
        MPI_Type_commit(&type);
    }
    return type;
}

static void use_memory(const struct end *e)
{
    (void)setenv("MTEST_BUFFER", e->sends ? e->m->from : e->m->to, 1);
}

/* Types that are not bytes have 16 of them; that with gaps is at ends of the host. */
static void end_make(struct end *e, const struct message *m)
{
    const char *memory;
    enum datatype kind;
    int size;

    *e = (struct end){.m = m, .sends = m->number % 2 == mtest_rank};
    memory = e->sends ? m->from : m->to;
    kind = m->type == GAPS && in_gpu(memory) ? INTS : m->type;
    e->type = make_type(kind);
    MPI_Type_size(e->type, &size);
    use_memory(e);
    mtest_buf_make(&e->buf, e->type, (int)((m->bytes + (e->sends ? 0 : m->more)) / size));
    MTEST_OK(mtest_init(e->sends ? m->mode : MTEST_RECV, &e->buf,
                        m->wild && !e->sends ? MPI_ANY_SOURCE : 1 - mtest_rank,
                        m->wild && !e->sends ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &e->r));
    MTEST_OK(MPIX_Match(&e->r));
}

static void end_free(struct end *e)
{
    MTEST_OK(MPI_Request_free(&e->r));
    use_memory(e);
    mtest_buf_free(&e->buf);
    if (e->type != MPI_BYTE) {
        MPI_Type_free(&e->type);
    }
}

static int is_by_host(const struct end *e)
{
    return e->m->by_host && !in_gpu(e->sends ? e->m->from : e->m->to);
}

static void transfer(struct end *e, MPI_Status *status)
{
    int flag = 0;

    if (is_by_host(e)) {
        MTEST_OK(MPI_Start(&e->r));
        MTEST_OK(MPI_Wait(&e->r, status));
        return;
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &e->r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &e->r));
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPI_Request_get_status(e->r, &flag, status));
    MTEST_EQ(flag, 1);
}

static void check_received(struct end *e, const MPI_Status *status, int seed)
{
    int count = 0, size;

    MPI_Type_size(e->type, &size);
    MTEST_PART(&e->buf, (int)(e->m->bytes / size), seed);
    MPI_Get_count(status, e->type, &count);
    MTEST_EQ(count, e->m->bytes / size);
    MTEST_EQ(status->MPI_SOURCE, 1 - mtest_rank);
    MTEST_EQ(status->MPI_TAG, TAG);
}

static void run(struct message m)
{
    static int number;
    int before_all = mtest_failures();
    struct end e;
    long before;

    m.number = number++;
    end_make(&e, &m);
    before = posts();
    for (int round = 0; round < ROUNDS; round++) {
        int seed = 10 * m.number + round;
        MPI_Status status;

        if (e.sends) {
            mtest_buf_fill(&e.buf, seed);
        } else {
            mtest_buf_clear(&e.buf);
        }
        if (m.mode == MTEST_RSEND) { /* ready: the receiver's buffer may be written */
            MPI_Barrier(MPI_COMM_WORLD);
        }
        transfer(&e, &status);
        if (!e.sends) {
            check_received(&e, &status, seed);
        }
    }
    if (!is_by_host(&e)) {
        MTEST_EQ(posts() - before, ROUNDS * parts_of(&m));
    }
    end_free(&e);
    if (mtest_failures() > before_all) {
        fprintf(stderr, "rank %d: from %s to %s, %ld bytes, room for %ld more, %s, type %d%s%s\n",
                mtest_rank, m.from, m.to, m.bytes, m.more, mtest_mode_name(m.mode), (int)m.type,
                m.wild ? ", wild" : "", m.by_host ? ", by host" : "");
    }
}

static const char *const ends[][2] = {
    {"device", "device"}, {"device", "pageable"}, {"pinned", "device"}, {"pageable", "pinned"}};

static void test_sizes(void)
{
    const long sizes[] = {0,
                          1,
                          unit - 1,
                          unit,
                          2 * unit - 1,
                          2 * unit,
                          2 * unit + 1,
                          3 * unit,
                          MOST * unit - 1,
                          MOST * unit,
                          MOST * unit + 1,
                          5 * MOST * unit + 7};

    for (int i = 0; i < 4; i++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            run((struct message){.from = ends[i][0],
                                 .to = ends[i][1],
                                 .bytes = sizes[k],
                                 .more = k % 3 == 1 ? 3 * unit + 5 : 0,
                                 .by_host = k % 2 == 1,
                                 .wild = k % 5 == 2});
        }
    }
}

static void test_kinds(void)
{
    for (int i = 0; i < 4; i++) {
        struct message m = {.from = ends[i][0], .to = ends[i][1], .bytes = 5 * unit + 16};

        for (int mode = MTEST_SEND; mode < MTEST_RECV; mode++) {
            m.mode = (enum mtest_mode)mode;
            m.type = BYTES;
            run(m);
            m.by_host = !m.by_host;
            for (int type = INTS; mode == MTEST_SEND && type <= GAPS; type++) {
                m.type = (enum datatype)type;
                run(m);
            }
        }
    }
}

/* Messages of all sizes in one call: what is whole beside what is in parts, both ways at once. */
static void test_together(void)
{
    enum { N = 7 };
    const long sizes[N] = {100, 9 * unit, 0, 2 * unit, 40 * unit + 1, unit, 3 * unit};
    struct mtest_buf in[N], out[N];
    MPI_Request r[2 * N];

    (void)setenv("MTEST_BUFFER", "device", 1);
    for (int i = 0; i < N; i++) {
        mtest_buf_make(&in[i], MPI_BYTE, (int)sizes[i]);
        mtest_buf_make(&out[i], MPI_BYTE, (int)sizes[i]);
        MTEST_OK(mtest_init(MTEST_RECV, &in[i], 1 - mtest_rank, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(mtest_init(MTEST_SEND, &out[i], 1 - mtest_rank, i, MPI_COMM_WORLD, &r[N + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * N, r));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            mtest_buf_clear(&in[i]);
            mtest_buf_fill(&out[i], 100 * mtest_rank + 10 * round + i);
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * N, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * N, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        mtest_gpu_synchronize(stream);
        for (int i = 0; i < N; i++) {
            MTEST_FULL(&in[i], 100 * (1 - mtest_rank) + 10 * round + i);
        }
    }
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
        MTEST_OK(MPI_Request_free(&r[N + i]));
        mtest_buf_free(&in[i]);
        mtest_buf_free(&out[i]);
    }
}

/* Rank 0 has sent parts before it has copied all, and rank 1 copies them before it has all. */
static void test_overlap(void)
{
    const struct message m = {.from = "device", .to = "device", .bytes = 4 * unit};
    unsigned tries = 0;
    int flag = 1, token = 0;
    struct end e;
    long before;

    end_make(&e, &m);
    if (e.sends) {
        mtest_buf_fill(&e.buf, 77);
        hold(2);
    } else {
        mtest_buf_clear(&e.buf);
    }
    before = copied();
    MTEST_OK(MPIX_Enqueue_start(queue, &e.r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &e.r));
    if (e.sends) {
        MPI_Recv(&token, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MTEST_OK(MPIX_Queue_test(queue, &flag));
        MTEST_EQ(flag, 0);
        MTEST_EQ(copied() - before, 2);
        hold(-1);
    } else {
        while (copied() < before + 2) {
            mtest_backoff(&tries);
        }
        MPI_Send(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    MTEST_EQ(copied() - before, 4);
    if (!e.sends) {
        MTEST_FULL(&e.buf, 77);
    }
    end_free(&e);
}

/* What is sent and never received is gone when both ends are freed, and the tag serves others. */
static void test_not_received(void)
{
    const struct message m = {.from = "device", .to = "device", .bytes = 3 * unit};
    struct end e;

    for (int k = 0; k < 3; k++) {
        end_make(&e, &m);
        if (e.sends) {
            mtest_buf_fill(&e.buf, 12);
            MTEST_OK(MPIX_Enqueue_start(queue, &e.r));
            MTEST_OK(MPIX_Enqueue_wait(queue, &e.r));
            MTEST_OK(MPIX_Queue_wait(queue));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (!e.sends) {
            MTEST_UNTOUCHED(&e.buf);
        }
        end_free(&e);
        run((struct message){.from = "device", .to = "device", .bytes = 3 * unit});
        run((struct message){.from = "device", .to = "device", .bytes = 3 * unit});
    }
}

static void new_queue(void)
{
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
}

/* The sender frees its end and has sent nothing. */
static void test_not_sent(void)
{
    const struct message m = {.from = "device", .to = "device", .bytes = 3 * unit};
    struct end e;

    end_make(&e, &m);
    if (!e.sends) {
        mtest_buf_clear(&e.buf);
        MTEST_OK(MPIX_Enqueue_start(queue, &e.r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &e.r));
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
        new_queue();
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    end_free(&e);
    run((struct message){.from = "device", .to = "device", .bytes = 3 * unit});
    run((struct message){.from = "device", .to = "device", .bytes = 3 * unit});
}

/* The sender's GPU breaks when two parts have left. */
static void test_broken_off(void)
{
    const struct message m = {.from = "device", .to = "device", .bytes = 4 * unit};
    unsigned tries = 0;
    struct end e;
    long before;
    int token = 0;

    end_make(&e, &m);
    before = copied();
    if (e.sends) {
        hold(2);
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &e.r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &e.r));
    if (e.sends) {
        MPI_Recv(&token, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break_gpu(999);
        hold(-1);
        MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
        while (pending() > 0) { /* what it had is dropped, before it works again */
            mtest_backoff(&tries);
        }
        break_gpu(0);
    } else {
        while (copied() < before + 2) {
            mtest_backoff(&tries);
        }
        MPI_Send(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
    }
    new_queue();
    end_free(&e);
    run((struct message){.from = "device", .to = "device", .bytes = 3 * unit});
    run((struct message){.from = "device", .to = "device", .bytes = 3 * unit});
}

int main(int argc, char **argv)
{
    const char *kib = getenv("MPIXQ_PART_KIB");
    char said[1024];
    int failed;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there are not two ranks");
        return mtest_end();
    }
    unit = kib == NULL ? 1L << 20 : atol(kib) << 10;
    *(void **)&hold = mtest_gpu_symbol("hip_double_hold_copies");
    *(void **)&copied = mtest_gpu_symbol("hip_double_copied");
    *(void **)&break_gpu = mtest_gpu_symbol("hip_double_break");
    *(void **)&pending = mtest_gpu_symbol("hip_double_pending");
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    mtest_bsend_attach((size_t)(80 * unit) + MPI_BSEND_OVERHEAD);
    test_sizes();
    test_kinds();
    test_together();
    if (unit <= 4096) { /* so that MPI takes what nobody receives */
        test_not_received();
    }
    test_not_sent();
    if (hold != NULL) {
        test_overlap();
        test_broken_off();
    }
    mtest_bsend_detach();
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    mtest_capture(); /* of MPI_Finalize: nothing is left that was sent and not received */
    failed = mtest_end();
    mtest_captured(said, sizeof(said));
    return failed != 0 || strstr(said, "never received") == NULL ? failed : 1;
}
