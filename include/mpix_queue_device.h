/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_device.h - start matched requests, and wait for them, in kernels of the program
 *
 *     MPIX_Match ...                        on the host, as for a queue
 *     MPIX_Device_request_create            on the host: handles for kernels
 *     MPIX_Device_start ... MPIX_Device_wait     in a kernel: whole messages, from the buffer
 *     MPIX_Device_begin, _put or _get, _end      in a kernel: element by element, without a buffer
 *     MPIX_Device_put_range, _get_range          many elements: mpix_queue_device_ranges.h
 *     MPIX_Device_begin_direct, _end             in a kernel: stores to the buffer of the peer
 *     MPIX_Device_request_free, MPI_Request_free
 *
 * The functions for the host are left out where MPIX_QUEUE_DEVICE_ONLY is defined, so that kernels
 * can be compiled without mpi.h, also when the program runs.
 *
 * For CUDA (nvcc, clang) and HIP (hipcc, clang), and for a thread of the host, as which kernels can
 * be tested. Includes no header of a vendor. What is in a kernel stands for one start each time, in
 * one order with those of queues, of graphs that are replayed and of the host: the two ends of a
 * pair may each be started by any of them, and change from start to start. A request has one start
 * under way at a time.
 *
 * Scope. Each function is called by all threads of a unit, which is the last argument: one thread,
 * a whole warp or a whole block, with the same arguments. The threads of a unit meet in the call:
 * what any of them has written before is sent by a start, and what has arrived is there for all of
 * them after a wait. What threads of other units have written, or are to read, the program orders.
 *
 * Memory. Ordinary loads and stores (the generic proxy of CUDA). What has arrived must not be read
 * by read-only loads (__ldg, const __restrict__) in the kernel that waits for it. With HIP, buffers
 * are visible in the kernel that waits if they are fine-grained, else from the next kernel on.
 *
 * Who moves the data. On the channel ipc kernels do, at either end. On the channels fallback and
 * self the host does: a start stores a word that the progress thread of the library looks at, which
 * may take a millisecond (ten after a pause). On the channel cxi the NIC does: a start rings its
 * doorbell, and a wait looks at its word; that thread hands it starts ahead. Such requests have
 * whole messages only, as have those to MPI_PROC_NULL, whose starts and waits do nothing.
 *
 * Residency. A wait, a get, and a put without credit last until the other end has done its part. If
 * that needs a block that does not run, because these blocks fill the GPU, they last for ever: see
 * time limits, and launch no more blocks than the GPU holds, or cooperatively.
 *
 * Errors. Functions return MPIXQ_DEVICE_SUCCESS or one of the codes below. What was started twice
 * or after its free also is a failure of the queue, which MPIX_Queue_wait tells, as in a graph.
 *
 * Not offered: atomic operations, teams, multicast, messages that nobody has matched.
 */
#ifndef MPIX_QUEUE_DEVICE_H_INCLUDED
#define MPIX_QUEUE_DEVICE_H_INCLUDED

#ifndef MPIX_QUEUE_DEVICE_ONLY /* defined where mpi.h cannot be included: kernels alone */
#include "mpix_queue.h"
#endif
#include "mpix_queue_device_words.h"

/* What kernels and library have to agree on; for MPIXQ_Device_request_create. */
#define MPIXQ_DEVICE_ABI 3

typedef enum MPIXQ_Device_scope {
    MPIXQ_DEVICE_THREAD = 0,
    MPIXQ_DEVICE_WARP = 1, /* all its lanes: no block of a fraction of a warp */
    MPIXQ_DEVICE_BLOCK = 2
} MPIXQ_Device_scope;

enum {
    MPIXQ_DEVICE_SUCCESS = 0,
    MPIXQ_DEVICE_ERR_ACTIVE = 1,  /* the last start was not waited for; nothing was started */
    MPIXQ_DEVICE_ERR_FREED = 2,   /* the request was freed; nothing was started */
    MPIXQ_DEVICE_ERR_FAILED = 3,  /* the pair or its queue failed: MPIX_Queue_wait says why */
    MPIXQ_DEVICE_ERR_TIMEOUT = 4, /* the time limit passed; what was started is under way still */
    MPIXQ_DEVICE_ERR_ARG = 5,     /* not for this request, or not by this unit; nothing was done */
    MPIXQ_DEVICE_ERR_COUNT = 6    /* other elements than those of the message; nothing was sent */
};

