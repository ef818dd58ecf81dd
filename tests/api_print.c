/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What MPIXQ_INFO=1 prints at MPI_Init, when a queue is made and at MPI_Finalize, as mpix_queue(7)
 * says it; with argument "silent" (MPIXQ_INFO=0) nothing at all. No GPU is used, and no fabric
 * (MPIXQ_FABRIC=none); with argument "left-out" MPIXQ_CHANNELS=fallback besides.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 16384 };

/* Exactly one line of the text begins so, behind the rank. */
static void expect_line(const char *text, const char *begin)
{
    char line[512];
    const char *found;

    (void)snprintf(line, sizeof line, "mpix_queue: rank %d: %s", mtest_rank, begin);
    found = strstr(text, line);
    if (found == NULL || strstr(found + 1, line) != NULL) {
        mtest_fail(__FILE__, __LINE__, "%s one line \"%s\"", found == NULL ? "not" : "more than",
                   line);
    }
}

static int count_of(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)) != NULL; text++) {
        n++;
    }
    return n;
}

/* Which channels there are: none is said to be there that cannot serve. */
static void check_channels(const char *text, bool left_out)
{
    expect_line(text, "channel self: available\n");
    expect_line(text, "channel fallback: available\n");
    expect_line(text, left_out ? "channel ipc: not available: MPIXQ_CHANNELS leaves it out\n"
                               : "channel ipc: not available by now: the process uses no library "
                                 "of a GPU (CUDA, HIP)\n");
    if (strstr(text, "without libfabric") != NULL) {
        expect_line(text, "channel cxi: not available: the library was built without libfabric\n");
    } else {
        expect_line(text, left_out ? "channel cxi: not available: MPIXQ_CHANNELS leaves it out\n"
                                   : "channel cxi: not available: MPIXQ_FABRIC is none\n");
    }
}

/* Rank 0 says what there is, and the others are silent. */
static void check_start(const char *text, bool left_out)
{
    char version[64];

    (void)snprintf(version, sizeof version, "version %d.%d.%d on ", MPIXQ_VERSION_MAJOR,
                   MPIXQ_VERSION_MINOR, MPIXQ_VERSION_PATCH);
    if (mtest_rank > 0) {
        MTEST_CHECK(strstr(text, "mpix_queue: ") == NULL);
        return;
    }
    expect_line(text, version);
    expect_line(text, "thread level multiple\n");
    check_channels(text, left_out);
    expect_line(text, "stream mpix_host_stream: available\n");
    expect_line(text, "MPIXQ_INFO 1 (environment): ");
    expect_line(text, "MPIXQ_LOG warn (default): ");
    expect_line(text, "MPIXQ_SPIN_US 77 (environment): ");
}

/* A line for each queue, on every rank. */
static void check_queue(const char *expected, int type, MPIX_Host_stream *stream)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    char text[ROOM];

    mtest_capture();
    MTEST_OK(MPIX_Queue_init(&queue, (MPIX_Queue_type)type, stream));
    mtest_captured(text, sizeof text);
    if (expected == NULL) {
        MTEST_CHECK(text[0] == '\0');
    } else {
        expect_line(text, expected);
        /* The thread of a stream says meanwhile where it runs. */
        MTEST_CHECK(count_of(text, ": queue ") == 1);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* A pair to the other rank and one back, two within the process, and one to nobody. */
static void match_some(void)
{
    int in[3] = {0}, out[3] = {0}, peer = 1 - mtest_rank;
    MPI_Request r[7];

    for (int i = 0; i < 3; i++) {
        MPI_Comm comm = i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF;

        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, i == 0 ? peer : 0, i, comm, &r[2 * i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, i == 0 ? peer : 0, i, comm, &r[2 * i + 1]));
    }
    MTEST_OK(MPI_Send_init(&out[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[6]));
    MTEST_OK(MPIX_Matchall(7, r));
    for (int i = 0; i < 7; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* After MPI_Finalize: each rank says what served its pairs, and why not what would be better. */
static void check_end(const char *text, bool silent, bool left_out)
{
    if (silent) {
        MTEST_CHECK(strstr(text, "mpix_queue: ") == NULL);
        return;
    }
    if (left_out) {
        expect_line(text, "4 pairs: 2 fallback, 2 self\n");
        return;
    }
    expect_line(text, "4 pairs: 2 fallback (2 not ");
    MTEST_CHECK(strstr(text, "2 not ipc: the buffer is not in memory of a GPU") != NULL);
    MTEST_CHECK(strstr(text, "2 not cxi: MPIXQ_FABRIC is none") != NULL ||
                strstr(text, "2 not cxi: the library was built without libfabric") != NULL);
    MTEST_CHECK(strstr(text, "), 2 self (2 not ipc: the buffer is not in memory of a GPU") != NULL);
}

int main(int argc, char **argv)
{
    bool silent = argc > 1 && strcmp(argv[1], "silent") == 0;
    bool left_out = argc > 1 && strcmp(argv[1], "left-out") == 0;
    int code;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    char text[ROOM];

    mtest_capture();
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_captured(text, sizeof text);
    if (silent) {
        MTEST_CHECK(strstr(text, "mpix_queue: ") == NULL);
    } else {
        check_start(text, left_out);
    }
    MTEST_OK(MPIX_Host_stream_create(&stream));
    check_queue(silent
                    ? NULL
                    : "queue 1 of type auto on its own stream of kind mpix_host_stream (thread); "
                      "channels are chosen per pair",
                MPIX_QUEUE_AUTO, NULL);
    check_queue(silent ? NULL
                       : "queue 2 of type fallback on a stream of kind mpix_host_stream (thread); "
                         "channels are chosen per pair",
                MPIX_QUEUE_FALLBACK, &stream);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    if (mtest_size == 2) {
        match_some();
    }
    mtest_capture();
    code = mtest_end();
    mtest_captured(text, sizeof text);
    if (mtest_size == 2) {
        check_end(text, silent, left_out);
    }
    return mtest_failures() > 0 ? 1 : code;
}
