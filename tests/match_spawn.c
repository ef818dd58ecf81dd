/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Communicators without an identity: with spawned processes, with the parent, and what is made from
 * those. Match says so; the processes' own communicators work. The program spawns itself.
 */
#include "mtest.h"

#include <stdio.h>
#include <string.h>

enum { TAG = 1 };

/* Both directions, with the peer that both sides call 0; nothing may be begun. */
static void refuse(MPI_Comm comm, int peer)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request match = MPI_REQUEST_NULL;
    int word = 0;
    int flag = -1;

    MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, peer, TAG, comm, &r[0]));
    MTEST_OK(MPI_Send_init(&word, 1, MPI_INT, peer, TAG, comm, &r[1]));
    for (int i = 0; i < 2; i++) {
        MTEST_KIND_TEXT(MPIX_Match(&r[i]), MPIXQ_ERR_MATCH, "spawn");
        MTEST_KIND_TEXT(MPIX_Imatch(&r[i], &match), MPIXQ_ERR_MATCH, "spawn");
        MTEST_CHECK(match == MPI_REQUEST_NULL);
        MTEST_OK(MPIX_Is_matched(r[i], &flag));
        MTEST_EQ(flag, 0);
    }
    /* They are still good for MPI. */
    MTEST_OK(MPI_Startall(2, r));
    MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

static void use(MPI_Comm inter, int high)
{
    MPI_Comm merged = MPI_COMM_NULL;
    MPI_Comm dup = MPI_COMM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_count_errors(inter);
    refuse(inter, 0);
    MTEST_OK(MPI_Intercomm_merge(inter, high, &merged));
    mtest_count_errors(merged);
    refuse(merged, 1 - high);
    MTEST_OK(MPI_Comm_dup(merged, &dup));
    mtest_count_errors(dup);
    refuse(dup, 1 - high);
    MTEST_OK(MPI_Comm_free(&dup));
    MTEST_OK(MPI_Comm_free(&merged));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 0);
    MTEST_OK(MPIX_Queue_free(&queue));
}

static int child(MPI_Comm parent)
{
    int failures;

    use(parent, 1);
    failures = mtest_failures();
    MTEST_OK(MPI_Send(&failures, 1, MPI_INT, 0, TAG + 1, parent));
    MTEST_OK(MPI_Comm_disconnect(&parent));
    return mtest_end();
}

static void spawn(char *self)
{
    static char word[] = "child";
    char *args[] = {word, NULL};
    MPI_Comm inter = MPI_COMM_NULL;
    int failures = -1;
    struct mtest_errors before = mtest_errors();
    int rc =
        MPI_Comm_spawn(self, args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);

    if (rc != MPI_SUCCESS) {
        mtest_class(__FILE__, __LINE__, "MPI_Comm_spawn", rc, MTEST_ANY_CLASS, before);
        mtest_skip("this MPI cannot spawn processes here");
        return;
    }
    use(inter, 0);
    MTEST_OK(MPI_Recv(&failures, 1, MPI_INT, 0, TAG + 1, inter, MPI_STATUS_IGNORE));
    MTEST_EQ(failures, 0);
    MTEST_OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char **argv)
{
    MPI_Comm parent = MPI_COMM_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        return child(parent);
    }
    spawn(argv[0]);
    return mtest_end();
}