/* No time limit. */
#define MPIXQ_DEVICE_FOREVER (~0ull)
/* Index of MPIXQ_Device_waitany: there was nothing to wait for. */
#define MPIXQ_DEVICE_NONE (-1)
/* What one thread starts has no more bytes than this: see MPIXQ_Device_start. */
#define MPIXQ_DEVICE_THREAD_BYTES 65536

/* The words of an end in memory of its GPU, and of the host; as the library has them. */
struct mpixq_device_end {
    mpixq_dev_word done, state, posted, tried, started, waited, come, gone, found, blocks, closed;
};
struct mpixq_device_told {
    mpixq_dev_word done, apart[7], started, fault, halt, unused[5];
};

/* A handle: what a kernel needs of a request. A value, to be passed to kernels or to be copied to
 * memory of the GPU. The program looks into none of its members. */
struct mpixq_device_request {
    char *to;
    const char *from;
    mpixq_dev_word bytes;
    struct mpixq_device_end *own, *peer;
    struct mpixq_device_told *own_told, *told;
    mpixq_dev_word floor;  /* starts before its GPU counted */
    mpixq_dev_word *slots; /* of the receive, the first of three; or none */
    mpixq_dev_word *state; /* of the pair, where a start can be taken back; or none */
    mpixq_dev_word pair;   /* which one, for the library */
    unsigned is_send, is_ready, is_early, abi;
    /* The host or a NIC moves the data: own and own_told are words in memory of the host, and to
     * and from are the buffer and a staging buffer, with the bytes to copy between them; or NULL */
    unsigned is_host;
    mpixq_dev_word *bell; /* that a start rings; or none */
};
typedef struct mpixq_device_request MPIXQ_Device_request;

/* A start element by element, as one thread has it. */
struct mpixq_device_access {
    const struct mpixq_device_request *request;
    mpixq_dev_word value, *slot, deadline;
    unsigned participants, count;
    int error, is_direct, is_wide;
};
typedef struct mpixq_device_access MPIXQ_Device_access;

/* ---- On the host ----------------------------------------------------------------------------- */

#ifndef MPIX_QUEUE_DEVICE_ONLY
#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make handles by which kernels start matched requests and wait for them. Local, not blocking. From
 * now on the GPU counts the starts of these requests, whoever makes them; queues, graphs and the
 * host can start them as before. A request may have several handles, one after the other or at
 * once. Threads as for every function of the library.
 *
 * \param[in]  count     number of requests and of handles; 0 is allowed
 * \param[in]  requests  matched, not partitioned, and inactive or waited for on a queue. Buffers
 *                       are in memory of the GPU of the queue; or, not on ipc, in memory that MPI
 *                       or the NIC takes, which the kernels need not reach. None is null
 * \param[in]  queue     hears of failures (MPIXQ_Queue_wait), as of what its graphs start. It is on
 *                       a stream of a GPU on which it uses kernels, and outlives the kernels'
 *                       starts
 * \param[out] handles   of the requests, in their order; written only on success. Freed by
 *                       MPIXQ_Device_request_free
 * \param[in]  abi       MPIXQ_DEVICE_ABI, as the kernels were compiled with
 * \return MPI_SUCCESS, or, with nothing made,
 *         MPIXQ_ERR_ARG          count is negative, requests or handles is NULL, or no live queue
 *         MPIXQ_ERR_REQUEST      an element is null, or no request that the library knows
 *         MPIXQ_ERR_STATE        an element is not matched, or active
 *         MPIXQ_ERR_COMM         an element, or the queue, has failed
 *         MPIXQ_ERR_UNSUPPORTED  the stream of the queue cannot; an element is partitioned, a
 *                                collective that reads and writes memory of GPUs, or of another
 *                                GPU; or handles have another version
 *         MPIXQ_ERR_RESOURCES    no memory
 */
MPIXQ_PUBLIC int MPIXQ_Device_request_create(int count, MPI_Request requests[], MPIXQ_Queue queue,
                                             MPIXQ_Device_request handles[], int abi);

