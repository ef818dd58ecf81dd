/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What streams, a NIC and MPI are given for a fixed set of programs (trace.h), compared with files
 * in tests/golden: so a change of how starts and waits are enqueued shows what it changes outside.
 * To write the files anew, after a change that is meant to change them:
 *
 *     MTEST_TRACES=write ./run check --full --mpi mpich --kind plain --only traces
 *
 * Argument 1: the files; 2: how the double of the NIC is watched (nic) or that starts by MPI can
 * fail (fails), or nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest.h"
#include "mtest_gpu.h"
#include "trace.h"

enum {
    GATES = 4,
    MOST = 16,
    PROGRAMS = 20,
    SMALL = 64,
    PAGE = 4096,
    MEDIUM = 20000,
    LARGE = 300000
};
enum where { TO_1, TO_0, TO_SELF, FROM_SELF, TO_NULL, FROM_NULL };

/* Of both ranks. With gaps: of integers of which each second is left out, in memory of the host. */
struct message {
    enum where where;
    enum mtest_mode mode; /* of the send */
    int bytes;
    bool gaps;
};

struct element {
    const struct message *m;
    struct mtest_buf buf;
    char name[24];
    MPI_Request r;
    bool sends;
};

/* Requests, streams and queues are freed at the very end: what is freed is used again sooner or
 * later, and so from then on the numbers would depend on time. */
struct program {
    char name[80];
    int n;
    struct element e[MOST];
    MPI_Request r[MOST];
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    struct mtest_gate gates[GATES], *gate; /* the last one */
};

static struct program *programs[PROGRAMS];
static int n_programs, peer;
static bool by_nic;
static MPI_Datatype gaps;
static char *memory; /* what MTEST_BUFFER was at first */

static void name_memory(const void *address, size_t bytes, const char *name)
{
    void *(*reach)(const volatile void *, size_t) = NULL;

    trace_name(address, bytes, name);
    *(void **)&reach = mtest_gpu_symbol("hip_double_reach");
    if (reach != NULL && mtest_gpu_hidden()) {
        trace_name(reach(address, bytes), bytes, name);
    }
}

static void element_make(struct program *p, int i, const struct message *m)
{
    struct element *e = &p->e[i];
    int other = peer;

    e->m = m;
    e->sends = m->where == TO_SELF || m->where == TO_NULL ||
               (m->where == TO_1 && mtest_rank == 0) || (m->where == TO_0 && mtest_rank == 1);
    if (m->where == TO_SELF || m->where == FROM_SELF) {
        other = mtest_rank;
    } else if (m->where == TO_NULL || m->where == FROM_NULL) {
        other = MPI_PROC_NULL;
    }
    (void)setenv("MTEST_BUFFER", m->gaps ? "pageable" : memory, 1);
    mtest_buf_make(&e->buf, m->gaps ? gaps : MPI_BYTE,
                   m->gaps ? m->bytes / (int)sizeof(int) : m->bytes);
    (void)snprintf(e->name, sizeof e->name, "%s%d", e->sends ? "out" : "in", i);
    if (m->gaps) {
        trace_name(e->buf.buf, 2 * (size_t)m->bytes, e->name);
    } else {
        name_memory(e->buf.buf, (size_t)m->bytes, e->name);
    }
    MTEST_OK(mtest_init(e->sends ? m->mode : MTEST_RECV, &e->buf, other,
                        100 + i - (m->where == FROM_SELF), MPI_COMM_WORLD, &e->r));
    p->r[i] = e->r;
}

static void hold(struct program *p)
{
    p->gate = p->gate == NULL ? p->gates : p->gate + 1;
    MTEST_CHECK(p->gate < p->gates + GATES);
    MTEST_OK(MPIX_Host_stream_launch(p->stream, mtest_gate_fn, p->gate));
    mtest_gate_wait_reached(p->gate);
    trace_ring_begin(p->stream);
}

static void let_go(struct program *p)
{
    mtest_gate_open(p->gate);
}

