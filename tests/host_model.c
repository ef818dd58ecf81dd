/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Random programs: matched, unmatched, partitioned and ordinary requests, requests of
 * MPIX_Imatch, inactive and null ones are started by the host, some matched ones on a queue, and
 * completed by all functions of MPI in arrays of any mixture. A model says what each call may
 * complete and with what status and data. The same seed gives the same links on all ranks; each
 * rank chooses its calls. Arguments: first seed, number of seeds, rounds of each.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINKS = 12, SLOTS = 2 * LINKS, EXTRA = 4, N = SLOTS + EXTRA, TAG = 20, BIG = 30000 };

enum kind { MATCHED, UNMATCHED, PARTITIONED, ORDINARY, MATCH, NOTHING };

/* One end of a link in this process, or an extra element. */
struct slot {
    enum kind kind;
    enum mtest_mode mode;
    struct mtest_buf buf;
    int peer, tag;
    MPI_Request request, keep;
    int active;   /* the host has started it, and not completed it */
    int on_queue; /* the stream has */
    int seed;     /* of the data */
};

static struct slot slots[N];
static int n_slots;
static MPIX_Queue queue = MPIX_QUEUE_NULL;
static unsigned long long plan, mine; /* of all ranks; of this one */

static int pick(unsigned long long *state, int n)
{
    return (int)(mtest_random(state) % (unsigned)n);
}

static int is_persistent(const struct slot *s)
{
    return s->kind == MATCHED || s->kind == UNMATCHED || s->kind == PARTITIONED;
}

/* ---- Links ----------------------------------------------------------------------------------- */

static void make_request(struct slot *s)
{
    int rc = MPI_SUCCESS;

    if (s->kind == PARTITIONED) {
#if MPI_VERSION >= 4
        rc = s->mode == MTEST_RECV
                 ? MPI_Precv_init(s->buf.buf, 1, s->buf.count, MPI_INT, s->peer, s->tag,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &s->request)
                 : MPI_Psend_init(s->buf.buf, 1, s->buf.count, MPI_INT, s->peer, s->tag,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &s->request);
#endif
    } else if (s->kind != ORDINARY) {
        rc = mtest_init(s->mode, &s->buf, s->peer, s->tag, MPI_COMM_WORLD, &s->request);
    }
    MTEST_OK(rc);
    s->keep = s->request;
}

static void add_end(int kind, int mode, int count, int peer, int tag)
{
    struct slot *s = &slots[n_slots++];

    *s = (struct slot){
        .kind = (enum kind)kind, .mode = (enum mtest_mode)mode, .peer = peer, .tag = tag};
    s->request = MPI_REQUEST_NULL;
    mtest_buf_make(&s->buf, MPI_INT, count);
    make_request(s);
}

static int pick_kind(int from, int to)
{
    int kind = pick(&plan, 8);

    if (kind < 4) {
        return MATCHED;
    }
    if (kind == 4 && MPI_VERSION >= 4 && from != to) {
        return PARTITIONED;
    }
    return kind < 7 ? UNMATCHED : ORDINARY;
}

/* MPICH 4.0 takes a started request to nobody for an inactive one; the library does not. */
static int pick_kind_of_nobody(void)
{
    int kind = pick(&plan, 2);

#ifdef MPICH
    return kind == UNMATCHED ? MATCHED : kind;
#else
    return kind;
#endif
}

static void make_links(void)
{
    MPI_Request requests[SLOTS];
    int n = 0;

    n_slots = 0;
    for (int l = 0; l < LINKS; l++) {
        int nobody = pick(&plan, 8) == 0;
        int from = pick(&plan, mtest_size), to = pick(&plan, mtest_size);
        int kind = nobody ? pick_kind_of_nobody() : pick_kind(from, to);
        int mode = pick(&plan, kind == MATCHED ? 4 : 3);
        int count = pick(&plan, 6) == 0 ? BIG : pick(&plan, 20) + (kind == PARTITIONED);

        mode = kind == MATCHED || kind == UNMATCHED ? mode : MTEST_SEND;
        if (mode == MTEST_BSEND && kind == UNMATCHED) {
            mode = MTEST_SEND; /* Open MPI 4.1 loses the data of some */
        }
        if (nobody || to == mtest_rank) {
            add_end(kind, MTEST_RECV, count, nobody ? MPI_PROC_NULL : from, TAG + l);
        }
        if (nobody || from == mtest_rank) {
            add_end(kind, mode, count, nobody ? MPI_PROC_NULL : to, TAG + l);
        }
    }
    for (int i = 0; i < n_slots; i++) {
        if (slots[i].kind == MATCHED) {
            requests[n++] = slots[i].request;
        }
    }
    MTEST_OK(MPIX_Matchall(n, requests));
}

