/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What enqueueing requests that were started before must not do in the calling thread, nor puts,
 * plans, and waits and resets of signals, of which as many were enqueued before: allocate, take a
 * lock of the C library, or make a system call (which is also how a line would be logged). A gate
 * keeps the stream busy meanwhile, since waking a stream that sleeps is a system call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "mtest.h"

#include <dlfcn.h>
#include <mpix_queue_rma.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

enum { PASS = 0, TRAP = 1 };

static _Thread_local int counting;
static int n_allocations, n_locks, n_system, last_system;
static volatile char selector = PASS;

/* Stand in front of the C library's. */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

void *malloc(size_t bytes)
{
    n_allocations += counting;
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    n_allocations += counting;
    return __libc_calloc(n, bytes);
}

void *realloc(void *block, size_t bytes)
{
    n_allocations += counting;
    return __libc_realloc(block, bytes);
}

void free(void *block)
{
    n_allocations += counting;
    __libc_free(block);
}

typedef int mutex_function(pthread_mutex_t *mutex);

static int pass_on(const char *name, mutex_function *_Atomic *next, pthread_mutex_t *mutex)
{
    int was = counting;
    mutex_function *function = *next;

    n_locks += was;
    if (function == NULL) {
        counting = 0;
        *(void **)&function = dlsym(RTLD_NEXT, name);
        *next = function;
        counting = was;
    }
    return function(mutex);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static mutex_function *_Atomic next;

    return pass_on("pthread_mutex_lock", &next, mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    static mutex_function *_Atomic next;

    return pass_on("pthread_mutex_trylock", &next, mutex);
}

/* The kernel hands the thread's system calls to this instead, while they are to be counted. The
 * first one is enough: it fails, and the rest pass. */
static void trapped(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    selector = PASS;
    n_system++;
    last_system = info->si_syscall;
}

static int can_trap(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, NULL);
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &selector) == 0;
}

static void count_begin(void)
{
    n_allocations = n_locks = n_system = 0;
    counting = 1;
    selector = TRAP;
}

static void count_end(const char *what)
{
    selector = PASS;
    counting = 0;
    if (n_allocations + n_locks + n_system > 0) {
        mtest_fail(__FILE__, __LINE__, "%s: %d allocations, %d locks, %d system calls (number %d)",
                   what, n_allocations, n_locks, n_system, last_system);
    }
}

/* The counters count: each of these is seen. */
static void test_counters(int trapping)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    void *volatile block;

    count_begin();
    block = malloc(8);
    free(block);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    (void)prctl(PR_GET_DUMPABLE);
    selector = PASS;
    counting = 0;
    MTEST_EQ(n_allocations, 2);
    MTEST_EQ(n_locks, 1);
    MTEST_EQ(n_system, trapping);
}

enum { PAIRS = 8, ROUNDS = 4 };

struct set {
    int in[PAIRS], out[PAIRS];
    MPI_Request r[2 * PAIRS + 2]; /* receives, sends, nobody, null */
    int from;
};

enum { ALL = 2 * PAIRS + 2 };

static void set_make(struct set *s, int to, int from)
{
    s->from = from;
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Recv_init(&s->in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(MPI_Send_init(&s->out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &s->r[PAIRS + i]));
    }
    MTEST_OK(MPI_Recv_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s->r[ALL - 2]));
    s->r[ALL - 1] = MPI_REQUEST_NULL;
    MTEST_OK(MPIX_Matchall(ALL, s->r));
}

static void all_at_once(MPIX_Queue queue, struct set *s)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, ALL, s->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, ALL, s->r));
}

static void all_started(MPIX_Queue queue, struct set *s)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, ALL, s->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
}

static void one_by_one(MPIX_Queue queue, struct set *s)
{
    for (int i = 0; i < ALL; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &s->r[i]));
    }
    for (int i = 0; i < ALL; i++) {
        MTEST_OK(MPIX_Enqueue_wait(queue, &s->r[i]));
    }
}