static struct program *program_make(const char *name, const struct message *messages, int n)
{
    struct program *p = calloc(1, sizeof *p);
    void *stream;

    programs[n_programs++] = p;
    (void)snprintf(p->name, sizeof p->name, "%s", name);
    p->n = n;
    MTEST_OK(MPIX_Host_stream_create(&p->stream));
    stream = p->stream;
    MTEST_OK(MPIX_Queue_init(&p->queue, MPIX_QUEUE_AUTO, &stream));
    if (by_nic && n_programs == 1) {
        trace_nic_watch(true); /* which is open from now on */
    }
    for (int i = 0; i < n; i++) {
        element_make(p, i, &messages[i]);
    }
    MTEST_OK(MPIX_Matchall(n, p->r));
    for (int i = 0; i < n; i++) {
        mtest_buf_fill(&p->e[i].buf, p->e[i].sends ? i : 1000 + i);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    trace_begin();
    return p;
}

static void program_end(struct program *p)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    trace_end(p->name);
}

static void check_data(struct program *p)
{
    for (int i = 0; i < p->n; i++) {
        const struct message *m = p->e[i].m;

        if (!p->e[i].sends && m->where != FROM_NULL) {
            MTEST_FULL(&p->e[i].buf, i - (m->where == FROM_SELF));
        }
    }
}

static void start_all(struct program *p, int first, int n)
{
    trace_add(TRACE_CALLS, "startall(%d)", n);
    MTEST_OK(MPIX_Enqueue_startall(p->queue, n, &p->r[first]));
    trace_ring(p->stream);
}

static void wait_all(struct program *p, int first, int n)
{
    trace_add(TRACE_CALLS, "waitall(%d)", n);
    MTEST_OK(MPIX_Enqueue_waitall(p->queue, n, &p->r[first]));
    trace_ring(p->stream);
}

static void start_one(struct program *p, int i)
{
    trace_add(TRACE_CALLS, "start");
    MTEST_OK(MPIX_Enqueue_start(p->queue, &p->r[i]));
    trace_ring(p->stream);
}

static void wait_one(struct program *p, int i)
{
    trace_add(TRACE_CALLS, "wait");
    MTEST_OK(MPIX_Enqueue_wait(p->queue, &p->r[i]));
    trace_ring(p->stream);
}

static void all_at_once(const char *name, const struct message *messages, int n, int rounds)
{
    struct program *p = program_make(name, messages, n);

    for (int round = 0; round < rounds; round++) {
        hold(p);
        start_all(p, 0, n);
        wait_all(p, 0, n);
        let_go(p);
        MTEST_OK(MPIX_Queue_wait(p->queue));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* for ready sends of the next round */
    }
    program_end(p);
    check_data(p);
}

/* Started and waited for by one call, which GPUs make one launch of. */
static void by_one_call(const char *name, const struct message *messages, int n)
{
    struct program *p = program_make(name, messages, n);

    hold(p);
    trace_add(TRACE_CALLS, "startwaitall(%d)", n);
    MTEST_OK(MPIX_Enqueue_startwaitall(p->queue, n, p->r));
    trace_ring(p->stream);
    let_go(p);
    MTEST_OK(MPIX_Queue_wait(p->queue));
    program_end(p);
    check_data(p);
}

/* Three times in the stream before it executes the first. */
static void one_by_one(const char *name, const struct message *message)
{
    struct program *p = program_make(name, message, 1);

    hold(p);
    for (int i = 0; i < 3; i++) {
        start_one(p, 0);
        wait_one(p, 0);
    }
    let_go(p);
    MTEST_OK(MPIX_Queue_wait(p->queue));
    program_end(p);
    check_data(p);
}

