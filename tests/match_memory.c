/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A send whose offer finds no memory for its message: the match fails, what the channels have
 * reserved for the offer is given back, and the same request matches later. Linked with the static
 * library, of which one function is replaced.
 */
#include "mtest.h"

#include <stdbool.h>

#include "match/control.h"
#include "core/handles.h"

enum { TAG = 5 };

static bool is_full; /* no memory for offers */

bool __wrap_mpixq_control_send(int world_rank, const struct mpixq_record *record);
bool __real_mpixq_control_send(int world_rank, const struct mpixq_record *record);
bool __wrap_mpixq_control_send(int world_rank, const struct mpixq_record *record)
{
    return !(is_full && record->kind == MPIXQ_WIRE_OFFER) &&
           __real_mpixq_control_send(world_rank, record);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2];
    int in = -1, out, peer;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_count_errors(MPI_COMM_WORLD);
    peer = mtest_size - 1 - mtest_rank;
    out = 70 + mtest_rank;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    is_full = true;
    for (int i = 0; i < 3; i++) {
        MTEST_KIND(MPIX_Match(&r[1]), MPIXQ_ERR_RESOURCES);
        MTEST_EQ(mpixq_handles_find(r[1])->marked, 0);
    }
    is_full = false;
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in, 70 + peer);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