/**
 * Free handles. Local, not blocking. No kernel uses them any more, or copies of them, and what they
 * have started was waited for. The requests stay; those that were freed before end with it. What a
 * kernel starts by such a handle after the free of its request is not started, and is an error.
 *
 * \param[in]     count    number of handles; 0 is allowed
 * \param[in,out] handles  made by MPIXQ_Device_request_create; all zero afterwards. Those that are
 *                         all zero are left alone
 * \return MPI_SUCCESS, or, with nothing freed,
 *         MPIXQ_ERR_ARG    count is negative, handles is NULL, or an element is no live handle
 *         MPIXQ_ERR_STATE  what was started by a handle has not completed
 */
MPIXQ_PUBLIC int MPIXQ_Device_request_free(int count, MPIXQ_Device_request handles[]);

MPIXQ_PUBLIC int PMPIXQ_Device_request_create(int count, MPI_Request requests[], MPIXQ_Queue queue,
                                              MPIXQ_Device_request handles[], int abi);
MPIXQ_PUBLIC int PMPIXQ_Device_request_free(int count, MPIXQ_Device_request handles[]);

#ifdef __cplusplus
}
#endif
#endif

#include "mpix_queue_device_ends.h"
#include "mpix_queue_device_elements.h"

/* ---- Whole messages -------------------------------------------------------------------------- */

/**
 * Start a request, as MPI_Start does: what stands in the buffer of a send is sent. Never blocks;
 * the buffer may be used again after the wait. On ipc, of the two ends of a pair whoever starts
 * second moves a message that is too large for a slot, with the threads of this unit. On other
 * channels the host or a NIC moves it; these threads only copy what neither takes from where it is.
 *
 * \param[in] r      the handle
 * \param[in] scope  the threads of the unit; MPIXQ_DEVICE_THREAD for messages of up to
 *                   MPIXQ_DEVICE_THREAD_BYTES bytes only
 * \return MPIXQ_DEVICE_SUCCESS, or, with nothing started,
 *         MPIXQ_DEVICE_ERR_ACTIVE  it is started, by whomever, and was not waited for
 *         MPIXQ_DEVICE_ERR_FREED   the request was freed
 *         MPIXQ_DEVICE_ERR_ARG     the message is too large for one thread
 */
MPIXQ_DEV int MPIXQ_Device_start(const MPIXQ_Device_request *r, MPIXQ_Device_scope scope)
{
    unsigned rank = mpixq_dev_rank(scope), size = mpixq_dev_size(scope);
    mpixq_dev_word come = 0, value;
    int todo;

    if (scope == MPIXQ_DEVICE_THREAD && r->bytes > MPIXQ_DEVICE_THREAD_BYTES) {
        return MPIXQ_DEVICE_ERR_ARG;
    }
    mpixq_dev_meet(scope);
    if (mpixq_dev_is_null(r)) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    if (rank == 0) {
        come = mpixq_dev_come(r);
    }
    come = mpixq_dev_tell(scope, come);
    value = come / 4;
    todo = (int)(come % 4);
    if (value == 0) {
        return todo;
    }
    if (todo == MPIXQ_DEV_SLOT) {
        mpixq_dev_put_units(r, value, rank, size);
    } else if (todo == MPIXQ_DEV_MOVE || mpixq_dev_is_staged(r, 1)) {
        mpixq_dev_copy(r->to, r->from, r->bytes, rank, size);
    }
    mpixq_dev_meet(scope);
    if (rank == 0) {
        mpixq_dev_conclude(r, value, todo);
    }
    return MPIXQ_DEVICE_SUCCESS;
}

/**
 * Wait for the last start of a request, by whomever it was made: then the message is in the buffer
 * of a receive, and that of a send may be used again. If there is nothing to wait for, it does
 * nothing. The request can be started again after a wait only, of any kind.
 *
 * \param[in] r         the handle
 * \param[in] limit_ns  how long at most, in nanoseconds, or MPIXQ_DEVICE_FOREVER
 * \param[in] scope     the threads of the unit
 * \return MPIXQ_DEVICE_SUCCESS, or
 *         MPIXQ_DEVICE_ERR_FAILED   the pair or its queue has failed, as when the peer has died
 *         MPIXQ_DEVICE_ERR_FREED    the request was freed after the start, and the message, which
 *                                   threads of this unit should copy, is not in the buffer
 *         MPIXQ_DEVICE_ERR_TIMEOUT  it takes longer; it can be waited for again
 */
