/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * capture.c - standard error as a file that all ranks of a test can read
 */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest.h"

enum { NAME = 256, SIZES = 64 };

static char names[SIZES][NAME]; /* one file per rank */

void capture_begin(void)
{
    char name[NAME];

    if (mtest_size > SIZES) {
        fprintf(stderr, "capture: more than %d ranks\n", SIZES);
        exit(MTEST_HARD);
    }
    (void)snprintf(name, sizeof name, "%s", mtest_capture());
    MTEST_OK(MPI_Allgather(name, NAME, MPI_CHAR, names[0], NAME, MPI_CHAR, MPI_COMM_WORLD));
}

void capture_end(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_captured(NULL, 0);
}

static int has_all(const char *line, const char *const words[])
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strstr(line, words[i]) == NULL) {
            return 0;
        }
    }
    return 1;
}

int capture_count(int rank, const char *const words[], char *line)
{
    char text[CAPTURE_LINE];
    FILE *file = fopen(names[rank], "r");
    int n = 0;

    while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
        /* The last line may be in the middle of being written. */
        if (strchr(text, '\n') != NULL && has_all(text, words)) {
            if (n == 0 && line != NULL) {
                memcpy(line, text, sizeof(text));
            }
            n++;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return n;
}

void capture_wait(const char *file, int where, int rank, int n, const char *const words[])
{
    double begun = MPI_Wtime();
    unsigned tries = 0;

    while (capture_count(rank, words, NULL) < n) {
        if (MPI_Wtime() - begun > 30) {
            mtest_fail(file, where, "rank %d never wrote %d lines with \"%s\", ...", rank, n,
                       words[0]);
            return;
        }
        mtest_backoff(&tries);
    }
}