static void free_links(void)
{
    for (int i = 0; i < n_slots; i++) {
        if (is_persistent(&slots[i])) {
            MTEST_OK(MPI_Request_free(&slots[i].request));
        }
        mtest_buf_free(&slots[i].buf);
    }
}

/* ---- Starts ---------------------------------------------------------------------------------- */

static void fill(struct slot *s, int round)
{
    int nobody = s->peer == MPI_PROC_NULL;

    s->seed = nobody ? 0 : 37 * round + s->tag;
    if (s->mode == MTEST_RECV) {
        mtest_buf_clear(&s->buf);
    } else {
        mtest_buf_fill(&s->buf, s->seed);
    }
}

static void start_ordinary(struct slot *s)
{
    if (s->mode == MTEST_RECV) {
        MTEST_OK(MPI_Irecv(s->buf.buf, s->buf.count, MPI_INT, s->peer, s->tag, MPI_COMM_WORLD,
                           &s->request));
    } else {
        MTEST_OK(MPI_Isend(s->buf.buf, s->buf.count, MPI_INT, s->peer, s->tag, MPI_COMM_WORLD,
                           &s->request));
    }
    s->active = 1;
}

static void started(struct slot *s, MPI_Request after)
{
    MTEST_CHECK(after == s->keep);
    s->request = after;
    s->active = 1;
#if MPI_VERSION >= 4
    if (s->kind == PARTITIONED && s->mode != MTEST_RECV) {
        MTEST_OK(MPI_Pready(0, s->request));
    }
#endif
}

/* A random part of those that are left, in a random order. */
static void start_some(struct slot *left[], int *n_left)
{
    MPI_Request requests[N];
    struct slot *these[N];
    int n = pick(&mine, *n_left) + 1;

    for (int i = 0; i < n; i++) {
        int which = pick(&mine, *n_left);

        these[i] = left[which];
        requests[i] = left[which]->request;
        left[which] = left[--*n_left];
    }
    if (these[0]->kind == MATCHED && pick(&mine, 4) == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &these[0]->request));
        these[0]->on_queue = 1;
        these[0] = these[--n];
        requests[0] = requests[n];
    }
    if (n == 1) {
        MTEST_OK(MPI_Start(&requests[0]));
    } else {
        MTEST_OK(MPI_Startall(n, requests));
    }
    for (int i = 0; i < n; i++) {
        started(these[i], requests[i]);
    }
}

static void start_those(int round, const int used[LINKS], int ready)
{
    struct slot *left[N];
    int n_left = 0;

    for (int i = 0; i < n_slots; i++) {
        struct slot *s = &slots[i];

        if (s->kind >= MATCH || !used[s->tag - TAG] || (s->mode == MTEST_RSEND) != ready) {
            continue;
        }
        fill(s, round);
        if (s->kind == ORDINARY) {
            start_ordinary(s);
        } else {
            left[n_left++] = s;
        }
    }
    while (n_left > 0) {
        start_some(left, &n_left);
    }
}

/* Ready sends come when all receives were started. */
static void start_round(int round)
{
    int used[LINKS];

    for (int l = 0; l < LINKS; l++) {
        used[l] = pick(&plan, 10) < 7;
    }
    start_those(round, used, 0);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    start_those(round, used, 1);
}

/* ---- Completion ------------------------------------------------------------------------------ */

static void expect_empty(MPI_Status *status)
{
    int count = -1, cancelled = -1;

    MTEST_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
    MTEST_EQ(status->MPI_TAG, MPI_ANY_TAG);
    MTEST_OK(MPI_Get_count(status, MPI_INT, &count));
    MTEST_EQ(count, 0);
    MTEST_OK(MPI_Test_cancelled(status, &cancelled));
    MTEST_EQ(cancelled, 0);
}

static void expect_status(const struct slot *s, MPI_Status *status)
{
    int nobody = s->peer == MPI_PROC_NULL, count = -1, cancelled = -1;

    MTEST_OK(MPI_Test_cancelled(status, &cancelled));
    MTEST_EQ(cancelled, 0);
    if (s->mode != MTEST_RECV || s->kind == MATCH || s->kind == PARTITIONED) {
        return; /* undefined, or not what this is about */
    }
    MTEST_EQ(status->MPI_SOURCE, s->peer);
    MTEST_EQ(status->MPI_TAG, nobody ? MPI_ANY_TAG : s->tag);
    MTEST_OK(MPI_Get_count(status, MPI_INT, &count));
    MTEST_EQ(count, nobody ? 0 : s->buf.count);
}