MPIXQ_DEV int MPIXQ_Device_wait(const MPIXQ_Device_request *r, unsigned long long limit_ns,
                                MPIXQ_Device_scope scope)
{
    unsigned rank = mpixq_dev_rank(scope);
    int error = MPIXQ_DEVICE_SUCCESS;
    mpixq_dev_word value;

    mpixq_dev_meet(scope);
    if (mpixq_dev_is_null(r)) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    value = mpixq_dev_next_wait(r);
    if (mpixq_dev_next_start(r) <= value) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    if (!r->is_send && r->slots != 0) {
        error = mpixq_dev_take_units(r, value, rank, mpixq_dev_size(scope), limit_ns);
    } else if (rank == 0) {
        error = mpixq_dev_await_done(r, value, limit_ns);
        error = error != MPIXQ_DEVICE_SUCCESS ? error : mpixq_dev_check_open(r);
    }
    error = mpixq_dev_agree(scope, error);
    if (error == MPIXQ_DEVICE_SUCCESS && mpixq_dev_is_staged(r, 0)) {
        mpixq_dev_copy(r->to, r->from, r->bytes, rank, mpixq_dev_size(scope));
        mpixq_dev_meet(scope);
    }
    if (error == MPIXQ_DEVICE_SUCCESS && rank == 0) {
        mpixq_dev_put(&r->own->waited, value);
    }
    return error;
}

/**
 * Ask whether a wait would end at once, and if so, wait.
 *
 * \param[in]  r      the handle
 * \param[out] flag   whether it was waited for, or there was nothing to wait for; of each thread
 * \param[in]  scope  the threads of the unit
 * \return as MPIXQ_Device_wait; never MPIXQ_DEVICE_ERR_TIMEOUT
 */
MPIXQ_DEV int MPIXQ_Device_test(const MPIXQ_Device_request *r, int *flag, MPIXQ_Device_scope scope)
{
    struct mpixq_dev_patience one_look = {0, MPIXQ_DEV_RARELY - 1, 0}; /* which is the last one */
    unsigned rank = mpixq_dev_rank(scope);
    int missing = 1, error = MPIXQ_DEVICE_SUCCESS;
    mpixq_dev_word value;

    mpixq_dev_meet(scope);
    *flag = 1;
    if (mpixq_dev_is_null(r)) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    value = mpixq_dev_next_wait(r);
    if (mpixq_dev_next_start(r) <= value) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    if (!r->is_send && r->slots != 0) {
        missing = !mpixq_dev_are_here(r, value, rank, mpixq_dev_size(scope));
    }
    if (mpixq_dev_any(scope, missing)) {
        missing = rank == 0 && mpixq_dev_load(&r->own->done) < value;
        if (missing) {
            error = mpixq_dev_give_up(r, value, &one_look);
            error = error == MPIXQ_DEVICE_ERR_TIMEOUT ? MPIXQ_DEVICE_SUCCESS : error;
        }
        if (mpixq_dev_any(scope, missing)) {
            *flag = 0;
            return mpixq_dev_agree(scope, error);
        }
    }
    return MPIXQ_Device_wait(r, MPIXQ_DEVICE_FOREVER, scope);
}

/**
 * Start several requests. A block has its warps do so at the same time, if all messages are small.
 *
 * \param[in] count  how many
 * \param[in] r      their handles, no two of the same request
 * \param[in] scope  the threads of the unit
 * \return as MPIXQ_Device_start; on an error of some the others are started
 */
MPIXQ_DEV int MPIXQ_Device_startall(int count, const MPIXQ_Device_request *r,
                                    MPIXQ_Device_scope scope)
{
    int by_warps = mpixq_dev_are_for_warps(r, count, scope), error = MPIXQ_DEVICE_SUCCESS;
    int step = by_warps ? (int)(mpixq_dev_block_size() / MPIXQ_DEV_WARP) : 1;

    if (by_warps) {
        mpixq_dev_meet(scope);
    }
    for (int i = by_warps ? (int)(mpixq_dev_rank_in_block() / MPIXQ_DEV_WARP) : 0; i < count;
         i += step) {
        int code = MPIXQ_Device_start(&r[i], by_warps ? MPIXQ_DEVICE_WARP : scope);

        error = error != MPIXQ_DEVICE_SUCCESS ? error : code;
    }
    return by_warps ? mpixq_dev_agree(scope, error) : error;
}