/* Enqueue one round; count what that does if it is not the first. */
static void run_round(MPIX_Queue queue, MPIX_Host_stream stream, struct set *s, int round,
                      void (*enqueue)(MPIX_Queue, struct set *), const char *what)
{
    struct mtest_gate gate = {0};

    for (int i = 0; i < PAIRS; i++) {
        s->in[i] = -1;
        s->out[i] = mtest_rank * 1000 + round * 10 + i;
    }
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    mtest_gate_wait_reached(&gate);
    if (round > 0) {
        count_begin();
    }
    enqueue(queue, s);
    if (round > 0) {
        count_end(what);
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < PAIRS; i++) {
        MTEST_EQ(s->in[i], s->from * 1000 + round * 10 + i);
    }
}

static void test_set(MPIX_Queue queue, MPIX_Host_stream stream, int to, int from)
{
    struct set s;

    set_make(&s, to, from);
    for (int round = 0; round < ROUNDS; round++) {
        run_round(queue, stream, &s, round, all_at_once, "startall and waitall");
        run_round(queue, stream, &s, round, all_started, "startall and wait for all started");
        run_round(queue, stream, &s, round, one_by_one, "start and wait one by one");
    }
    for (int i = 0; i < ALL - 1; i++) {
        MTEST_OK(MPI_Request_free(&s.r[i]));
    }
}

enum { PUTS = 3 }; /* of a round: one, and a plan of the others */

struct puts {
    MPIX_Window win;
    MPIX_Signal came;
    MPIX_Blk local[PUTS], remote[PUTS];
    MPIX_Plan plan;
    int words[2 * PUTS]; /* what is put, and what comes */
};

static void puts_make(struct puts *p, int to, int from)
{
    MPI_Aint each = sizeof p->words[0];
    MPIX_Blk mine[PUTS];

    MTEST_OK(MPIX_Window_create(p->words, sizeof p->words, MPI_COMM_WORLD, MPI_INFO_NULL, &p->win));
    MTEST_OK(MPIX_Signal_init(p->win, PUTS, &p->came));
    for (int i = 0; i < PUTS; i++) {
        MTEST_OK(MPIX_Blk_init(p->win, i * each, each, MPIX_SIGNAL_NULL, &p->local[i]));
        MTEST_OK(MPIX_Blk_init(p->win, (PUTS + i) * each, each, p->came, &mine[i]));
    }
    MTEST_OK(MPI_Sendrecv(mine, sizeof mine, MPI_BYTE, from, 0, p->remote, sizeof p->remote,
                          MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Plan_create(PUTS - 1, &p->local[1], &p->remote[1], &p->plan));
}

static void put_all(MPIX_Queue queue, const struct puts *p, int at_once)
{
    MTEST_OK(MPIX_Enqueue_put(queue, &p->local[0], &p->remote[0]));
    MTEST_OK(MPIX_Enqueue_plan_start(queue, p->plan));
    if (at_once) {
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, p->came));
        return;
    }
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, p->came));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, p->came));
}

static void test_puts(MPIX_Queue queue, MPIX_Host_stream stream, int to, int from)
{
    struct puts p;

    puts_make(&p, to, from);
    for (int round = 0; round < ROUNDS; round++) {
        struct mtest_gate gate = {0};

        for (int i = 0; i < PUTS; i++) {
            p.words[i] = mtest_rank * 1000 + round * 10 + i;
        }
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        mtest_gate_wait_reached(&gate);
        if (round > 0) {
            count_begin();
        }
        put_all(queue, &p, round % 2 == 0);
        if (round > 0) {
            count_end("puts, and a signal");
        }
        mtest_gate_open(&gate);
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < PUTS; i++) {
            MTEST_EQ(p.words[PUTS + i], from * 1000 + round * 10 + i);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* who is ahead would put into the next round */
    }
    MTEST_OK(MPIX_Plan_free(&p.plan));
    MTEST_OK(MPIX_Window_free(&p.win));
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    int trapping;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    trapping = can_trap();
    if (!trapping) {
        mtest_skip("this kernel does not hand system calls to the program, so none can be counted");
    }
    test_counters(trapping);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, &stream));
    test_set(queue, stream, mtest_rank, mtest_rank);
    test_set(queue, stream, (mtest_rank + 1) % mtest_size,
             (mtest_rank + mtest_size - 1) % mtest_size);
    test_puts(queue, stream, mtest_rank, mtest_rank);
    test_puts(queue, stream, (mtest_rank + 1) % mtest_size,
              (mtest_rank + mtest_size - 1) % mtest_size);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
