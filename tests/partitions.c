/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Partitioned requests in a ring, against a model of what must have come: numbers of partitions
 * that differ at the two ends, random orders of ready partitions over several threads, starts by
 * the host and on queues in all combinations, parts that are seen before the whole is complete,
 * nothing that moves before the receive is started, many starts that are enqueued ahead, a derived
 * datatype, a process with itself, MPI_PROC_NULL, and messages without data. Requests that are
 * freed as threads are still leaving MPIX_Pready, and calls of MPIX_Pready_list that fail, as
 * another thread looks at the request.
 *
 * The argument "host": by the host only, in memory as mtest_buf makes it; with streams of GPUs that
 * memory is to be such that queues refuse it.
 */
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { TAG = 6, THREADS = 3, RUNS = 6, AHEAD = 5 };

static int from, to; /* whose data comes here, where ours go */
static int host_only;
static MPIX_Host_stream stream;
static MPIX_Queue queue;

/* Both ends of this process: all ranks make the same ones. */
struct ends {
    int n_out, n_in;
    struct mtest_buf out, in;
    MPI_Request send, receive;
};

static void make(struct ends *e, MPI_Datatype type, int total, int n_out, int n_in, int dest,
                 int source)
{
    MPI_Request both[2];

    e->n_out = n_out;
    e->n_in = n_in;
    mtest_buf_make(&e->out, type, total);
    mtest_buf_make(&e->in, type, total);
    MTEST_OK(MPIX_Psend_init(e->out.buf, n_out, total / n_out, type, dest, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &e->send));
    MTEST_OK(MPIX_Precv_init(e->in.buf, n_in, total / n_in, type, source, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &e->receive));
    both[0] = e->send;
    both[1] = e->receive;
    MTEST_OK(MPIX_Matchall(2, both));
}

static void unmake(struct ends *e)
{
    MTEST_OK(MPI_Request_free(&e->send));
    MTEST_OK(MPI_Request_free(&e->receive));
    mtest_buf_free(&e->out);
    mtest_buf_free(&e->in);
}

/* A thread has every THREADS-th partition of a random order. */
struct part {
    const struct ends *e;
    const int *order;
    int which;
};

static void *ready_some(void *arg)
{
    const struct part *part = arg;
    int list[2], n = 0;

    for (int i = part->which; i < part->e->n_out; i += THREADS) {
        if (part->which == 0) { /* in pairs */
            list[n++] = part->order[i];
            if (n == 2 || i + THREADS >= part->e->n_out) {
                MTEST_OK(MPIX_Pready_list(n, list, part->e->send));
                n = 0;
            }
        } else if (part->which == 1) {
            MTEST_OK(MPIX_Pready_range(part->order[i], part->order[i], part->e->send));
        } else {
            MTEST_OK(MPIX_Pready(part->order[i], part->e->send));
        }
    }
    return NULL;
}

static void shuffle(int order[], int n)
{
    for (int i = 0; i < n; i++) {
        int k = rand() % (i + 1);

        order[i] = order[k];
        order[k] = i;
    }
}

