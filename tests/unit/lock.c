/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * lock.c - the order of locks, as builds with --enable-debug check it: a thread that breaks it ends
 * the process and says which two locks it was, also where no other thread wanted them
 */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/backoff.h"
#include "util/lock.h"
#include "util/thread.h"

static struct mpixq_lock matching = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_MATCH);
static struct mpixq_lock comms = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_COMM);
static struct mpixq_lock failure = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_QUEUE_FAIL);
static struct mpixq_lock other_failure = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_QUEUE_FAIL);
static struct mpixq_spin spin = MPIXQ_SPIN_INITIALIZER;
static struct mpixq_submission submission;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

/* What a process says that does this, and whether it was ended by abort. */
static bool ends_itself(void (*wrong)(void), char *said, size_t room)
{
    int ends[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        /* cmocka's own would report a failure of the parent's test; and no time for a deadlock. */
        (void)signal(SIGABRT, SIG_DFL);
        (void)alarm(20);
        wrong();
        _exit(0);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], said + n, room - 1 - n)) > 0) {
        n += (size_t)got;
    }
    said[n] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* It ends the process, with both texts in what is said. */
static void refused(void (*wrong)(void), const char *first, const char *then)
{
    char said[4096];
    const char *at;

    if (!ends_itself(wrong, said, sizeof said)) {
        fail_msg("allowed, saying \"%s\"", said);
    }
    at = strstr(said, first);
    if (at == NULL || strstr(at, then) == NULL) {
        fail_msg("no \"%s\" and \"%s\" in \"%s\"", first, then, said);
    }
}

static void a_rank_after_a_lower_one(void **state)
{
    (void)state;
    mpixq_lock_acquire(&matching);
    mpixq_lock_acquire(&comms);
    mpixq_spin_lock(&spin);
    mpixq_spin_unlock(&spin);
    /* In any order: only who takes waits. */
    mpixq_lock_release(&matching);
    mpixq_lock_release(&comms);
    mpixq_lock_acquire(&matching);
    mpixq_lock_release(&matching);
}

static void against_the_order(void)
{
    mpixq_lock_acquire(&comms);
    mpixq_lock_acquire(&matching);
}

static void twice(void)
{
    mpixq_lock_acquire(&failure);
    mpixq_lock_acquire(&failure);
}

static void two_of_a_rank(void)
{
    mpixq_lock_acquire(&failure);
    mpixq_lock_acquire(&other_failure);
}

/* The lowest of what is held is not what was taken last. */
static void below_one_that_was_tried_over(void)
{
    mpixq_lock_acquire(&comms);
    if (mpixq_lock_try(&matching)) {
        mpixq_lock_acquire(&failure);
    }
}

static void under_a_spin_lock(void)
{
    mpixq_spin_lock(&spin);
    mpixq_lock_acquire(&comms);
}

static void a_queue_under_the_matching_lock(void)
{
    mpixq_lock_acquire(&matching);
    mpixq_submission_lock(&submission);
}

static void a_lower_rank_is_refused(void **state)
{
    (void)state;
    refused(against_the_order, "MATCH (", "under COMM (");
    refused(twice, "QUEUE_FAIL (", "under QUEUE_FAIL (");
    refused(two_of_a_rank, "QUEUE_FAIL (", "under QUEUE_FAIL (");
    refused(below_one_that_was_tried_over, "QUEUE_FAIL (", "under COMM (");
    refused(under_a_spin_lock, "COMM (", "under SPIN (");
    refused(a_queue_under_the_matching_lock, "QUEUE (", "under MATCH (");
}

static void what_does_not_wait_may_come_late(void **state)
{
    (void)state;
    mpixq_lock_acquire(&comms);
    assert_true(mpixq_lock_try(&matching));
    mpixq_lock_release(&matching);
    assert_true(mpixq_lock_acquire_until(&matching, mpixq_now_ns() + 1000000000));
    mpixq_lock_release(&comms);
    /* One that is held is not taken, and not held twice then. */
    assert_false(mpixq_lock_try(&matching));
    assert_false(mpixq_lock_acquire_until(&matching, mpixq_now_ns() + 1000000));
    mpixq_lock_release(&matching);
}

static void of_somebody_else(void)
{
    mpixq_lock_release(&matching);
}

static void *hold(void *arg)
{
    (void)arg;
    mpixq_lock_acquire(&comms);
    return NULL;
}

static void *let_go(void *arg)
{
    (void)arg;
    mpixq_lock_release(&comms);
    return NULL;
}

static void by_another_thread(void)
{
    pthread_t thread;

    (void)pthread_create(&thread, NULL, hold, NULL);
    (void)pthread_join(thread, NULL);
    /* What another thread holds, this one may take in any order. */
    mpixq_lock_acquire(&matching);
    (void)pthread_create(&thread, NULL, let_go, NULL);
    (void)pthread_join(thread, NULL);
}

static void only_a_holder_releases(void **state)
{
    (void)state;
    refused(of_somebody_else, "MATCH (", "does not hold");
    refused(by_another_thread, "COMM (", "does not hold");
}

/* It would be taken again under the other one. */
static void waits_under_a_higher_one(void)
{
    mpixq_lock_acquire(&matching);
    mpixq_lock_acquire(&comms);
    mpixq_cond_wait(&woken, &matching);
}

static void *wake(void *arg)
{
    mpixq_lock_acquire(&matching);
    *(bool *)arg = true;
    (void)pthread_cond_signal(&woken);
    mpixq_lock_release(&matching);
    return NULL;
}

static void held_after_waiting(void)
{
    bool is_woken = false;
    pthread_t thread;

    mpixq_lock_acquire(&matching);
    (void)pthread_create(&thread, NULL, wake, &is_woken);
    while (!is_woken) {
        mpixq_cond_wait(&woken, &matching);
    }
    mpixq_submission_lock(&submission);
}

static void a_wait_takes_its_lock_again(void **state)
{
    (void)state;
    refused(waits_under_a_higher_one, "MATCH (", "under COMM (");
    refused(held_after_waiting, "QUEUE (", "under MATCH (");
}

/* Who lends the submission lock may wait for one who has the matching lock; once it is reclaimed,
 * it is as before. */
static void a_submission_lock_that_is_lent_is_not_held(void **state)
{
    static struct mpixq_submission other;

    (void)state;
    mpixq_submission_lock(&submission);
    mpixq_submission_lend(&submission);
    mpixq_submission_lock(&other);
    mpixq_submission_unlock(&other);
    mpixq_submission_reclaim(&submission);
    mpixq_lock_acquire(&matching);
    mpixq_lock_release(&matching);
    mpixq_submission_unlock(&submission);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_after_a_lower_one),
        cmocka_unit_test(a_lower_rank_is_refused),
        cmocka_unit_test(what_does_not_wait_may_come_late),
        cmocka_unit_test(only_a_holder_releases),
        cmocka_unit_test(a_wait_takes_its_lock_again),
        cmocka_unit_test(a_submission_lock_that_is_lent_is_not_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
