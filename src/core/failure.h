/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Failures of starts are announced here, by channels, queues and whoever else finds them, and heard
 * by who tells the peer and the queue: the matching, which the others need not know for that.
 */
#ifndef MPIXQ_FAILURE_H
#define MPIXQ_FAILURE_H

#include <stdint.h>

struct mpixq_pair;

struct mpixq_failure_listener {
    /* Once for each pair. */
    void (*abandoned)(struct mpixq_pair *pair);
    void (*failed)(uint64_t id, int code, const char *operation);
};
/* It is kept; before any request is matched. */
void mpixq_failure_listen(const struct mpixq_failure_listener *listener);

/* A start has failed, or was enqueued and will not be made: the peer would wait for it, and of a
 * collective those of all its parts. Not if the pair is known to have failed. */
void mpixq_failure_abandon(struct mpixq_pair *pair);
/* A start of the end with this number has failed with an MPI code. No lock but a queue's may be
 * held. */
void mpixq_failure_of(uint64_t id, int code, const char *operation);

#endif
