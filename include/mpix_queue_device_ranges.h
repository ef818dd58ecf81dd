/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_device_ranges.h - put and get many elements at once in kernels of the program
 *
 *     MPIX_Device_begin ...                      as for single elements (mpix_queue_device.h)
 *     MPIX_Device_put_range, MPIX_Device_get_range    by all threads of a unit: from memory, to it
 *     MPIX_Device_end
 *
 * For CUDA (nvcc, clang) and HIP (hipcc, clang), and for a thread of the host. With
 * MPIX_QUEUE_DEVICE_ONLY it is included without mpi.h.
 *
 * A range is put and got as its elements are one by one: each of them travels with the number of
 * the start, and nobody has to say that they are there. What is put as a range may be got element
 * by element, by a queue, a graph or the host, and the other way round.
 */
#ifndef MPIX_QUEUE_DEVICE_RANGES_H_INCLUDED
#define MPIX_QUEUE_DEVICE_RANGES_H_INCLUDED

#include "mpix_queue_device.h"

/* Of a range: from which pair of words on it can be stored and loaded 16 bytes at once, and what is
 * left. Ahead, and behind, there is one element, or none. */
struct mpixq_dev_range {
    mpixq_dev_word first, count, ahead, pairs;
    char *memory; /* of the program */
};

/* Words of pairs that are on their way to one thread at the same time. */
struct mpixq_dev_pairs {
    mpixq_dev_word low[MPIXQ_DEV_AT_ONCE], high[MPIXQ_DEV_AT_ONCE];
};

MPIXQ_DEV struct mpixq_dev_range mpixq_dev_range_of(const MPIXQ_Device_access *access,
                                                    mpixq_dev_word first, mpixq_dev_word count,
                                                    char *memory)
{
    mpixq_dev_word place = (mpixq_dev_word)&access->slot[first] / sizeof(mpixq_dev_word);
    struct mpixq_dev_range range = {first, count, count > 0 ? place % 2 : 0, 0, memory};

    range.pairs = (count - range.ahead) / 2;
    return range;
}

/* Which element the range begins with, or ends with, that is in no pair; count: none. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_single(const struct mpixq_dev_range *range, int behind)
{
    mpixq_dev_word last = range->ahead + 2 * range->pairs;

    return behind ? last : range->ahead > 0 ? 0 : range->count;
}

/* The threads meet, so that each may use what others have in the memory. What all of them return
 * if one of them cannot put, or get, the range. */
MPIXQ_DEV int mpixq_dev_check_range(const MPIXQ_Device_access *access, unsigned is_send,
                                    mpixq_dev_word first, mpixq_dev_word count,
                                    MPIXQ_Device_scope scope)
{
    const MPIXQ_Device_request *r = access->request;
    int error = access->error;

    if (error == MPIXQ_DEVICE_SUCCESS &&
        (access->slot == 0 || r->is_send != is_send || first > mpixq_dev_units(r) ||
         count > mpixq_dev_units(r) - first)) {
        error = MPIXQ_DEVICE_ERR_ARG;
    }
    return mpixq_dev_agree(scope, error);
}

/* The share of one thread. Several loads are on their way before the first store. */
MPIXQ_DEV void mpixq_dev_put_pairs(MPIXQ_Device_access *access, const struct mpixq_dev_range *range,
                                   unsigned rank, unsigned size)
{
    mpixq_dev_word *words = &access->slot[range->first + range->ahead];
    mpixq_dev_word flag = mpixq_dev_flag(access->value), some[MPIXQ_DEV_AT_ONCE];
    const char *from = range->memory + 4 * range->ahead;
    int is_wide = (mpixq_dev_word)from % 8 == 0;

    for (mpixq_dev_word i = rank; i < range->pairs; i += (mpixq_dev_word)MPIXQ_DEV_AT_ONCE * size) {
        for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
            some[k] = i + k * size < range->pairs
                          ? mpixq_dev_read_two(from + 8 * (i + k * size), is_wide)
                          : 0;
        }
        for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
            if (i + k * size < range->pairs) {
                mpixq_dev_put_two(&words[2 * (i + k * size)], flag | (some[k] & 0xffffffffu),
                                  flag | some[k] >> 32);
                access->count += 2;
            }
        }
    }
}

/* Look at those of the i-th pair and then every size-th that there are, and at the word that tells
 * of a message that does not come there, until all are there. 0: as mpixq_dev_await_unit. */