/**
 * Wait for several requests.
 *
 * \param[in] count     how many
 * \param[in] r         their handles, no two of the same request
 * \param[in] limit_ns  how long at most for each
 * \param[in] scope     the threads of the unit
 * \return as MPIXQ_Device_wait; on an error of some the others were waited for
 */
MPIXQ_DEV int MPIXQ_Device_waitall(int count, const MPIXQ_Device_request *r,
                                   unsigned long long limit_ns, MPIXQ_Device_scope scope)
{
    int by_warps = mpixq_dev_are_for_warps(r, count, scope), error = MPIXQ_DEVICE_SUCCESS;
    int step = by_warps ? (int)(mpixq_dev_block_size() / MPIXQ_DEV_WARP) : 1;

    if (by_warps) {
        mpixq_dev_meet(scope);
    }
    for (int i = by_warps ? (int)(mpixq_dev_rank_in_block() / MPIXQ_DEV_WARP) : 0; i < count;
         i += step) {
        int code = MPIXQ_Device_wait(&r[i], limit_ns, by_warps ? MPIXQ_DEVICE_WARP : scope);

        error = error != MPIXQ_DEVICE_SUCCESS ? error : code;
    }
    return by_warps ? mpixq_dev_agree(scope, error) : error;
}

/**
 * Wait for one of several requests, of those that were started.
 *
 * \param[in]  count     how many
 * \param[in]  r         their handles
 * \param[in]  limit_ns  how long at most, or MPIXQ_DEVICE_FOREVER
 * \param[in]  scope     the threads of the unit
 * \param[out] index     which one; MPIXQ_DEVICE_NONE if none was started; of each thread
 * \return as MPIXQ_Device_wait
 */
MPIXQ_DEV int MPIXQ_Device_waitany(int count, const MPIXQ_Device_request *r,
                                   unsigned long long limit_ns, MPIXQ_Device_scope scope,
                                   int *index)
{
    mpixq_dev_word deadline = mpixq_dev_deadline(limit_ns);
    int late = 0, flag, any;

    do {
        late = deadline != MPIXQ_DEVICE_FOREVER &&
               mpixq_dev_tell(scope, mpixq_dev_clock()) >= deadline;
        any = 0;
        for (*index = 0; *index < count; ++*index) {
            const MPIXQ_Device_request *one = &r[*index];
            int is_active, error;

            mpixq_dev_meet(scope);
            is_active =
                !mpixq_dev_is_null(one) && mpixq_dev_next_start(one) > mpixq_dev_next_wait(one);
            any |= is_active;
            error = is_active ? MPIXQ_Device_test(one, &flag, scope) : MPIXQ_DEVICE_SUCCESS;
            if (is_active && (flag || error != MPIXQ_DEVICE_SUCCESS)) {
                return error;
            }
        }
    } while (any && !late);
    *index = MPIXQ_DEVICE_NONE;
    return any ? MPIXQ_DEVICE_ERR_TIMEOUT : MPIXQ_DEVICE_SUCCESS;
}

/* ---- Element by element ---------------------------------------------------------------------- */

/**
 * Can a request be started element by element? On the host and in kernels.
 *
 * \param[in] r  the handle
 * \return 1: it has slots, and its message is a multiple of 4 bytes; 0: it cannot, as where the
 *         host makes the starts
 */
MPIXQ_DEV_ANYWHERE int MPIXQ_Device_has_elements(const MPIXQ_Device_request *r)
{
    return r->slots != 0 && r->bytes % 4 == 0;
}

