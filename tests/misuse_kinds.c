/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests of other kinds are refused by every function: ordinary, generalized and partitioned
 * ones, collectives of a kind that is not matched, the request of a match, and handles that were
 * freed and given out again for one of those.
 */
#include "mtest.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

enum { TAG = 1, TRIES = 64 };

static void refuse(MPIX_Queue queue, MPI_Request r)
{
    MPI_Request keep = r;
    MPI_Request match = MPI_REQUEST_NULL;
    int flag = -1;

    MTEST_KIND(MPIX_Match(&r), MPIXQ_ERR_REQUEST);
    MTEST_KIND(MPIX_Imatch(&r, &match), MPIXQ_ERR_REQUEST);
    MTEST_KIND(MPIX_Is_matched(r, &flag), MPIXQ_ERR_REQUEST);
    MTEST_KIND(MPIX_Enqueue_start(queue, &r), MPIXQ_ERR_REQUEST);
    MTEST_KIND(MPIX_Enqueue_wait(queue, &r), MPIXQ_ERR_REQUEST);
    MTEST_EQ(flag, -1);
    MTEST_CHECK(r == keep && match == MPI_REQUEST_NULL);
}

static int no_query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int no_free(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int no_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static int make_alltoall(MPI_Request *r)
{
    static int words[4];

#if MPI_VERSION >= 4
    MTEST_OK(MPI_Alltoall_init(words, 1, MPI_INT, &words[2], 1, MPI_INT, MPI_COMM_WORLD,
                               MPI_INFO_NULL, r));
    return 1;
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
    MTEST_OK(MPIX_Alltoall_init(words, 1, MPI_INT, &words[2], 1, MPI_INT, MPI_COMM_WORLD,
                                MPI_INFO_NULL, r));
    return 1;
#else
    (void)words;
    (void)r;
    return 0;
#endif
}

static int make_partitioned(int *word, MPI_Request *r)
{
#if MPI_VERSION >= 4
    MTEST_OK(
        MPI_Psend_init(word, 1, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, r));
    return 1;
#else
    (void)word;
    (void)r;
    return 0;
#endif
}

static void test_plain(MPIX_Queue queue)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Request other = MPI_REQUEST_NULL;
    int in = -1;
    int out = 4;

    MTEST_OK(MPI_Irecv(&in, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r));
    refuse(queue, r);
    MTEST_OK(MPI_Isend(&out, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &other));
    refuse(queue, other);
    MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    MTEST_EQ(in, 4);
    MTEST_OK(MPI_Ibarrier(MPI_COMM_WORLD, &r));
    refuse(queue, r);
    MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Grequest_start(no_query, no_free, no_cancel, NULL, &r));
    refuse(queue, r);
    MTEST_OK(MPI_Grequest_complete(r));
    MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void test_match_request(MPIX_Queue queue)
{
    MPI_Request r[2];
    MPI_Request match = MPI_REQUEST_NULL;
    int word[2] = {0};

    MTEST_OK(MPI_Recv_init(&word[0], 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&word[1], 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Imatchall(2, r, &match));
    refuse(queue, match);
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

static void test_other_persistent(MPIX_Queue queue)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int word = 0;

    if (make_alltoall(&r)) {
        refuse(queue, r);
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        MTEST_OK(MPI_Request_free(&r));
    }
    /* One that is only made: both MPI libraries may wait for a partner at a start. */
    if (make_partitioned(&word, &r)) {
        refuse(queue, r);
        MTEST_OK(MPI_Request_free(&r));
    }
}

/* How often the handle of a freed persistent request comes back; 0 is no failure of anything. */
struct reused {
    int irecv;
    int collective;
    int partitioned;
};

/* A record must go when its request goes, or the next owner of the handle is taken for it. */
static void test_reused_handle(MPIX_Queue queue, struct reused *seen)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Request again = MPI_REQUEST_NULL;
    int word = 0;

    for (int i = 0; i < TRIES; i++) {
        MPI_Request old;

        if (i % 2 == 0) {
            MTEST_OK(MPI_Send_init(&word, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r));
        } else {
            MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r));
        }
        old = r;
        MTEST_OK(MPI_Request_free(&r));
        if (i % 3 == 0) {
            MTEST_OK(MPI_Irecv(&word, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &again));
            seen->irecv += again == old;
            refuse(queue, again);
            MTEST_OK(MPI_Cancel(&again));
            MTEST_OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
        } else if (i % 3 == 1 && make_alltoall(&again)) {
            seen->collective += again == old;
            refuse(queue, again);
            MTEST_OK(MPI_Request_free(&again));
        } else if (make_partitioned(&word, &again)) {
            seen->partitioned += again == old;
            refuse(queue, again);
            MTEST_OK(MPI_Request_free(&again));
        }
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct reused seen = {0};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_plain(queue);
    test_match_request(queue);
    test_other_persistent(queue);
    test_reused_handle(queue, &seen);
    /* Both MPI libraries that this is tested with give a freed handle to the next request. */
    MTEST_CHECK(seen.irecv + seen.collective + seen.partitioned > 0);
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