static void ready_all(const struct ends *e)
{
    int *order = malloc(sizeof *order * (size_t)(e->n_out + 1));
    struct part parts[THREADS];
    pthread_t threads[THREADS];

    shuffle(order, e->n_out);
    for (int i = 0; i < THREADS; i++) {
        parts[i] = (struct part){e, order, i};
        MTEST_EQ(pthread_create(&threads[i], NULL, ready_some, &parts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        MTEST_EQ(pthread_join(threads[i], NULL), 0);
    }
    free(order);
}

static void start(int by_queue, MPI_Request *request)
{
    if (by_queue) {
        MTEST_OK(MPIX_Enqueue_start(queue, request));
    } else {
        MTEST_OK(MPI_Start(request));
    }
}

static void complete(int by_queue, MPI_Request *request, MPI_Status *status)
{
    int flag = 0;

    if (by_queue) {
        MTEST_OK(MPIX_Enqueue_wait(queue, request));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPI_Request_get_status(*request, &flag, status));
        MTEST_EQ(flag, 1);
    } else {
        MTEST_OK(MPI_Wait(request, status));
    }
}

/* All ranks do the same. */
static void run(struct ends *e, int by_queue_out, int by_queue_in, int seed)
{
    MPI_Status status;
    int count = -1, flag = 0;
    unsigned tries = 0;

    mtest_buf_clear(&e->in);
    mtest_buf_fill(&e->out, seed + mtest_rank);
    if (rand() % 2) {
        start(by_queue_in, &e->receive);
        start(by_queue_out, &e->send);
        MTEST_OK(MPIX_Pbuf_prepare(e->receive));
        MTEST_OK(MPIX_Pbuf_prepare(e->send));
        ready_all(e);
    } else {
        start(by_queue_out, &e->send);
        ready_all(e);
        start(by_queue_in, &e->receive);
    }
    for (int i = e->n_in - 1; i >= 0; i--) { /* each must come without a wait */
        for (flag = 0; !flag && mtest_failures() == 0; mtest_backoff(&tries)) {
            int out;

            MTEST_OK(MPIX_Parrived(e->receive, i, &flag));
            if (!by_queue_out) { /* as MPI has it: who started drives */
                MTEST_OK(MPI_Request_get_status(e->send, &out, MPI_STATUS_IGNORE));
            }
        }
    }
    complete(by_queue_in, &e->receive, &status);
    MTEST_EQ(status.MPI_SOURCE, from);
    MTEST_EQ(status.MPI_TAG, TAG);
    MTEST_OK(MPI_Get_count(&status, e->in.type, &count));
    MTEST_EQ(count, e->in.count);
    MTEST_FULL(&e->in, seed + from);
    complete(by_queue_out, &e->send, &status);
    MTEST_OK(MPIX_Parrived(e->receive, 0, &flag));
    MTEST_EQ(flag, 1);
}

static void run_numbers(MPI_Datatype type, int total)
{
    static const int numbers[][2] = {{1, 1}, {4, 4}, {1, 8}, {24, 1}, {6, 4}, {3, 8}, {24, 24}};
    int ways = host_only ? 1 : 2;

    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        struct ends e;

        make(&e, type, total, numbers[k][0], numbers[k][1], to, from);
        for (int i = 0; i < RUNS; i++) {
            run(&e, i % ways, i / 2 % ways, 10 * i + (int)k);
        }
        unmake(&e);
    }
}

/* Nothing of a partition is there before the receive is started, and one that is ready comes though
 * another is not. */
static void early(void)
{
    struct ends e;
    int flag = 0;
    unsigned tries = 0;

    make(&e, MPI_INT, 16, 2, 2, to, from);
    mtest_buf_clear(&e.in);
    mtest_buf_fill(&e.out, 7 + mtest_rank);
    MTEST_OK(MPI_Start(&e.send));
    MTEST_OK(MPIX_Pready(1, e.send));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_UNTOUCHED(&e.in);
    MTEST_OK(MPI_Start(&e.receive));
    while (!flag && mtest_failures() == 0) {
        int out = 1;

        MTEST_OK(MPI_Test(&e.send, &out, MPI_STATUS_IGNORE));
        MTEST_EQ(out, 0);
        MTEST_OK(MPIX_Parrived(e.receive, 1, &flag));
        mtest_backoff(&tries);
    }
    MTEST_OK(MPIX_Parrived(e.receive, 0, &flag));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPI_Test(&e.receive, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* with both ends on their way */
    MTEST_OK(MPIX_Pready(0, e.send));
    {
        MPI_Request both[2] = {e.send, e.receive};

        MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    }
    MTEST_FULL(&e.in, 7 + from);
    unmake(&e);
}

/* Starts that are enqueued ahead; partitions are ready by functions of the stream, or before the
 * stream has come to any of them. */
static void ready_in_stream(void *arg)
{
    struct ends *e = arg;
    int flag = -1;

    for (int i = e->n_out - 1; i >= 0; i--) {
        MTEST_OK(MPIX_Pready(i, e->send));
    }
    MTEST_OK(MPIX_Parrived(e->receive, 0, &flag));
    MTEST_CHECK(flag == 0 || flag == 1);
}

static void ahead(int in_stream)
{
    struct mtest_gate gate = {0};
    struct ends e;

    make(&e, MPI_INT, 24, 4, 6, to, from);
    mtest_buf_clear(&e.in);
    mtest_buf_fill(&e.out, 3 + mtest_rank);
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    for (int i = 0; i < AHEAD; i++) {
        MPI_Request both[2] = {e.send, e.receive};

        MTEST_OK(MPIX_Enqueue_startall(queue, 2, both));
        if (in_stream) {
            MTEST_OK(MPIX_Host_stream_launch(stream, ready_in_stream, &e));
        } else {
            ready_all(&e);
        }
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, both));
    }
    mtest_gate_wait_reached(&gate);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_FULL(&e.in, 3 + from);
    unmake(&e);
}