/**
 * Begin a start whose elements threads put or get one by one. Elements are 4 bytes each, and travel
 * with the number of the start, so that no thread has to say that they are there. Every thread that
 * puts or gets begins, and has an access of its own; units are participants, of any number of
 * blocks, which all end. Each element of a send is put exactly once, by any thread.
 *
 * A send blocks until its slot is free: until the start of the receive that is two before. It takes
 * no part in the buffer of the send, nor a get in that of the receive. The wait is part of it.
 *
 * \param[out] access        written in any case
 * \param[in]  r             the handle of a request with slots (MPIXQ_Device_has_elements): its
 *                           message has a multiple of 4 bytes, and no more than MPIXQ_EAGER at both
 *                           ends, as long as there is memory for that; sends are not synchronous.
 *                           It outlives the access
 * \param[in]  participants  how many units begin, and end, this start
 * \param[in]  limit_ns      how long at most, also of later gets, or MPIXQ_DEVICE_FOREVER
 * \param[in]  scope         the threads of this unit
 * \return MPIXQ_DEVICE_SUCCESS, or, of this thread, and with no need to end the access,
 *         MPIXQ_DEVICE_ERR_ACTIVE, MPIXQ_DEVICE_ERR_FREED, MPIXQ_DEVICE_ERR_FAILED or
 *         MPIXQ_DEVICE_ERR_TIMEOUT as a start and a wait; or
 *         MPIXQ_DEVICE_ERR_ARG     it has no slots, or no participants
 */
MPIXQ_DEV int MPIXQ_Device_begin(MPIXQ_Device_access *access, const MPIXQ_Device_request *r,
                                 unsigned participants, unsigned long long limit_ns,
                                 MPIXQ_Device_scope scope)
{
    mpixq_dev_word done = 0, posted = 0;

    if (r->is_send && r->slots != 0) { /* these words come with those that begin looks at */
        done = mpixq_dev_peek(&r->own->done);
        posted = mpixq_dev_peek(&r->own->posted);
    }
    mpixq_dev_begin(access, r, participants, limit_ns);
    if (access->error == MPIXQ_DEVICE_SUCCESS && !MPIXQ_Device_has_elements(r)) {
        access->error = MPIXQ_DEVICE_ERR_ARG;
    }
    if (access->error != MPIXQ_DEVICE_SUCCESS) {
        return access->error;
    }
    access->slot = mpixq_dev_slot(r, access->value);
    if (r->is_send) {
        access->error = mpixq_dev_is_credit(r, access->value, done, posted)
                            ? MPIXQ_DEVICE_SUCCESS
                            : mpixq_dev_await_credit(access, mpixq_dev_rank(scope));
    } else if (mpixq_dev_rank(scope) == 0) {
        mpixq_dev_open_receive(access);
    }
    return access->error;
}

/**
 * Put an element of a send that this thread has begun. Does not block.
 *
 * \param[in,out] access   of this thread
 * \param[in]     element  which one, from 0 on: less than a quarter of the bytes of the message
 * \param[in]     value    what is sent
 */
MPIXQ_DEV void MPIXQ_Device_put(MPIXQ_Device_access *access, unsigned long long element,
                                unsigned value)
{
    mpixq_dev_put(&access->slot[element], mpixq_dev_flag(access->value) | value);
    access->count++;
}

/**
 * Get an element of a receive that this thread has begun; again, if it likes. Blocks until it is
 * there. If it fails, the end of the access says why, and gets do not block any more.
 *
 * \param[in,out] access   of this thread
 * \param[in]     element  which one, as above
 * \return what was received; 0 if it failed
 */
MPIXQ_DEV unsigned MPIXQ_Device_get(MPIXQ_Device_access *access, unsigned long long element)
{
    const MPIXQ_Device_request *r = access->request;
    struct mpixq_dev_patience patience = {access->deadline, 0, 0};
    mpixq_dev_word found;

    if (access->error != MPIXQ_DEVICE_SUCCESS) {
        return 0;
    }
    if (mpixq_dev_await_unit(r, access->value, &access->slot[element], &found, &patience,
                             &access->error)) {
        return (unsigned)found;
    }
    return access->error == MPIXQ_DEVICE_SUCCESS
               ? (unsigned)mpixq_dev_get_unit(r->to, r->bytes, element)
               : 0;
}

/**
 * Put and get 8 bytes at once, the lower half first: element counts in 8 bytes. Each is two
 * elements above, and faster than these if the message is a multiple of 8 bytes.
 */
MPIXQ_DEV void MPIXQ_Device_put64(MPIXQ_Device_access *access, unsigned long long element,
                                  unsigned long long value)
{
    mpixq_dev_word flag = mpixq_dev_flag(access->value);

    if (!access->is_wide) {
        MPIXQ_Device_put(access, 2 * element, (unsigned)value);
        MPIXQ_Device_put(access, 2 * element + 1, (unsigned)(value >> 32));
        return;
    }
    mpixq_dev_put_two(&access->slot[2 * element], flag | (value & 0xffffffffu), flag | value >> 32);
    access->count += 2;
}

