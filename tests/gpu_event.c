/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * An event that a program records behind a wait fires when the data is there, and not before: for
 * what follows on that stream, on another stream that waits for the event, and for the host.
 */
#include "gpu_pair.h"

enum { ROUNDS = 4, TAG = 30 };

/* Who looks at what was received. */
enum reader { OTHER_STREAM, SAME_STREAM, HOST, READERS };

static const char *const names[] = {"another stream", "the same stream", "the host"};

/* Rank 0 receives and looks; rank 1 sends when rank 0 has seen that the event has not fired. */
static void run_round(struct gpu_pair *p, MPIX_Queue queue, void *stream, void *other,
                      enum reader reader, size_t round)
{
    void *event;

    if (mtest_rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        gpu_pair_put(p, stream, round);
        MTEST_OK(MPIX_Enqueue_start(queue, &p->r[1]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &p->r[1]));
        MTEST_OK(MPIX_Queue_wait(queue));
        return;
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &p->r[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &p->r[0]));
    event = mtest_gpu_event(stream);
    if (reader == OTHER_STREAM) {
        mtest_gpu_event_wait(other, event);
    }
    if (reader != HOST) {
        gpu_pair_get(p, reader == SAME_STREAM ? stream : other, round);
    }
    for (unsigned tries = 0; tries < 12;) {
        MTEST_CHECK(!mtest_gpu_event_fired(event));
        mtest_backoff(&tries);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    mtest_gpu_event_synchronize(event);
    MTEST_CHECK(mtest_gpu_event_fired(event));
    if (reader == HOST) {
        gpu_pair_get(p, other, round);
    }
    mtest_gpu_synchronize(other);
    mtest_gpu_synchronize(stream);
    /* The wait has completed for the host too, which never looked at the queue. */
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_event_end(event);
}

static void test(enum mtest_memory memory, size_t bytes, enum reader reader)
{
    void *stream = mtest_gpu_stream(), *other = mtest_gpu_stream();
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct gpu_pair p;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    gpu_pair_make(&p, memory, bytes, 1 - mtest_rank, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        run_round(&p, queue, stream, other, reader, round);
    }
    if (mtest_rank == 0) {
        gpu_pair_check(&p, ROUNDS, names[reader]);
    }
    gpu_pair_free(&p);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    mtest_gpu_stream_end(other);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1 << 20};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there are not two ranks");
        return mtest_end();
    }
    for (int reader = OTHER_STREAM; reader < READERS; reader++) {
        for (size_t i = 0; i < 2; i++) {
            test(MTEST_DEVICE, sizes[i], (enum reader)reader);
            test(MTEST_PINNED, sizes[i], (enum reader)reader);
        }
    }
    return mtest_end();
}