/* The progress thread moves what becomes ready, while no wait is enqueued. */
static void unwaited(void)
{
    struct ends e;
    int flag = 0;
    unsigned tries = 0;

    make(&e, MPI_INT, 12, 3, 3, to, from);
    mtest_buf_clear(&e.in);
    mtest_buf_fill(&e.out, 5 + mtest_rank);
    MTEST_OK(MPIX_Enqueue_start(queue, &e.send));
    MTEST_OK(MPIX_Pready_range(0, 2, e.send));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* here before the receive is there */
    MTEST_OK(MPI_Start(&e.receive));
    while (!flag && mtest_failures() == 0) {
        MTEST_OK(MPI_Test(&e.receive, &flag, MPI_STATUS_IGNORE));
        mtest_backoff(&tries);
    }
    MTEST_FULL(&e.in, 5 + from);
    MTEST_OK(MPIX_Enqueue_wait(queue, &e.send));
    MTEST_OK(MPIX_Queue_wait(queue));
    unmake(&e);
}

static void itself(void)
{
    int was_from = from;
    struct ends e;

    from = mtest_rank;
    make(&e, MPI_INT, 60, 10, 4, mtest_rank, mtest_rank);
    for (int i = 0; i < RUNS; i++) {
        run(&e, host_only ? 0 : i % 2, host_only ? 0 : i / 2 % 2, i);
    }
    unmake(&e);
    from = was_from;
}

static void nobody(void)
{
    MPI_Request both[2];
    int flag = 0;

    MTEST_OK(MPIX_Psend_init(NULL, 3, 0, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &both[0]));
    MTEST_OK(MPIX_Precv_init(NULL, 3, 0, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &both[1]));
    MTEST_OK(MPIX_Matchall(2, both));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Startall(2, both));
        MTEST_OK(MPIX_Pready_range(0, 2, both[0]));
        MTEST_OK(MPIX_Parrived(both[1], 2, &flag));
        MTEST_EQ(flag, 1);
        MTEST_OK(MPIX_Pbuf_prepare(both[1]));
        MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    }
    MTEST_OK(MPI_Request_free(&both[0]));
    MTEST_OK(MPI_Request_free(&both[1]));
}

/* No data, and no partitions at one end, beside an ordinary pair of the same envelope; by a
 * matching that does not block. */
static void without_data(void)
{
    MPI_Request requests[4], match;
    MPI_Status statuses[4];
    int in = -1, out = mtest_rank, count = -1;

    MTEST_OK(MPIX_Precv_init(NULL, 0, 5, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[0]));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &requests[1]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &requests[2]));
    MTEST_OK(
        MPIX_Psend_init(NULL, 3, 0, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]));
    MTEST_OK(MPIX_Imatchall(4, requests, &match));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Startall(4, requests));
        MTEST_OK(MPIX_Pready_range(0, 2, requests[3]));
        MTEST_OK(MPI_Waitall(4, requests, statuses));
        MTEST_EQ(in, from);
        MTEST_OK(MPI_Get_count(&statuses[0], MPI_INT, &count));
        MTEST_EQ(count, 0);
    }
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&requests[i]));
    }
}

/* What is complete may be freed, though threads that have made it so have not left MPIX_Pready. */
static void freed_at_once(void)
{
    enum { ROUNDS = 40, MANY = 6 };
    int order[MANY] = {0, 1, 2, 3, 4, 5};

    for (int round = 0; round < ROUNDS; round++) {
        struct part parts[THREADS];
        pthread_t threads[THREADS];
        struct ends e, seen;
        MPI_Request both[2];

        make(&e, MPI_INT, MANY, MANY, MANY, to, from);
        mtest_buf_clear(&e.in);
        mtest_buf_fill(&e.out, round + mtest_rank);
        seen = e; /* of which nothing is written to */
        both[0] = e.send;
        both[1] = e.receive;
        MTEST_OK(MPI_Startall(2, both));
        for (int i = 0; i < THREADS; i++) {
            parts[i] = (struct part){&seen, order, i};
            MTEST_EQ(pthread_create(&threads[i], NULL, ready_some, &parts[i]), 0);
        }
        MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        MTEST_FULL(&e.in, round + from);
        unmake(&e);
        for (int i = 0; i < THREADS; i++) {
            MTEST_EQ(pthread_join(threads[i], NULL), 0);
        }
    }
}

