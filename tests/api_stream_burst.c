/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A stream that was asleep gets more launches than its buffer holds, all at once: the host fills
 * the buffer before the stream's thread is awake, waits for room, and must not keep that thread
 * from waking up. Run with a small MPIXQ_HOST_STREAM_DEPTH.
 */
#include "mtest.h"

#include <unistd.h>

enum { BURSTS = 300, LAUNCHES = 1000 };

static void count(void *arg)
{
    ++*(int *)arg; /* by the stream's thread only, read after synchronise */
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    int counted = 0;

    mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 0; i < LAUNCHES; i++) {
            MPIX_Host_stream_launch(stream, count, &counted);
        }
        MTEST_OK(MPIX_Host_stream_synchronize(stream));
        MTEST_EQ(counted, (burst + 1) * LAUNCHES);
        usleep(200); /* long enough for the thread to sleep */
    }
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