static void expect_data(struct slot *s)
{
    if (s->mode == MTEST_RECV && s->kind != MATCH) {
        if (s->peer == MPI_PROC_NULL) {
            MTEST_UNTOUCHED(&s->buf);
        } else {
            MTEST_FULL(&s->buf, s->seed);
        }
    }
}

/* A call has completed it. */
static void completed(struct slot *s, MPI_Request after, MPI_Status *status)
{
    MTEST_CHECK(s->active);
    MTEST_CHECK(after == (is_persistent(s) ? s->keep : MPI_REQUEST_NULL));
    s->request = after;
    expect_status(s, status);
    expect_data(s);
    s->active = 0;
}

/* A call on elements, and what it said. */
struct call {
    struct slot *these[N];
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int indices[N];
    int n, n_active;
};

static void choose(struct call *c)
{
    struct slot *left[N];
    int n_left = 0;

    for (int i = 0; i < n_slots; i++) {
        if (!slots[i].on_queue) {
            left[n_left++] = &slots[i];
        }
    }
    c->n = n_left > 0 ? pick(&mine, n_left) + 1 : 0;
    c->n_active = 0;
    for (int i = 0; i < c->n; i++) {
        int which = pick(&mine, n_left);

        c->these[i] = left[which];
        c->requests[i] = left[which]->request;
        c->n_active += left[which]->active;
        left[which] = left[--n_left];
    }
}

static void expect_unchanged(struct call *c)
{
    for (int i = 0; i < c->n; i++) {
        MTEST_CHECK(c->requests[i] == c->these[i]->request);
    }
}

static void call_any(struct call *c, int blocks)
{
    MPI_Status status;
    int index = -2, flag = 1;

    if (blocks) {
        MTEST_OK(MPI_Waitany(c->n, c->requests, &index, &status));
    } else {
        MTEST_OK(MPI_Testany(c->n, c->requests, &index, &flag, &status));
    }
    if (c->n_active == 0) {
        MTEST_EQ(flag, 1);
        MTEST_EQ(index, MPI_UNDEFINED);
        if (blocks) {
            expect_empty(&status); /* MPICH's Testany leaves it alone */
        }
    } else if (flag) {
        MTEST_CHECK(index >= 0 && index < c->n);
        completed(c->these[index], c->requests[index], &status);
        c->these[index]->request = c->requests[index];
    } else {
        MTEST_EQ(index, MPI_UNDEFINED);
    }
    expect_unchanged(c);
}

static void call_all(struct call *c, int blocks)
{
    int flag = 1;

    for (int i = 0; i < c->n; i++) {
        /* MPICH 4.0 fails to test partitioned requests together. */
        blocks |= c->these[i]->kind == PARTITIONED;
    }
    if (blocks) {
        MTEST_OK(MPI_Waitall(c->n, c->requests, c->statuses));
    } else {
        MTEST_OK(MPI_Testall(c->n, c->requests, &flag, c->statuses));
    }
    if (!flag) {
        MTEST_CHECK(c->n_active > 0);
        expect_unchanged(c);
        return;
    }
    for (int i = 0; i < c->n; i++) {
        if (c->these[i]->active) {
            completed(c->these[i], c->requests[i], &c->statuses[i]);
        } else if (c->these[i]->kind != PARTITIONED) { /* MPICH 4.0 gives the last status */
            expect_empty(&c->statuses[i]);
        }
    }
    expect_unchanged(c);
}

static void call_some(struct call *c, int blocks)
{
    int n = -2;

    if (blocks) {
        MTEST_OK(MPI_Waitsome(c->n, c->requests, &n, c->indices, c->statuses));
    } else {
        MTEST_OK(MPI_Testsome(c->n, c->requests, &n, c->indices, c->statuses));
    }
    if (c->n_active == 0) {
        MTEST_EQ(n, MPI_UNDEFINED);
        n = 0;
    } else {
        MTEST_CHECK(n >= blocks && n <= c->n_active);
    }
    for (int i = 0; i < n; i++) {
        struct slot *s = c->these[c->indices[i]];

        completed(s, c->requests[c->indices[i]], &c->statuses[i]);
    }
    expect_unchanged(c);
}

