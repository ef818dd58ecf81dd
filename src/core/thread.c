/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "thread.h"

#include <signal.h>

bool mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg, const char *name)
{
    sigset_t all, kept;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &kept);
    rc = pthread_create(thread_p, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
    if (rc == 0) {
        (void)pthread_setname_np(*thread_p, name);
    }
    return rc == 0;
}
