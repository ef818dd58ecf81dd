/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * For ranges.sh: stands in for libroctx64.so. */
#include "range_taker.h"

int roctxRangePushA(const char *message);
int roctxRangePop(void);

int roctxRangePushA(const char *message)
{
    range_taker_push(message, 0);
    return 0;
}

int roctxRangePop(void)
{
    range_taker_pop();
    return 0;
}
