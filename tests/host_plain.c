/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests that are MPI's alone in a program that matches others: whatever completes them, while
 * pairs come and go, whose handles MPI gives to them and takes back from them, and while threads
 * match and free. What a queue owns is refused all the while. With the argument "single" one thread
 * at MPI_THREAD_SINGLE, without queues.
 */
#include "mtest.h"

#include <pthread.h>
#include <string.h>

enum { COUNT = 7, GUARD = -4711, WAYS = 9, ROUNDS = 10 * WAYS, TAG = 3, MATCHED_TAG = 40 };
enum { PLAIN_THREADS = 2, MATCH_THREADS = 2, THREADS = PLAIN_THREADS + MATCH_THREADS };

static int from, to;
static bool threads;

/* ---- Ordinary messages ---------------------------------------------------------------------- */

enum { RECEIVES = 3, N = 2 * RECEIVES + 1 };

struct plain {
    MPI_Comm comm;
    int number;
    int in[RECEIVES][COUNT + 2], out[RECEIVES][COUNT]; /* guards around what comes in */
    MPI_Request r[N];                                  /* receives, null, sends */
    MPI_Request handles[N];                            /* that these had */
};

static int value(const struct plain *p, int round, int message, int i, int rank)
{
    return 100000 * (p->number + 1) + 1000 * round + 100 * message + 10 * i + rank;
}

static void post(struct plain *p, int round)
{
    for (int m = 0; m < RECEIVES; m++) {
        for (int i = 0; i < COUNT + 2; i++) {
            p->in[m][i] = GUARD;
        }
        MTEST_OK(MPI_Irecv(&p->in[m][1], COUNT, MPI_INT, from, TAG + m, p->comm, &p->r[m]));
    }
    p->r[RECEIVES] = MPI_REQUEST_NULL;
    for (int m = 0; m < RECEIVES; m++) {
        for (int i = 0; i < COUNT; i++) {
            p->out[m][i] = value(p, round, m, i, mtest_rank);
        }
        MTEST_OK(
            MPI_Isend(p->out[m], COUNT, MPI_INT, to, TAG + m, p->comm, &p->r[RECEIVES + 1 + m]));
    }
    memcpy(p->handles, p->r, sizeof p->handles);
}

static void check(const struct plain *p, int round)
{
    for (int m = 0; m < RECEIVES; m++) {
        MTEST_EQ(p->in[m][0], GUARD);
        MTEST_EQ(p->in[m][COUNT + 1], GUARD);
        for (int i = 0; i < COUNT; i++) {
            MTEST_EQ(p->in[m][1 + i], value(p, round, m, i, from));
        }
    }
    for (int i = 0; i < N; i++) {
        MTEST_CHECK(p->r[i] == MPI_REQUEST_NULL);
    }
}

/* A status is of the right message. */
static void check_status(const MPI_Status *s, int index)
{
    int count = -1;

    if (index < RECEIVES) {
        MTEST_EQ(s->MPI_SOURCE, from);
        MTEST_EQ(s->MPI_TAG, TAG + index);
        MTEST_OK(MPI_Get_count(s, MPI_INT, &count));
        MTEST_EQ(count, COUNT);
    }
}

static void complete_each(struct plain *p, bool by_test)
{
    unsigned tries = 0;

    for (int i = 0; i < N; i++) {
        MPI_Status s;
        int flag = 0;

        while (by_test && !flag) {
            MTEST_OK(MPI_Test(&p->r[i], &flag, &s));
            if (!flag) {
                mtest_backoff(&tries);
            }
        }
        if (!by_test) {
            MTEST_OK(MPI_Wait(&p->r[i], &s));
        }
        if (i != RECEIVES) {
            check_status(&s, i);
        }
    }
}

