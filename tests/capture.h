/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * capture.h - read what the library writes to standard error, on any rank
 *
 * From capture_begin on each rank's standard error is a file that all ranks read, so that a rank
 * can wait until another one has reported something, without a call of MPI.
 */
#ifndef CAPTURE_H_INCLUDED
#define CAPTURE_H_INCLUDED

enum { CAPTURE_WORDS = 8, CAPTURE_LINE = 1100 };

/* Collective, after mtest_begin. The end prints what was captured. */
void capture_begin(void);
void capture_end(void);

/* How many lines of a rank hold all words, which end with NULL. The first of them is copied to
 * line, of CAPTURE_LINE bytes, if that is not NULL. */
int capture_count(int rank, const char *const words[], char *line);

/* Wait until there are n such lines; records a failure after half a minute. */
void capture_wait(const char *file, int where, int rank, int n, const char *const words[]);

#define CAPTURE_WAIT(rank, n, ...)                                                                 \
    capture_wait(__FILE__, __LINE__, (rank), (n), (const char *const[]){__VA_ARGS__, NULL})
#define CAPTURE_COUNT(rank, ...)                                                                   \
    capture_count((rank), (const char *const[]){__VA_ARGS__, NULL}, NULL)

#endif /* CAPTURE_H_INCLUDED */
