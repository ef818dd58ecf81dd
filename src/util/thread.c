/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "thread.h"

#include <signal.h>
#include <time.h>

#include "affinity.h"
#include "alloc.h"
#include "backoff.h"

struct start {
    void *(*run)(void *);
    void *arg;
    const char *name;
};

static void *thread_main(void *arg)
{
    struct start start = *(struct start *)arg;
    struct mpixq_seat seat;
    void *result;

    mpixq_free(arg);
    mpixq_affinity_sit(&seat, start.name);
    result = start.run(start.arg);
    mpixq_affinity_rise();
    return result;
}

/* Signals of the program go to its own threads. Those that an instruction of ours causes cannot: if
 * they are blocked, the process ends without its handler. */
static void block_signals(sigset_t *kept_p)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all;

    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        (void)sigdelset(&all, own[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &all, kept_p);
}

bool mpixq_thread_create_idle(pthread_t *thread_p, void *(*run)(void *), void *arg,
                              const char *name)
{
    sigset_t kept;
    int rc;

    block_signals(&kept);
    rc = pthread_create(thread_p, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
    if (rc == 0) {
        (void)pthread_setname_np(*thread_p, name);
    }
    return rc == 0;
}

bool mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg, const char *name)
{
    struct start *start = mpixq_alloc(sizeof *start); /* freed by the thread */

    if (start == NULL) {
        return false;
    }
    *start = (struct start){.run = run, .arg = arg, .name = name};
    if (!mpixq_thread_create_idle(thread_p, thread_main, start, name)) {
        mpixq_free(start);
        return false;
    }
    return true;
}

void mpixq_submission_wait(struct mpixq_submission *submission, enum mpixq_submission_state from)
{
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (!mpixq_submission_trylock(submission, from)) {
        mpixq_backoff_pause(&backoff);
    }
}

static enum mpixq_submission_state take_any(struct mpixq_submission *submission)
{
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    for (;;) {
        if (mpixq_submission_trylock(submission, MPIXQ_SUBMISSION_FREE)) {
            return MPIXQ_SUBMISSION_FREE;
        }
        if (mpixq_submission_trylock(submission, MPIXQ_SUBMISSION_LENT)) {
            return MPIXQ_SUBMISSION_LENT;
        }
        mpixq_backoff_pause(&backoff);
    }
}

enum mpixq_submission_state mpixq_submission_borrow(struct mpixq_submission *submission)
{
    enum mpixq_submission_state was;

    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_check(MPIXQ_RANK_QUEUE);
    }
    was = take_any(submission);
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(submission, MPIXQ_RANK_QUEUE);
    }
    return was;
}
