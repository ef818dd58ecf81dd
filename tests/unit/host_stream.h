/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the tests of host streams share.
 */
#ifndef UNIT_HOST_STREAM_H
#define UNIT_HOST_STREAM_H

#include "unit.h"

#include <stdatomic.h>

#include "util/env.h"
#include "stream/host_stream.h"
#include "stream/stream.h"

enum { DEPTH = 64 }; /* of the ring: the smallest */

static const struct mpixq_stream_kind *const kind = &mpixq_host_stream_kind;
#define ops (mpixq_host_stream_kind.ops)
static const atomic_int never; /* what fails never */

static inline struct mpixq_host_stream *create(void)
{
    enum mpixq_error error = MPIXQ_E_NO_MEMORY;
    struct mpixq_host_stream *stream = mpixq_host_stream_create(&error);

    assert_non_null(stream);
    assert_int_equal(error, MPIXQ_E_NONE);
    return stream;
}

static inline void destroy(struct mpixq_host_stream *stream)
{
    assert_int_equal(mpixq_host_stream_destroy(stream), MPIXQ_E_NONE);
}

/* A stream of the queue's own. */
static inline struct mpixq_stream *open_own(void)
{
    struct mpixq_refusal refusal = {0};
    struct mpixq_stream *stream = ops->open(kind, NULL, NULL, &refusal);

    assert_non_null(stream);
    assert_int_equal(refusal.error, 0);
    return stream;
}

static inline uint64_t call(struct mpixq_stream *stream,
                            void (*fn)(void *const args[], int n, bool on_gpu), void *arg)
{
    struct mpixq_op op;

    mpixq_op_call(&op, MPIXQ_OP_CALL, fn, arg);
    return ops->submit(stream, &op, 1, NULL);
}

static inline uint64_t store(struct mpixq_stream *stream, _Atomic uint64_t *word, uint64_t value)
{
    struct mpixq_op op;

    mpixq_op_store(&op, word, value);
    return ops->submit(stream, &op, 1, NULL);
}

static inline uint64_t await(struct mpixq_stream *stream, const _Atomic uint64_t *word,
                             uint64_t value)
{
    struct mpixq_op op;

    mpixq_op_wait(&op, MPIXQ_OP_WAIT, NULL, word, value, &never);
    return ops->submit(stream, &op, 1, NULL);
}

/* What one thread submits, numbered; the stream's thread checks that the numbers come in order. */
struct series {
    uint64_t submitted, executed, mistakes;
};

struct item {
    struct series *series;
    uint64_t number;
};

static inline void run_item(void *arg)
{
    struct item *item = arg;

    item->series->mistakes += item->number != item->series->executed;
    item->series->executed++;
}

/* As a trigger. */
static inline void run_items(void *const args[], int n, bool on_gpu)
{
    assert_false(on_gpu);
    for (int i = 0; i < n; i++) {
        run_item(args[i]);
    }
}

static inline void *next_item(struct series *series, struct item *items)
{
    struct item *item = &items[series->submitted];

    item->series = series;
    item->number = series->submitted++;
    return item;
}

static inline void expect_done(const struct series *series)
{
    assert_int_equal(series->executed, series->submitted);
    assert_int_equal(series->mistakes, 0);
}

#endif
