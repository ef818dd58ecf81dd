/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "age.h"

#include "log.h"

uint64_t mpixq_age_limit_ns(void)
{
    return (uint64_t)(mpixq_watchdog_is_on() ? mpixq_env.watchdog_s : mpixq_env.notice_s) *
           1000000000u;
}

bool mpixq_age_is_due(struct mpixq_age *age, uint64_t since_ns, uint64_t now_ns)
{
    if (now_ns < age->report_ns) {
        return false;
    }
    age->report_ns = mpixq_watchdog_notices() ? UINT64_MAX : now_ns + (now_ns - since_ns);
    return true;
}

void mpixq_age_tell(const char *text, const char *more)
{
    if (mpixq_watchdog_notices()) {
        mpixq_warn("%s%s. MPIXQ_WATCHDOG_S reports more, MPIXQ_NOTICE_S=0 nothing", text, more);
    } else {
        mpixq_err("watchdog: %s", text);
    }
}