MPIXQ_DEV unsigned long long MPIXQ_Device_get64(MPIXQ_Device_access *access,
                                                unsigned long long element)
{
    struct mpixq_dev_patience patience = {access->deadline, 0, 0};
    mpixq_dev_word found, low;

    if (access->error == MPIXQ_DEVICE_SUCCESS && access->is_wide &&
        mpixq_dev_await_two(access->request, access->value, &access->slot[2 * element], &found,
                            &patience, &access->error)) {
        return found;
    }
    low = MPIXQ_Device_get(access, 2 * element);
    return (mpixq_dev_word)MPIXQ_Device_get(access, 2 * element + 1) << 32 | low;
}

/**
 * Where the buffer of the peer is mapped, for stores between MPIXQ_Device_begin_direct and
 * MPIXQ_Device_end; NULL of a receive, or if it is not.
 */
MPIXQ_DEV void *MPIXQ_Device_buffer(const MPIXQ_Device_request *r)
{
    return r->is_send && !r->is_host ? r->to : 0;
}

/**
 * Begin a send whose data the program stores into the buffer of the receive by itself, where
 * MPIXQ_Device_buffer says. Blocks until the receive is started. For any size; else as
 * MPIXQ_Device_begin.
 *
 * \return as MPIXQ_Device_begin;
 *         MPIXQ_DEVICE_ERR_ARG  it is no send, or a ready one, or its buffer is not mapped
 */
MPIXQ_DEV int MPIXQ_Device_begin_direct(MPIXQ_Device_access *access, const MPIXQ_Device_request *r,
                                        unsigned participants, unsigned long long limit_ns,
                                        MPIXQ_Device_scope scope)
{
    mpixq_dev_begin(access, r, participants, limit_ns);
    if (access->error == MPIXQ_DEVICE_SUCCESS &&
        (!r->is_send || r->is_ready || MPIXQ_Device_buffer(r) == 0)) {
        access->error = MPIXQ_DEVICE_ERR_ARG;
    }
    if (access->error == MPIXQ_DEVICE_SUCCESS) {
        access->is_direct = 1;
        if (mpixq_dev_rank(scope) == 0) {
            access->error = mpixq_dev_await_receive(access);
        }
        access->error = mpixq_dev_agree(scope, access->error);
    }
    return access->error;
}

/**
 * End a start that was begun: what this unit had to put, or to get, is done. The last participant
 * to end it completes it. Does not block.
 *
 * \param[in,out] access  of this thread; another begin may follow
 * \param[in]     scope   the threads of this unit, as when it was begun
 * \return MPIXQ_DEVICE_SUCCESS, or, with the start not made, so that it can be begun again,
 *         MPIXQ_DEVICE_ERR_FAILED, MPIXQ_DEVICE_ERR_TIMEOUT  a get has failed
 *         MPIXQ_DEVICE_ERR_COUNT  as many elements as the message has were not put; the last
 *                                 participant is told, who may put all of them again
 */
MPIXQ_DEV int MPIXQ_Device_end(MPIXQ_Device_access *access, MPIXQ_Device_scope scope)
{
    int is_send = access->request->is_send != 0, ended = MPIXQ_DEVICE_SUCCESS;
    int error = mpixq_dev_agree(scope, access->error);
    unsigned sum = is_send ? mpixq_dev_sum(scope, access->count) : 0;

    if (mpixq_dev_rank(scope) == 0) {
        ended = mpixq_dev_end(access, sum, error);
    }
    access->count = 0;
    if (is_send && mpixq_dev_any(scope, ended)) { /* others have nothing to tell */
        ended = MPIXQ_DEVICE_ERR_COUNT;
    }
    return error != MPIXQ_DEVICE_SUCCESS ? error : ended;
}

/* ---- Other names ----------------------------------------------------------------------------- */

#ifdef __cplusplus
/**
 * Put and get an element of a type that can be copied as bytes, of a multiple of 4 of them: the
 * message has so many of the type, and each counts as several elements above.
 */