/* A call that fails has made nothing ready, not even for a moment: while a list has a partition
 * too many the message does not go, though one of its partitions is ready for a later start, too,
 * and a thread looks at it all the time. */
struct looker {
    MPI_Request send;
    atomic_int stop;
};

static void *look_on(void *arg)
{
    struct looker *looker = arg;

    while (!atomic_load(&looker->stop)) {
        MTEST_OK(MPIX_Pready_list(0, NULL, looker->send));
    }
    return NULL;
}

static void wrong_lists(void)
{
    enum { TIMES = 2000 };
    static const int wrong[] = {1, 2};
    struct looker looker = {.stop = 0};
    pthread_t thread;
    struct ends e;
    int flag = 0;

    make(&e, MPI_INT, 2, 2, 1, mtest_rank, mtest_rank);
    mtest_buf_clear(&e.in);
    mtest_buf_fill(&e.out, 13);
    MTEST_OK(MPI_Start(&e.receive));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &e.send));
        MTEST_OK(MPIX_Enqueue_wait(queue, &e.send));
        MTEST_OK(MPIX_Pready(0, e.send));
    }
    looker.send = e.send;
    MTEST_EQ(pthread_create(&thread, NULL, look_on, &looker), 0);
    for (int i = 0; i < TIMES; i++) {
        MTEST_KIND(MPIX_Pready_list(2, wrong, e.send), MPIXQ_ERR_ARG);
    }
    atomic_store(&looker.stop, 1);
    MTEST_EQ(pthread_join(thread, NULL), 0);
    MTEST_OK(MPI_Test(&e.receive, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 0);
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Pready(1, e.send));
        if (i == 1) {
            MTEST_OK(MPI_Start(&e.receive));
        }
        MTEST_OK(MPI_Wait(&e.receive, MPI_STATUS_IGNORE));
        MTEST_FULL(&e.in, 13);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    unmake(&e);
}

/* Freed while active, which lets it complete first; and before it was matched. */
static void frees(void)
{
    struct ends e;
    MPI_Request never;

    make(&e, MPI_INT, 12, 3, 4, to, from);
    mtest_buf_clear(&e.in);
    mtest_buf_fill(&e.out, 9 + mtest_rank);
    MTEST_OK(MPI_Start(&e.receive));
    MTEST_OK(MPI_Start(&e.send));
    MTEST_OK(MPIX_Pready_range(0, 2, e.send));
    MTEST_OK(MPI_Request_free(&e.send));
    MTEST_OK(MPI_Wait(&e.receive, MPI_STATUS_IGNORE));
    MTEST_FULL(&e.in, 9 + from);
    MTEST_OK(MPI_Request_free(&e.receive));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&e.out);
    mtest_buf_free(&e.in);
    MTEST_OK(MPIX_Psend_init(NULL, 2, 0, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &never));
    MTEST_OK(MPI_Request_free(&never));
}

static void derived(void)
{
    MPI_Datatype type;

    MTEST_OK(MPI_Type_vector(2, 3, 5, MPI_INT, &type));
    MTEST_OK(MPI_Type_commit(&type));
    run_numbers(type, 24);
    MTEST_OK(MPI_Type_free(&type));
}

/* Queues do not start what GPUs move; the host does so afterwards. */
static void refused(void)
{
    struct ends e;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    make(&e, MPI_INT, 12, 3, 4, to, from);
    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &e.send), MPIXQ_ERR_UNSUPPORTED, "partitioned");
    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &e.receive), MPIXQ_ERR_UNSUPPORTED, "partitioned");
    run(&e, 0, 0, 11);
    unmake(&e);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    host_only = argc > 1 && strcmp(argv[1], "host") == 0;
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    srand(1); /* the same choices at all ranks */
    if (!host_only) {
        MTEST_OK(MPIX_Host_stream_create(&stream));
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    }
    run_numbers(MPI_INT, 24);
    run_numbers(MPI_DOUBLE, 24 * 1000);
    early();
    itself();
    nobody();
    without_data();
    frees();
    freed_at_once();
    if (!host_only) {
        wrong_lists();
        derived();
        ahead(0);
        ahead(1);
        unwaited();
        MTEST_OK(MPIX_Queue_free(&queue));
        MTEST_OK(MPIX_Host_stream_destroy(&stream));
    } else if (mtest_gpu_kind() != NULL) {
        refused();
    }
    return mtest_end();
}