static void complete_some(struct plain *p, int way)
{
    MPI_Status s[N];
    unsigned tries = 0;

    for (int left = 2 * RECEIVES; left > 0;) {
        int n = 1, flag = 1, indices[N];

        if (way == 0) {
            MTEST_OK(MPI_Waitany(N, p->r, indices, s));
        } else if (way == 1) {
            MTEST_OK(MPI_Testany(N, p->r, indices, &flag, s));
        } else if (way == 2) {
            MTEST_OK(MPI_Waitsome(N, p->r, &n, indices, s));
            MTEST_CHECK(n > 0);
        } else {
            MTEST_OK(MPI_Testsome(N, p->r, &n, indices, s));
        }
        n = flag ? n : 0;
        for (int i = 0; i < n; i++) {
            MTEST_CHECK(indices[i] >= 0 && indices[i] < N && indices[i] != RECEIVES);
            check_status(&s[i], indices[i]);
        }
        left -= n;
        if (n == 0) {
            mtest_backoff(&tries);
        }
    }
}

static void complete_all(struct plain *p, int way)
{
    MPI_Status s[N];
    unsigned tries = 0;
    int flag = 0;

    for (int i = 0; way == 2 && i < RECEIVES; i++) {
        for (flag = 0; !flag; mtest_backoff(&tries)) {
            MTEST_OK(MPI_Request_get_status(p->r[i], &flag, &s[i]));
        }
        check_status(&s[i], i);
    }
    while (way == 1 && !flag) {
        MTEST_OK(MPI_Testall(N, p->r, &flag, s));
    }
    if (way != 1) {
        MTEST_OK(MPI_Waitall(N, p->r, s));
    }
    for (int i = 0; i < RECEIVES; i++) {
        check_status(&s[i], i);
    }
}

static void complete(struct plain *p, int round)
{
    int way = round % WAYS;

    if (way < 2) {
        complete_each(p, way == 1);
    } else if (way < 6) {
        complete_some(p, way - 2);
    } else {
        complete_all(p, way - 6);
    }
}

static void exchange(struct plain *p, int round)
{
    post(p, round);
    complete(p, round);
    check(p, round);
}

/* ---- Matched pairs -------------------------------------------------------------------------- */

struct pair {
    MPI_Comm comm;
    int number, in[COUNT + 2], out[COUNT];
    MPI_Request r[2];
};

static void fill(struct pair *q, int round)
{
    for (int i = 0; i < COUNT + 2; i++) {
        q->in[i] = GUARD;
    }
    for (int i = 0; i < COUNT; i++) {
        q->out[i] = 10000 * (q->number + 1) + 100 * round + 10 * i + mtest_rank;
    }
}

static void make(struct pair *q, bool later)
{
    MPI_Request matching;

    MTEST_OK(MPI_Recv_init(&q->in[1], COUNT, MPI_INT, from, MATCHED_TAG, q->comm, &q->r[0]));
    MTEST_OK(MPI_Send_init(q->out, COUNT, MPI_INT, to, MATCHED_TAG, q->comm, &q->r[1]));
    if (later) {
        MTEST_OK(MPIX_Imatchall(2, q->r, &matching));
        MTEST_OK(MPI_Wait(&matching, MPI_STATUS_IGNORE));
    } else {
        MTEST_OK(MPIX_Matchall(2, q->r));
    }
}

static void end(struct pair *q, int round)
{
    MTEST_EQ(q->in[0], GUARD);
    MTEST_EQ(q->in[COUNT + 1], GUARD);
    for (int i = 0; i < COUNT; i++) {
        MTEST_EQ(q->in[1 + i], 10000 * (q->number + 1) + 100 * round + 10 * i + from);
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Request_free(&q->r[i]));
    }
}

