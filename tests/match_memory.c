/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A send whose offer finds no memory for its message: the match fails, what the channels have
 * reserved for the offer is given back, and the same request matches later. If that is a part of a
 * partitioned request, the match fails at both ends, and neither waits for the other. Linked with
 * the static library, of which one function is replaced.
 */
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "match/control.h"
#include "core/handles.h"

enum { TAG = 5, PARTITIONS = 3 };

static atomic_bool is_full;    /* no memory for offers, */
static atomic_int no_room_for; /* or for this one of those to come, from 1 on; 0 and below: none */

bool __wrap_mpixq_control_send(int world_rank, const struct mpixq_record *record);
bool __real_mpixq_control_send(int world_rank, const struct mpixq_record *record);
bool __wrap_mpixq_control_send(int world_rank, const struct mpixq_record *record)
{
    if (record->kind == MPIXQ_WIRE_OFFER &&
        (atomic_load(&is_full) || atomic_fetch_sub(&no_room_for, 1) == 1)) {
        return false;
    }
    return __real_mpixq_control_send(world_rank, record);
}

static void move_parts(MPI_Request *request, int data[], bool is_sender)
{
    for (int i = 0; i < PARTITIONS; i++) {
        data[i] = is_sender ? 30 + i : -1;
    }
    MTEST_OK(MPI_Start(request));
    if (is_sender) {
        MTEST_OK(MPIX_Pready_range(0, PARTITIONS - 1, *request));
    }
    MTEST_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    for (int i = 0; i < PARTITIONS; i++) {
        MTEST_EQ(data[i], 30 + i);
    }
}

/* Of the sender's offers the first is that of the whole, then come the messages; the receiver has
 * one, of the start of the receive. */
static void test_parts(int peer)
{
    bool is_sender = mtest_rank < peer;
    int data[PARTITIONS];
    MPI_Request r;

    MTEST_OK(is_sender ? MPIX_Psend_init(data, PARTITIONS, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD,
                                         MPI_INFO_NULL, &r)
                       : MPIX_Precv_init(data, PARTITIONS, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD,
                                         MPI_INFO_NULL, &r));
    for (int n = 2; n <= PARTITIONS + 2; n++) {
        bool by_sender = n < PARTITIONS + 2;

        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (by_sender != is_sender) {
            MTEST_KIND_TEXT(MPIX_Match(&r), MPIXQ_ERR_MATCH, "given up");
            continue;
        }
        atomic_store(&no_room_for, by_sender ? n : 1);
        MTEST_KIND(MPIX_Match(&r), MPIXQ_ERR_RESOURCES);
        atomic_store(&no_room_for, 0);
    }
    MTEST_OK(MPIX_Match(&r));
    move_parts(&r, data, is_sender);
    MTEST_OK(MPI_Request_free(&r));
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
    atomic_store(&is_full, true);
    for (int i = 0; i < 3; i++) {
        MTEST_KIND(MPIX_Match(&r[1]), MPIXQ_ERR_RESOURCES);
        MTEST_EQ(mpixq_handles_find(r[1])->marked, 0);
    }
    atomic_store(&is_full, false);
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in, 70 + peer);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&queue));
    test_parts(peer);
    return mtest_end();
}
