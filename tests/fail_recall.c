/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Receives are freed after their queue has failed, while MPI has matched them with large messages
 * whose sender is stopped. MPI cannot cancel them any more, and the data do not come: the frees
 * return all the same, and soon; other pairs are matched and used meanwhile, and once the sender
 * goes on they end as usual.
 */
#include "inject.h"
#include "mtest.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 7, LARGE = 3 << 20, SMALLER = 1 << 18, MANY = 40, MOST_S = 30 };

/* Is it stopped? Linux tells a process's state behind its name. */
static int is_stopped(long pid)
{
    char path[64], state = 0;
    FILE *file;
    int n;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    n = fscanf(file, "%*d (%*[^)]) %c", &state);
    (void)fclose(file);
    return n == 1 ? state == 'T' : -1;
}

static long seconds_since(const struct timespec *begin)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - begin->tv_sec;
}

static void await_stop(long pid)
{
    struct timespec begin;
    int state;

    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        usleep(1000);
        state = is_stopped(pid);
    } while (state == 0 && seconds_since(&begin) < MOST_S);
    MTEST_EQ(state, 1);
}

/* A message to this rank itself. */
static void use_another_pair(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    mtest_exchange(__FILE__, __LINE__, queue, MPI_COMM_SELF, 0);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* Until MPI has been given the first of them, however late the library's thread comes to run. */
static void start_all(MPIX_Queue queue, MPI_Request r[])
{
    long before = inject_started();
    struct timespec begin;

    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    MTEST_OK(MPIX_Enqueue_startall(queue, MANY, r));
    while (inject_started() == before && seconds_since(&begin) < MOST_S) {
        usleep(1000);
    }
    MTEST_CHECK(inject_started() > before);
    MTEST_OK(MPIX_Enqueue_waitall(queue, MANY, r));
}

static void free_all(MPI_Request r[])
{
    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* The sender's process is stopped here until the receiver has it go on. */
static void send_and_stop(MPI_Request sends[])
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int rc;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    start_all(queue, sends);
    usleep(300000); /* MPI announces the messages meanwhile */
    MTEST_EQ(raise(SIGSTOP), 0);
    rc = MPIX_Queue_wait(queue); /* they may have come, or the peer's failure been heard of */
    mtest_forgive(rc != MPI_SUCCESS);
    MTEST_OK(MPIX_Queue_free(&queue));
    free_all(sends);
}

static void receive_in_vain(MPI_Request receives[], long pid)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct timespec begin;
    char text[400];

    await_stop(pid);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    start_all(queue, receives);
    MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT); /* the watchdog */
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_capture();
    free_all(receives);
    mtest_captured(text, sizeof text);
    MTEST_CHECK(strstr(text, "freed while its message came") != NULL); /* it is as said above */
    use_another_pair();
    MTEST_CHECK(seconds_since(&begin) < MOST_S);
    MTEST_EQ(kill((pid_t)pid, SIGCONT), 0);
}

static void test_stopped(int sender)
{
    static struct mtest_buf all[2][MANY]; /* MPI may write there until it ends */
    struct mtest_buf *b = all[sender];
    MPI_Request r[MANY];
    long pid = getpid();

    for (int i = 0; i < MANY; i++) {
        mtest_buf_make(&b[i], MPI_BYTE, i == 0 ? LARGE : SMALLER);
        mtest_buf_clear(&b[i]);
        MTEST_OK(mtest_init(mtest_rank == sender ? MTEST_SEND : MTEST_RECV, &b[i], 1 - mtest_rank,
                            TAG + i, MPI_COMM_WORLD, &r[i]));
    }
    MTEST_OK(MPIX_Matchall(MANY, r));
    MTEST_OK(MPI_Bcast(&pid, 1, MPI_LONG, sender, MPI_COMM_WORLD));
    if (mtest_rank == sender) {
        send_and_stop(r);
    } else {
        receive_in_vain(r, pid);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    use_another_pair();
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The tag of such a pair is used again in vain or not: another message arrives as it is. */
static void test_after(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int i = 0; i < 3; i++) {
        mtest_exchange(__FILE__, __LINE__, queue, MPI_COMM_WORLD, 1 - mtest_rank);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
}

int main(int argc, char *argv[])
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_stopped(0);
    test_stopped(1);
    test_after();
    return mtest_end();
}