/* One end's start is executed before the other's is enqueued. */
static void one_first(const char *name, const struct message *message, int first)
{
    struct program *p = program_make(name, message, 1);

    for (int turn = 0; turn < 2; turn++) {
        if ((mtest_rank == first) == (turn == 0)) {
            hold(p);
            start_one(p, 0);
            let_go(p);
            hold(p); /* behind it */
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    wait_one(p, 0);
    let_go(p);
    MTEST_OK(MPIX_Queue_wait(p->queue));
    program_end(p);
    check_data(p);
}

/* An array call that fails at its second element enqueues nothing. */
static void misuse(const struct message messages[3])
{
    struct program *p = program_make("misuse in the middle", messages, 3);

    hold(p);
    start_one(p, 1);
    trace_add(TRACE_CALLS, "startall(3), which is refused");
    MTEST_CLASS(MPIX_Enqueue_startall(p->queue, 3, p->r), MTEST_ANY_CLASS);
    trace_ring(p->stream);
    start_one(p, 0);
    start_one(p, 2);
    trace_add(TRACE_CALLS, "wait for all started");
    MTEST_OK(MPIX_Enqueue_waitall(p->queue, 3, p->r));
    trace_ring(p->stream);
    let_go(p);
    MTEST_OK(MPIX_Queue_wait(p->queue));
    program_end(p);
    check_data(p);
}

static void refused(struct program *p)
{
    MTEST_CLASS(MPIX_Queue_wait(p->queue), MTEST_ANY_CLASS);
    trace_add(TRACE_CALLS, "after the failure");
    MTEST_CLASS(MPIX_Enqueue_startall(p->queue, p->n, p->r), MTEST_ANY_CLASS);
    MTEST_CLASS(MPIX_Enqueue_waitall(p->queue, p->n, p->r), MTEST_ANY_CLASS);
    trace_ring(p->stream);
}

/* The receiver frees its end while the start is enqueued and not executed. */
static void peer_frees(const struct message *message)
{
    struct program *p = program_make("freed by the peer", message, 1);

    if (mtest_rank == 0) {
        hold(p);
        start_one(p, 0);
        wait_one(p, 0);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Request_free(&p->r[0]));
    } else {
        let_go(p);
        refused(p);
    }
    program_end(p);
}

/* Until the library has started as many requests of MPI. */
static void let_go_and_follow(struct program *p, int n)
{
    int before = trace_starts();

    let_go(p);
    for (unsigned tries = 0; trace_starts() < before + n;) {
        mtest_backoff(&tries);
    }
}

/* MPI refuses the third of four starts at rank 0. Those before it are made, and the one behind.
 * Before that rank 1, which hears of it, has made its own and enqueued all. */
static void start_fails(const struct message messages[4])
{
    struct program *p = program_make("a start by MPI fails", messages, 4);

    hold(p);
    start_all(p, 0, 4);
    if (mtest_rank == 1) {
        let_go_and_follow(p, 4);
    }
    wait_all(p, 0, 4);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        trace_fail_start(3);
        /* The wait of the queue ends when the third has failed: the fourth may not be made yet. */
        let_go_and_follow(p, 4);
    }
    refused(p);
    trace_fail_start(0);
    program_end(p);
}

/* What rank 0 sent last is received into nowhere by the library at rank 1, when that looks at what
 * was freed, and completes at rank 0 when that does. To match has both look. */
