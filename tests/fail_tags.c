/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * An MPI library with few tags, played by a PMPI_Comm_get_attr of our own: when they are used up,
 * Match says 'no resources', and freeing requests makes room again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mtest.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { LIMIT = 48, PAIRS = 3 * LIMIT, TAG = 1 };

typedef int (*get_attr_fn)(MPI_Comm, int, void *, int *);

int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    static int limit = LIMIT;
    union {
        void *object;
        get_attr_fn function;
    } next = {.object = dlsym(RTLD_NEXT, "PMPI_Comm_get_attr")};

    if (next.object == NULL) {
        abort();
    }
    if (keyval == MPI_TAG_UB) {
        *(int **)value = &limit;
        *flag = 1;
        return MPI_SUCCESS;
    }
    return next.function(comm, keyval, value, flag);
}

static int in[PAIRS];
static int out[PAIRS];
static MPI_Request recv[PAIRS];
static MPI_Request send[PAIRS];

static void make(int peer)
{
    for (int i = 0; i < PAIRS; i++) {
        in[i] = -1;
        out[i] = 1000 * mtest_rank + i;
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &recv[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &send[i]));
    }
}

/* How many of the pairs could be matched: the first ones, and each of them on both sides. */
static int match_until_full(void)
{
    int matched = 0;

    for (int i = 0; i < PAIRS; i++) {
        MPI_Request pair[2] = {recv[i], send[i]};
        struct mtest_errors before = mtest_errors();
        int rc = MPIX_Matchall(2, pair);
        int flags[2] = {-1, -1};

        MTEST_OK(MPIX_Is_matched(recv[i], &flags[0]));
        MTEST_OK(MPIX_Is_matched(send[i], &flags[1]));
        if (rc == MPI_SUCCESS) {
            MTEST_EQ(flags[0] + flags[1], 2);
            MTEST_EQ(matched, i);
            matched++;
        } else {
            mtest_kind(__FILE__, __LINE__, "MPIX_Matchall", rc, MPIXQ_ERR_RESOURCES, NULL, before);
            MTEST_EQ(flags[0] + flags[1], 0);
        }
    }
    return matched;
}

static void use(MPIX_Queue queue, int peer, int matched)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, matched, recv));
    MTEST_OK(MPIX_Enqueue_startall(queue, matched, send));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < matched; i++) {
        MTEST_EQ(in[i], 1000 * peer + i);
    }
}

static void free_all(void)
{
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&recv[i]));
        MTEST_OK(MPI_Request_free(&send[i]));
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int peer;
    int first;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(peer);
    first = match_until_full();
    MTEST_CHECK(first >= LIMIT / 4 && first <= LIMIT + 1);
    use(queue, peer, first);
    free_all();
    /* When both sides have freed a pair its tag is free for what they match afterwards. */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 10; round++) {
        make(peer);
        MTEST_EQ(match_until_full(), first);
        use(queue, peer, first);
        free_all();
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