/* A queue has the pair: what only the queue may end is refused, and ordinary messages go on. */
static void refuse(struct pair *q, struct plain *p, MPIX_Queue queue, MPIX_Host_stream stream,
                   int round)
{
    struct mtest_gate gate = {.open = 0};
    MPI_Request both[2];
    int flag = -1;

    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, q->r));
    MTEST_KIND(MPI_Test(&q->r[0], &flag, MPI_STATUS_IGNORE), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, q->r));
    post(p, round);
    for (int i = 0; i < 2; i++) {
        MPI_Request handle = q->r[i];

        both[0] = p->r[0];
        both[1] = handle;
        MTEST_KIND(MPI_Wait(&q->r[i], MPI_STATUS_IGNORE), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Start(&q->r[i]), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Startall(1, &q->r[i]), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Cancel(&q->r[i]), MPIXQ_ERR_STATE);
        MTEST_OK(MPI_Test(&q->r[i], &flag, MPI_STATUS_IGNORE));
        MTEST_EQ(flag, 0);
        MTEST_OK(MPI_Request_get_status(q->r[i], &flag, MPI_STATUS_IGNORE));
        MTEST_EQ(flag, 0);
        MTEST_CHECK(q->r[i] == handle && both[0] == p->r[0] && both[1] == handle);
    }
    complete(p, round);
    check(p, round);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
}

static void by_host(struct pair *q)
{
    MTEST_OK(MPI_Startall(2, q->r));
    MTEST_OK(MPI_Waitall(2, q->r, MPI_STATUSES_IGNORE));
}

/* ---- Handles that come again ---------------------------------------------------------------- */

/* Did an ordinary request of the last ones have one of these handles? */
static bool has_any(const struct plain *p, const MPI_Request handles[], int n)
{
    for (int i = 0; i < N * n; i++) {
        if (p->handles[i % N] == handles[i / N] && handles[i / N] != MPI_REQUEST_NULL) {
            return true;
        }
    }
    return false;
}

/* Handles of pairs that were freed become those of ordinary requests, and those become those of the
 * next pairs: of several, as the library has messages of its own between. */
static void use_again(struct plain *p)
{
    enum { PAIRS = 4 };
    struct pair q[PAIRS];
    MPI_Request gone[2 * PAIRS];
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int to_plain = 0, to_pair = 0;

    if (threads) {
        MTEST_OK(MPIX_Host_stream_create(&stream));
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < PAIRS; k++) {
            q[k].comm = MPI_COMM_WORLD;
            q[k].number = k;
            fill(&q[k], round);
            make(&q[k], round % 2 == 0);
            memcpy(&gone[2 * k], q[k].r, sizeof q[k].r);
        }
        to_pair += has_any(p, gone, 2 * PAIRS);
        for (int k = 0; k < PAIRS; k++) {
            if (threads && k == round % PAIRS) {
                refuse(&q[k], p, queue, stream, round);
            } else {
                by_host(&q[k]);
            }
        }
        for (int k = 0; k < PAIRS; k++) {
            end(&q[k], round);
        }
        post(p, round);
        to_plain += has_any(p, gone, 2 * PAIRS);
        complete(p, round);
        check(p, round);
    }
    MTEST_CHECK(to_plain > 0);
    MTEST_CHECK(to_pair > 0);
    if (threads) {
        MTEST_OK(MPIX_Queue_free(&queue));
        MTEST_OK(MPIX_Host_stream_destroy(&stream));
    }
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void *run_plain(void *arg)
{
    for (int round = 0; round < ROUNDS; round++) {
        exchange(arg, round);
    }
    return NULL;
}

static void *run_pairs(void *arg)
{
    struct pair *q = arg;

    for (int round = 0; round < ROUNDS / 4; round++) {
        fill(q, round);
        make(q, round % 3 == 0);
        by_host(q);
        end(q, round);
    }
    return NULL;
}

static void run_threads(void)
{
    static struct plain plain[PLAIN_THREADS];
    static struct pair pairs[MATCH_THREADS];
    pthread_t ids[THREADS];

    for (int t = 0; t < PLAIN_THREADS; t++) {
        plain[t].number = t;
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &plain[t].comm));
    }
    for (int t = 0; t < MATCH_THREADS; t++) {
        pairs[t].number = t;
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &pairs[t].comm));
    }
    for (int t = 0; t < THREADS; t++) {
        bool is_plain = t < PLAIN_THREADS;
        void *arg = is_plain ? (void *)&plain[t] : (void *)&pairs[t - PLAIN_THREADS];

        MTEST_EQ(pthread_create(&ids[t], NULL, is_plain ? run_plain : run_pairs, arg), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        MTEST_EQ(pthread_join(ids[t], NULL), 0);
    }
    for (int t = 0; t < PLAIN_THREADS; t++) {
        MTEST_OK(MPI_Comm_free(&plain[t].comm));
    }
    for (int t = 0; t < MATCH_THREADS; t++) {
        MTEST_OK(MPI_Comm_free(&pairs[t].comm));
    }
}