static void settle(void)
{
    enum { ROUNDS = 4 };
    int number = 0;
    MPI_Request r;

    for (int round = 0; round < ROUNDS; round++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &number, 1, MPI_INT,
                                peer, 200 + round, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Request_free(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void free_all(void)
{
    for (int i = 0; i < n_programs; i++) {
        struct program *p = programs[i];

        MTEST_OK(MPIX_Queue_free(&p->queue));
        for (int k = 0; k < p->n; k++) {
            if (p->r[k] != MPI_REQUEST_NULL) {
                MTEST_OK(MPI_Request_free(&p->r[k]));
            }
        }
        MTEST_OK(MPIX_Host_stream_destroy(&p->stream));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    settle();
    for (int i = 0; i < n_programs; i++) {
        for (int k = 0; k < programs[i]->n; k++) {
            (void)setenv("MTEST_BUFFER", programs[i]->e[k].m->gaps ? "pageable" : memory, 1);
            mtest_buf_free(&programs[i]->e[k].buf);
        }
        free(programs[i]);
    }
}

static const struct message mixed[MOST] = {
    {TO_1, MTEST_SEND, SMALL, false},      {TO_0, MTEST_SEND, SMALL, false},
    {TO_1, MTEST_RSEND, SMALL, false},     {TO_0, MTEST_RSEND, SMALL, false},
    {TO_NULL, MTEST_SEND, SMALL, false},   {TO_1, MTEST_SEND, SMALL, true},
    {TO_0, MTEST_SEND, SMALL, true},       {TO_SELF, MTEST_SEND, SMALL, false},
    {FROM_SELF, MTEST_SEND, SMALL, false}, {TO_1, MTEST_SSEND, SMALL, false},
    {TO_0, MTEST_SSEND, SMALL, false},     {FROM_NULL, MTEST_SEND, SMALL, false},
    {TO_1, MTEST_SEND, MEDIUM, false},     {TO_0, MTEST_SEND, MEDIUM, false},
    {TO_1, MTEST_RSEND, MEDIUM, false},    {TO_0, MTEST_RSEND, MEDIUM, false}};
static const struct message
    one = {TO_1, MTEST_SEND, SMALL, false},
    ready = {TO_1, MTEST_RSEND, SMALL, false}, synchronous = {TO_1, MTEST_SSEND, SMALL, false},
    large[2] = {{TO_1, MTEST_SEND, LARGE, false}, {TO_0, MTEST_SSEND, LARGE, false}},
    nobody[2] = {{TO_NULL, MTEST_SEND, SMALL, false}, {FROM_NULL, MTEST_SEND, SMALL, false}},
    self[2] = {{TO_SELF, MTEST_SEND, SMALL, false}, {FROM_SELF, MTEST_SEND, SMALL, false}},
    four[4] = {{TO_1, MTEST_SEND, SMALL, false},
               {TO_1, MTEST_SEND, SMALL, false},
               {TO_1, MTEST_SEND, SMALL, false},
               {TO_1, MTEST_SEND, SMALL, false}},
    eight[8] = {{TO_1, MTEST_SEND, PAGE, false}, {TO_1, MTEST_SEND, PAGE, false},
                {TO_1, MTEST_SEND, PAGE, false}, {TO_1, MTEST_SEND, PAGE, false},
                {TO_1, MTEST_SEND, PAGE, false}, {TO_1, MTEST_SEND, PAGE, false},
                {TO_1, MTEST_SEND, PAGE, false}, {TO_1, MTEST_SEND, PAGE, false}};

static void run_all(bool mpi_fails)
{
    one_by_one("one", &one);
    one_by_one("one, ready", &ready);
    all_at_once("sixteen", mixed, MOST, 2);
    all_at_once("large", large, 2, 2);
    all_at_once("to nobody", nobody, 2, 1);
    all_at_once("to self", self, 2, 2);
    by_one_call("four by one call", four, 4);
    all_at_once("eight of a page", eight, 8, 1);
    one_first("the receive first", &one, 1);
    one_first("the send first", &one, 0);
    misuse(four);
    if (mpi_fails) {
        start_fails(four);
    }
    peer_frees(&synchronous);
}

int main(int argc, char **argv)
{
    const char *buffer = getenv("MTEST_BUFFER");

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (argc < 2 || mtest_size != 2) {
        MTEST_CHECK(!"an argument, and two ranks");
        return mtest_end();
    }
    memory = strdup(buffer != NULL ? buffer : "pageable");
    peer = 1 - mtest_rank;
    by_nic = argc > 2 && strcmp(argv[2], "nic") == 0;
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    trace_gpu_watch(true);
    run_all(argc > 2 && strcmp(argv[2], "fails") == 0);
    trace_gpu_watch(false);
    if (by_nic) {
        trace_nic_watch(false);
    }
    trace_compare(argv[1]);
    free_all();
    MPI_Type_free(&gaps);
    free(memory);
    return mtest_end();
}