static void call_one(struct call *c, int blocks)
{
    struct slot *s = c->these[0];
    MPI_Status status;
    int flag = 1;

    if (blocks) {
        MTEST_OK(MPI_Wait(&c->requests[0], &status));
    } else {
        MTEST_OK(MPI_Test(&c->requests[0], &flag, &status));
    }
    if (!s->active) {
        MTEST_EQ(flag, 1);
        if (s->kind != PARTITIONED) {
            expect_empty(&status);
        }
    } else if (flag) {
        completed(s, c->requests[0], &status);
    }
    expect_unchanged(c);
}

/* Asks without completing; and tries what is not to be had. */
static void call_query(struct call *c)
{
    struct slot *s = c->these[0];
    MPI_Status status;
    int flag = -1;

    if (s->kind == MATCHED && s->active) {
        MTEST_KIND(MPI_Cancel(&c->requests[0]), MPIXQ_ERR_UNSUPPORTED);
        MTEST_KIND(MPI_Start(&c->requests[0]), MPIXQ_ERR_STATE);
        MTEST_KIND(MPIX_Enqueue_start(queue, &c->requests[0]), MPIXQ_ERR_STATE);
    }
    if (s->kind == NOTHING || s->request == MPI_REQUEST_NULL || s->kind == PARTITIONED) {
        return;
    }
    MTEST_OK(MPI_Request_get_status(s->request, &flag, &status));
    if (s->active && flag) {
        expect_status(s, &status);
        expect_data(s);
    } else if (!s->active) {
        MTEST_EQ(flag, 1);
    }
}

static int count_active(void)
{
    int n = 0;

    for (int i = 0; i < n_slots; i++) {
        n += slots[i].active;
    }
    return n;
}

static void complete_round(void)
{
    unsigned tries = 0;

    while (count_active() > 0) {
        struct call c;
        int blocks = pick(&mine, 2);

        choose(&c);
        switch (pick(&mine, 6)) {
        case 0:
            call_any(&c, blocks);
            break;
        case 1:
            call_all(&c, pick(&mine, 4) == 0);
            break;
        case 2:
            call_some(&c, blocks);
            break;
        case 3:
            call_one(&c, blocks);
            break;
        default:
            call_query(&c);
        }
        mtest_backoff(&tries);
        tries = tries > 5 ? 5 : tries;
    }
}

static void complete_queue(void)
{
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < n_slots; i++) {
        if (slots[i].on_queue) {
            slots[i].on_queue = 0;
            expect_data(&slots[i]);
        }
    }
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* A pair that is matched meanwhile; its end is an element like others. */
static void begin_match(MPI_Request pair[2])
{
    static int word[2];
    struct slot *s = &slots[n_slots++];
    int right = (mtest_rank + 1) % mtest_size, left = (mtest_rank + mtest_size - 1) % mtest_size;

    MTEST_OK(MPI_Recv_init(&word[0], 1, MPI_INT, left, TAG - 1, MPI_COMM_WORLD, &pair[0]));
    MTEST_OK(MPI_Send_init(&word[1], 1, MPI_INT, right, TAG - 1, MPI_COMM_WORLD, &pair[1]));
    *s = (struct slot){.kind = MATCH, .active = 1};
    MTEST_OK(MPIX_Imatchall(2, pair, &s->request));
}

static void run_round(int round)
{
    MPI_Request pair[2];
    int with_match = pick(&plan, 3) == 0, n = n_slots;

    for (int i = 0; i < 2; i++) {
        slots[n_slots++] = (struct slot){.kind = NOTHING, .request = MPI_REQUEST_NULL};
    }
    if (with_match) {
        begin_match(pair);
    }
    start_round(round);
    complete_round();
    complete_queue();
    if (with_match) {
        MTEST_OK(MPI_Request_free(&pair[0]));
        MTEST_OK(MPI_Request_free(&pair[1]));
    }
    n_slots = n;
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 1, seeds = argc > 2 ? atoi(argv[2]) : 5;
    int rounds = argc > 3 ? atoi(argv[3]) : 20, failed = 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_bsend_attach(LINKS * 2 * (BIG * sizeof(int) + MPI_BSEND_OVERHEAD));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int seed = first; seed < first + seeds && !failed; seed++) {
        plan = (unsigned long long)seed;
        mine = plan * 1000 + (unsigned)mtest_rank + 1;
        make_links();
        for (int round = 0; round < rounds; round++) {
            run_round(round);
        }
        if (mtest_failures() > 0) {
            fprintf(stderr, "rank %d: seed %d\n", mtest_rank, seed);
        }
        failed = mtest_failures() > 0;
        MTEST_OK(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        free_links();
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_bsend_detach();
    return mtest_end();
}