/* ---- Matching goes on ----------------------------------------------------------------------- */

/* A process that waits for an ordinary message answers a match meanwhile, on which that depends.
 * The match begins when the process has nothing else left to do. */
static void answer(int round)
{
    MPI_Request r, matching, message;
    int word = GUARD, go = GUARD, ready = GUARD;
    bool is_sender = mtest_rank % 2 == 0;
    int peer = is_sender ? mtest_rank + 1 : mtest_rank - 1;

    if (is_sender) {
        MTEST_OK(MPI_Send_init(&word, 1, MPI_INT, peer, MATCHED_TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPI_Recv(&ready, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MTEST_EQ(ready, round);
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Send(&round, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, peer, MATCHED_TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPI_Irecv(&go, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &message));
        MTEST_OK(MPIX_Imatch(&r, &matching));
        MTEST_OK(MPI_Send(&round, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD));
        if (round % 2 == 0) {
            MTEST_OK(MPI_Wait(&message, MPI_STATUS_IGNORE));
        } else {
            MTEST_OK(MPI_Waitall(1, &message, MPI_STATUSES_IGNORE));
        }
        MTEST_EQ(go, round);
        MTEST_OK(MPI_Wait(&matching, MPI_STATUS_IGNORE));
    }
    MTEST_OK(MPI_Request_free(&r));
}

/* A send that was freed while it was active is let go of by a process that only waits for ordinary
 * messages: the peer, which starts once more, hears of it. */
static void let_go(struct plain *p)
{
    MPI_Request r;
    int word = mtest_rank == 0 ? 42 : GUARD;

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Ssend_init(&word, 1, MPI_INT, 1, MATCHED_TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Request_free(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, 0, MATCHED_TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        MTEST_EQ(word, 42);
    }
    for (int round = 0; round < WAYS; round++) {
        exchange(p, round);
    }
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Start(&r));
        MTEST_KIND(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
        MTEST_OK(MPI_Request_free(&r));
        MTEST_OK(MPI_Send(NULL, 0, MPI_INT, 0, TAG, MPI_COMM_WORLD));
    } else { /* a wait that looks after others, as without threads nobody else does */
        MTEST_OK(MPI_Irecv(NULL, 0, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
}

/* So it is by a process that is blocked in MPI, and calls nothing that the library is in. */
static void let_go_blocked(void)
{
    MPI_Request r;
    int word = mtest_rank == 0 ? 43 : GUARD;

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Ssend_init(&word, 1, MPI_INT, 1, MATCHED_TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Request_free(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, 0, MATCHED_TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        MTEST_EQ(word, 43);
        MTEST_OK(MPI_Start(&r));
        MTEST_KIND(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static struct plain plain = {.number = 9};
    struct pair idle = {.number = 0};

    threads = argc < 2 || strcmp(argv[1], "single") != 0;
    mtest_begin(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    plain.comm = MPI_COMM_WORLD;
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &idle.comm));
    exchange(&plain, 0);
    for (int round = 0; mtest_size == 2 && round < 10; round++) {
        answer(round);
    }
    if (mtest_size == 2) {
        let_go(&plain);
    }
    if (mtest_size == 2 && threads) {
        let_go_blocked();
    }
    fill(&idle, 1);
    make(&idle, false);
    exchange(&plain, 1);
    use_again(&plain);
    if (threads) {
        run_threads();
    }
    by_host(&idle);
    end(&idle, 1);
    exchange(&plain, 2);
    MTEST_OK(MPI_Comm_free(&idle.comm));
    return mtest_end();
}