template <typename T>
MPIXQ_DEV void MPIXQ_Device_put_as(MPIXQ_Device_access *access, unsigned long long element,
                                   const T &value)
{
    static_assert(sizeof(T) % 4 == 0, "elements have a multiple of 4 bytes");
    unsigned words[sizeof(T) / 4];

    __builtin_memcpy(words, &value, sizeof(T));
    if (sizeof(T) == 8) {
        MPIXQ_Device_put64(access, element,
                           (unsigned long long)words[sizeof(T) / 4 - 1] << 32 | words[0]);
    } else {
        for (unsigned i = 0; i < sizeof(T) / 4; i++) {
            MPIXQ_Device_put(access, element * (sizeof(T) / 4) + i, words[i]);
        }
    }
}

template <typename T>
MPIXQ_DEV T MPIXQ_Device_get_as(MPIXQ_Device_access *access, unsigned long long element)
{
    static_assert(sizeof(T) % 4 == 0, "elements have a multiple of 4 bytes");
    unsigned words[sizeof(T) / 4];
    T value;

    if (sizeof(T) == 8) {
        unsigned long long both = MPIXQ_Device_get64(access, element);

        __builtin_memcpy(words, &both, sizeof(T));
    } else {
        for (unsigned i = 0; i < sizeof(T) / 4; i++) {
            words[i] = MPIXQ_Device_get(access, element * (sizeof(T) / 4) + i);
        }
    }
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}
#endif

#ifndef MPIX_QUEUE_NO_ALIASES
#define MPIX_Device_request MPIXQ_Device_request
#define MPIX_Device_access MPIXQ_Device_access
#define MPIX_Device_scope MPIXQ_Device_scope
#define MPIX_DEVICE_THREAD MPIXQ_DEVICE_THREAD
#define MPIX_DEVICE_WARP MPIXQ_DEVICE_WARP
#define MPIX_DEVICE_BLOCK MPIXQ_DEVICE_BLOCK
#define MPIX_DEVICE_SUCCESS MPIXQ_DEVICE_SUCCESS
#define MPIX_DEVICE_ERR_ACTIVE MPIXQ_DEVICE_ERR_ACTIVE
#define MPIX_DEVICE_ERR_FREED MPIXQ_DEVICE_ERR_FREED
#define MPIX_DEVICE_ERR_FAILED MPIXQ_DEVICE_ERR_FAILED
#define MPIX_DEVICE_ERR_TIMEOUT MPIXQ_DEVICE_ERR_TIMEOUT
#define MPIX_DEVICE_ERR_ARG MPIXQ_DEVICE_ERR_ARG
#define MPIX_DEVICE_ERR_COUNT MPIXQ_DEVICE_ERR_COUNT
#define MPIX_DEVICE_FOREVER MPIXQ_DEVICE_FOREVER
#define MPIX_DEVICE_NONE MPIXQ_DEVICE_NONE
#define MPIX_Device_request_create(count, requests, queue, handles)                                \
    MPIXQ_Device_request_create(count, requests, queue, handles, MPIXQ_DEVICE_ABI)
#define MPIX_Device_request_free MPIXQ_Device_request_free
#define MPIX_Device_start MPIXQ_Device_start
#define MPIX_Device_startall MPIXQ_Device_startall
#define MPIX_Device_wait MPIXQ_Device_wait
#define MPIX_Device_waitall MPIXQ_Device_waitall
#define MPIX_Device_waitany MPIXQ_Device_waitany
#define MPIX_Device_test MPIXQ_Device_test
#define MPIX_Device_has_elements MPIXQ_Device_has_elements
#define MPIX_Device_begin MPIXQ_Device_begin
#define MPIX_Device_begin_direct MPIXQ_Device_begin_direct
#define MPIX_Device_buffer MPIXQ_Device_buffer
#define MPIX_Device_put MPIXQ_Device_put
#define MPIX_Device_get MPIXQ_Device_get
#define MPIX_Device_put64 MPIXQ_Device_put64
#define MPIX_Device_get64 MPIXQ_Device_get64
#define MPIX_Device_put_as MPIXQ_Device_put_as
#define MPIX_Device_get_as MPIXQ_Device_get_as
#define MPIX_Device_end MPIXQ_Device_end
#endif

#endif /* MPIX_QUEUE_DEVICE_H_INCLUDED */
