/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What MPIXQ_INFO=1 prints at MPI_Init and when a queue is made, as mpix_queue(7) says it; with
 * argument "silent" (MPIXQ_INFO=0) nothing at all.
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

/* Rank 0 says what there is, and the others are silent. */
static void check_start(const char *text)
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
    expect_line(text, "channel ipc: available, place 1\n");
    expect_line(text, "channel self: available, place 2\n");
    expect_line(text, "channel fallback: available, place ");
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

int main(int argc, char **argv)
{
    bool silent = argc > 1 && strcmp(argv[1], "silent") == 0;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    char text[ROOM];

    mtest_capture();
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_captured(text, sizeof text);
    if (silent) {
        MTEST_CHECK(strstr(text, "mpix_queue: ") == NULL);
    } else {
        check_start(text);
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
    return mtest_end();
}
