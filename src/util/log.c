/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int mpixq_log_rank = -1;

/* One write per line, so that lines of several ranks and threads do not mix. */
__attribute__((format(printf, 2, 0))) static void write_line(const char *level, const char *format,
                                                             va_list args)
{
    char line[1024];
    int n, kept = errno;

    if (mpixq_log_rank >= 0) {
        n = snprintf(line, sizeof line, "mpix_queue: rank %d: %s", mpixq_log_rank, level);
    } else {
        n = snprintf(line, sizeof line, "mpix_queue: %s", level);
    }
    (void)vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    (void)fprintf(stderr, "%s\n", line);
    errno = kept;
}

void mpixq_log(enum mpixq_log_level level, const char *format, ...)
{
    static const char *const names[] = {"error: ", "warning: ", "info: ", "debug: "};
    va_list args;

    va_start(args, format);
    write_line(names[level], format, args);
    va_end(args);
}

void mpixq_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}