MPIXQ_DEV int mpixq_dev_await_pairs(MPIXQ_Device_access *access,
                                    const struct mpixq_dev_range *range, mpixq_dev_word i,
                                    unsigned size, struct mpixq_dev_pairs *some,
                                    struct mpixq_dev_patience *patience)
{
    const mpixq_dev_word *words = &access->slot[range->first + range->ahead];
    mpixq_dev_word flag = mpixq_dev_flag(access->value), wrong, done;

    do {
        wrong = 0;
        for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
            some->low[k] = some->high[k] = flag;
            if (i + k * size < range->pairs) {
                mpixq_dev_peek_two(&words[2 * (i + k * size)], &some->low[k], &some->high[k]);
            }
        }
        done = mpixq_dev_peek(&access->request->own->done);
        for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
            wrong |= (some->low[k] ^ flag) | (some->high[k] ^ flag);
        }
        if (wrong >> 32 == 0) {
            return 1;
        }
    } while (mpixq_dev_goes_on(access->request, access->value, done, patience, &access->error));
    return 0;
}

/* The same from the buffer of the receive, if the message has come there. */
MPIXQ_DEV void mpixq_dev_fetch_pairs(const MPIXQ_Device_request *r,
                                     const struct mpixq_dev_range *range, mpixq_dev_word i,
                                     unsigned size)
{
    for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE && i + k * size < range->pairs; k++) {
        mpixq_dev_word at = range->ahead + 2 * (i + k * size);

        for (mpixq_dev_word one = at; one < at + 2; one++) {
            mpixq_dev_write(range->memory + 4 * one,
                            (unsigned)mpixq_dev_get_unit(r->to, r->bytes, range->first + one));
        }
    }
}

/* The share of one thread. */
MPIXQ_DEV void mpixq_dev_get_pairs(MPIXQ_Device_access *access, const struct mpixq_dev_range *range,
                                   unsigned rank, unsigned size)
{
    struct mpixq_dev_patience patience = {access->deadline, 0, 0};
    char *to = range->memory + 4 * range->ahead;
    int is_wide = (mpixq_dev_word)to % 8 == 0;
    struct mpixq_dev_pairs some;

    for (mpixq_dev_word i = rank; i < range->pairs; i += (mpixq_dev_word)MPIXQ_DEV_AT_ONCE * size) {
        if (!mpixq_dev_await_pairs(access, range, i, size, &some, &patience)) {
            if (access->error != MPIXQ_DEVICE_SUCCESS) {
                return;
            }
            mpixq_dev_fetch_pairs(access->request, range, i, size);
            continue;
        }
        for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
            if (i + k * size < range->pairs) {
                mpixq_dev_write_two(to + 8 * (i + k * size), is_wide,
                                    some.high[k] << 32 | (some.low[k] & 0xffffffffu));
            }
        }
    }
}

/**
 * Put a range of elements of a send, by all threads of a unit, each of which has begun it. As if
 * each element were put by MPIXQ_Device_put: each is put exactly once, as part of a range or by
 * itself. Does not block, but for the threads that meet: what any of them has stored in the memory
 * before is sent, and it may be written again after the call.
 *
 * \param[in,out] access  of this thread
 * \param[in]     first   which element the range begins with, from 0 on
 * \param[in]     from    count times 4 bytes in memory that all of these threads reach, global or
 *                        shared, at a multiple of 4 bytes; fastest at a multiple of 8 with an even
 *                        first
 * \param[in]     count   how many elements; 0 is allowed
 * \param[in]     scope   the threads of the unit: of that which has begun the start, or of a part
 *                        of it, as each warp of a block with a range of its own
 * \return the same to all of these threads: MPIXQ_DEVICE_SUCCESS, or, with nothing put,
 *         MPIXQ_DEVICE_ERR_ARG  the message has no such elements, or the access is not one of a
 *                               send that MPIXQ_Device_begin has begun
 *         others                the begin of one of the threads has failed so
 */
MPIXQ_DEV int MPIXQ_Device_put_range(MPIXQ_Device_access *access, unsigned long long first,
                                     const void *from, unsigned long long count,
                                     MPIXQ_Device_scope scope)
{
    unsigned rank = mpixq_dev_rank(scope), size = mpixq_dev_size(scope);
    int error = mpixq_dev_check_range(access, 1, first, count, scope);
    struct mpixq_dev_range range;

    if (error != MPIXQ_DEVICE_SUCCESS) {
        return error;
    }
    range = mpixq_dev_range_of(access, first, count, (char *)from);
    for (unsigned i = rank; i < 2; i += size) {
        mpixq_dev_word one = mpixq_dev_single(&range, (int)i);

        if (one < count) {
            MPIXQ_Device_put(access, first + one, mpixq_dev_read(range.memory + 4 * one));
        }
    }
    mpixq_dev_put_pairs(access, &range, rank, size);
    mpixq_dev_meet(scope);
    return MPIXQ_DEVICE_SUCCESS;
}

