/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Log: lines on standard error with the rank in front, by level (MPIXQ_LOG). Preserves errno. The
 * place that decides an error logs it, once; whoever passes it on is silent.
 */
#ifndef MPIXQ_LOG_H
#define MPIXQ_LOG_H

#include "env.h"

/* In the order of the choices of MPIXQ_LOG. */
enum mpixq_log_level { MPIXQ_LOG_ERROR, MPIXQ_LOG_WARN, MPIXQ_LOG_INFO, MPIXQ_LOG_DEBUG };

/* Rank in MPI_COMM_WORLD that stands in front of each line; -1 before it is known. */
extern int mpixq_log_rank;

void mpixq_log(enum mpixq_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What the user asked to see with MPIXQ_INFO: printed at any level. */
void mpixq_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define mpixq_log_at(level, ...)                                                                   \
    do {                                                                                           \
        if ((long)(level) <= mpixq_env.log) {                                                      \
            mpixq_log(level, __VA_ARGS__);                                                         \
        }                                                                                          \
    } while (0)

#define mpixq_err(...) mpixq_log_at(MPIXQ_LOG_ERROR, __VA_ARGS__)
#define mpixq_warn(...) mpixq_log_at(MPIXQ_LOG_WARN, __VA_ARGS__)
#define mpixq_info(...) mpixq_log_at(MPIXQ_LOG_INFO, __VA_ARGS__)
#define mpixq_debug(...) mpixq_log_at(MPIXQ_LOG_DEBUG, __VA_ARGS__)

#endif
