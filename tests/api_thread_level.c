/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Thread levels. Argument 1: how MPI is initialised (init, single, funneled, serialized,
 * multiple). Argument 2: whether a queue can then be made (granted, refused).
 */
#include "mtest.h"

#include <stdio.h>
#include <string.h>

static int level_named(const char *name)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {
        {"single", MPI_THREAD_SINGLE},
        {"funneled", MPI_THREAD_FUNNELED},
        {"serialized", MPI_THREAD_SERIALIZED},
        {"multiple", MPI_THREAD_MULTIPLE},
    };

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(name, levels[i].name) == 0) {
            return levels[i].level;
        }
    }
    return -1;
}

/* Matching is for every thread level: two ranks that match at the same time need no thread. */
static void test_match(int peer)
{
    MPI_Request r[2];
    int in = 0;
    int out = 5;
    int flag = 0;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Is_matched(r[i], &flag));
        MTEST_EQ(flag, 1);
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "init";
    int granted = argc > 2 && strcmp(argv[2], "granted") == 0;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int provided = -1;
    int queried = -1;
    int peer;

    if (strcmp(how, "init") == 0) {
        MPI_Init(&argc, &argv);
    } else {
        MPI_Init_thread(&argc, &argv, level_named(how), &provided);
        MTEST_CHECK(provided >= level_named(how));
    }
    mtest_adopt();
    MTEST_OK(MPI_Query_thread(&queried));
    if (provided != -1) {
        MTEST_EQ(queried, provided);
    }
    peer = mtest_size > 1 ? 1 - mtest_rank : 0;
    if (granted) {
        MTEST_EQ(queried, MPI_THREAD_MULTIPLE);
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
        MTEST_OK(MPIX_Queue_free(&queue));
    } else if (queried == MPI_THREAD_MULTIPLE) {
        mtest_skip("this MPI gives MPI_THREAD_MULTIPLE whatever is asked for");
    } else {
        MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL), MPIXQ_ERR_THREAD_LEVEL,
                        "MPI_THREAD_MULTIPLE");
        MTEST_CHECK(queue == MPIX_QUEUE_NULL);
    }
    test_match(peer);
    return mtest_end();
}