/**
 * Get a range of elements of a receive, by all threads of a unit, each of which has begun it;
 * again, if they like. As if each element were got by MPIXQ_Device_get. Blocks until all of them
 * are there; they stand in the memory then, for all of these threads.
 *
 * \param[in,out] access  of this thread
 * \param[in]     first   which element the range begins with, from 0 on
 * \param[out]    to      memory of count times 4 bytes, as for MPIXQ_Device_put_range; after an
 *                        error a part of it may be written
 * \param[in]     count   how many elements; 0 is allowed
 * \param[in]     scope   the threads of the unit, as for MPIXQ_Device_put_range
 * \return the same to all of these threads: MPIXQ_DEVICE_SUCCESS, or
 *         MPIXQ_DEVICE_ERR_FAILED   the pair or its queue has failed; or so has a begin, or a get
 *                                   before, of one of the threads. The end says so again
 *         MPIXQ_DEVICE_ERR_TIMEOUT  likewise: the time limit of the begin has passed
 *         MPIXQ_DEVICE_ERR_ARG      the message has no such elements, or the access is not one of a
 *                                   receive that MPIXQ_Device_begin has begun; nothing was written
 *         others                    the begin of one of the threads has failed so
 */
MPIXQ_DEV int MPIXQ_Device_get_range(MPIXQ_Device_access *access, unsigned long long first,
                                     void *to, unsigned long long count, MPIXQ_Device_scope scope)
{
    unsigned rank = mpixq_dev_rank(scope), size = mpixq_dev_size(scope);
    int error = mpixq_dev_check_range(access, 0, first, count, scope);
    struct mpixq_dev_range range;

    if (error != MPIXQ_DEVICE_SUCCESS) {
        return error;
    }
    range = mpixq_dev_range_of(access, first, count, (char *)to);
    mpixq_dev_get_pairs(access, &range, rank, size);
    for (unsigned i = rank; i < 2; i += size) {
        mpixq_dev_word one = mpixq_dev_single(&range, (int)i);
        unsigned value = one < count ? MPIXQ_Device_get(access, first + one) : 0;

        if (one < count && access->error == MPIXQ_DEVICE_SUCCESS) {
            mpixq_dev_write(range.memory + 4 * one, value);
        }
    }
    return mpixq_dev_agree(scope, access->error);
}

/* ---- Other names ----------------------------------------------------------------------------- */

#ifdef __cplusplus
/**
 * Put and get a range of elements of a type that can be copied as bytes, which has a multiple of 4
 * of them and stands at a multiple of 4: first and count are in elements of this type.
 */
template <typename T>
MPIXQ_DEV int MPIXQ_Device_put_range_as(MPIXQ_Device_access *access, unsigned long long first,
                                        const T *from, unsigned long long count,
                                        MPIXQ_Device_scope scope)
{
    static_assert(sizeof(T) % 4 == 0 && alignof(T) % 4 == 0, "elements have a multiple of 4 bytes");

    return MPIXQ_Device_put_range(access, first * (sizeof(T) / 4), from, count * (sizeof(T) / 4),
                                  scope);
}

template <typename T>
MPIXQ_DEV int MPIXQ_Device_get_range_as(MPIXQ_Device_access *access, unsigned long long first,
                                        T *to, unsigned long long count, MPIXQ_Device_scope scope)
{
    static_assert(sizeof(T) % 4 == 0 && alignof(T) % 4 == 0, "elements have a multiple of 4 bytes");

    return MPIXQ_Device_get_range(access, first * (sizeof(T) / 4), to, count * (sizeof(T) / 4),
                                  scope);
}
#endif

#ifndef MPIX_QUEUE_NO_ALIASES
#define MPIX_Device_put_range MPIXQ_Device_put_range
#define MPIX_Device_get_range MPIXQ_Device_get_range
#define MPIX_Device_put_range_as MPIXQ_Device_put_range_as
#define MPIX_Device_get_range_as MPIXQ_Device_get_range_as
#endif

#endif /* MPIX_QUEUE_DEVICE_RANGES_H_INCLUDED */
