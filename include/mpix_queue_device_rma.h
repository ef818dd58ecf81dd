/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_device_rma.h - puts with signals in kernels of the program
 *
 *     MPIX_Window_create, MPIX_Signal_init, MPIX_Blk_init     on the host, of memory of a GPU
 *     MPIX_Device_transfer_init, MPIX_Device_signal_init      on the host: handles for kernels
 *     MPIX_Device_put_signal                                  in a kernel of the process that puts
 *     MPIX_Device_signal_wait, _signal_reset, or both at once: _signal_wait_reset
 *                                                             in one of that which is put to
 *
 * The functions for the host are left out where MPIX_QUEUE_DEVICE_ONLY is defined. What is said in
 * mpix_queue_device.h of scope, memory and residency holds here too. Handles are values, and need
 * not be freed. They are of use until the window is freed, or a signal in them; kernels that use
 * them have ended before. Nobody finds out that a kernel puts to a signal that was freed.
 *
 * A signal counts puts by kernels, by the host and by other processes alike. What a kernel has put
 * is complete, as far as MPIX_Window_free is concerned, when the kernel has ended.
 */
#ifndef MPIX_QUEUE_DEVICE_RMA_H_INCLUDED
#define MPIX_QUEUE_DEVICE_RMA_H_INCLUDED

#include "mpix_queue_device.h"
#ifndef MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_rma.h"
#endif

/* What kernels and library have to agree on, in these functions. */
#define MPIXQ_DEVICE_RMA_ABI 1

enum {
    MPIXQ_DEVICE_ERR_OUTSTANDING = 7, /* the signal is not complete; nothing was changed */
    MPIXQ_DEVICE_ERR_SURPLUS = 8      /* more events have come than the signal was set to */
};

/* A put: two blocks, as kernels need them. The program looks into none of the members. */
struct mpixq_device_transfer {
    char *to;
    const char *from;
    mpixq_dev_word bytes;
    mpixq_dev_word *local, *remote; /* words of the signals of both blocks; or none */
    mpixq_dev_word abi;             /* 0: to MPI_PROC_NULL, which does nothing */
};
typedef struct mpixq_device_transfer MPIXQ_Device_transfer;

/* A signal of this process, likewise. */
struct mpixq_device_signal {
    mpixq_dev_word *word;
    const mpixq_dev_word *failed; /* of the window, in memory of the host */
    mpixq_dev_word events, abi;
};
typedef struct mpixq_device_signal MPIXQ_Device_signal;

/* ---- On the host ----------------------------------------------------------------------------- */

#ifndef MPIX_QUEUE_DEVICE_ONLY
#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a handle by which kernels put one block into another, as MPIXQ_Put does. Local, not
 * blocking. All that MPIXQ_Put checks, at either end, is checked here, but whether the other
 * process has freed its signal.
 *
 * \param[in]  local, remote  blocks of a window in memory of GPUs, with as many bytes
 * \param[out] transfer       written only on success
 * \param[in]  abi            MPIXQ_DEVICE_RMA_ABI, as the kernels were compiled with
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG, MPIXQ_ERR_STATE, MPIXQ_ERR_COMM  as MPIXQ_Put, and where transfer is NULL
 *         MPIXQ_ERR_UNSUPPORTED  the window is in memory of the host, or of GPUs that only NICs
 *                                reach, or another version of handles
 */
MPIXQ_PUBLIC int MPIXQ_Device_transfer_init(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                                            MPIXQ_Device_transfer *transfer, int abi);

/**
 * Make a handle by which kernels of this process wait for a signal of it. Local, not blocking.
 *
 * \param[in]  sig     a live signal of a window in memory of GPUs
 * \param[out] signal  written only on success
 * \return MPI_SUCCESS, MPIXQ_ERR_ARG (sig or signal), or MPIXQ_ERR_UNSUPPORTED as above
 */
MPIXQ_PUBLIC int MPIXQ_Device_signal_init(MPIXQ_Signal sig, MPIXQ_Device_signal *signal, int abi);

/**
 * Tell where kernels of this process see the window of a process. Local, not blocking. It may be
 * loaded from and stored to; what is stored is there for who waits for a signal that a put tells
 * later by the same thread, or after the threads have met.
 *
 * \param[in]  rank  in the communicator of the window
 * \param[out] base  address of a pointer: the window of this process itself, or where that of a
 *                   peer is mapped; NULL if it is not, as in windows in memory of the host
 * \return MPI_SUCCESS, or MPIXQ_ERR_ARG (win, rank, base)
 */
MPIXQ_PUBLIC int MPIXQ_Device_window_ptr(MPIXQ_Window win, int rank, void *base);

MPIXQ_PUBLIC int PMPIXQ_Device_transfer_init(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                                             MPIXQ_Device_transfer *transfer, int abi);
MPIXQ_PUBLIC int PMPIXQ_Device_signal_init(MPIXQ_Signal sig, MPIXQ_Device_signal *signal, int abi);
MPIXQ_PUBLIC int PMPIXQ_Device_window_ptr(MPIXQ_Window win, int rank, void *base);

#ifdef __cplusplus
}
#endif
#endif

/* ---- In kernels ------------------------------------------------------------------------------ */

/* By the first thread: one event of a signal. */
MPIXQ_DEV void mpixq_dev_tell_signal(mpixq_dev_word *word)
{
    if (word != 0) {
        mpixq_dev_add(word, ~(mpixq_dev_word)0); /* one less */
    }
}

/**
 * Put a block, with the threads of this unit, and tell the signals of both blocks. Never blocks.
 * When it returns, the local block may be written again by the threads of the unit.
 *
 * \param[in] transfer  the handle
 * \param[in] scope     the threads of the unit
 * \return MPIXQ_DEVICE_SUCCESS
 */
MPIXQ_DEV int MPIXQ_Device_put_signal(const MPIXQ_Device_transfer *transfer,
                                      MPIXQ_Device_scope scope)
{
    if (transfer->abi == 0) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    mpixq_dev_meet(scope);
    mpixq_dev_copy(transfer->to, transfer->from, transfer->bytes, mpixq_dev_rank(scope),
                   mpixq_dev_size(scope));
    mpixq_dev_meet(scope);
    if (mpixq_dev_rank(scope) == 0) {
        mpixq_dev_fence();
        mpixq_dev_tell_signal(transfer->remote);
        mpixq_dev_tell_signal(transfer->local);
    }
    return MPIXQ_DEVICE_SUCCESS;
}

/* Of a word that is not 0. */
MPIXQ_DEV int mpixq_dev_signal_error(mpixq_dev_word word)
{
    return (word >> 32 & 1) != 0 ? MPIXQ_DEVICE_ERR_SURPLUS : MPIXQ_DEVICE_ERR_OUTSTANDING;
}

/* By the first thread. The last look acquires; then so many events are added. */
MPIXQ_DEV int mpixq_dev_await_signal(const MPIXQ_Device_signal *signal, mpixq_dev_word limit_ns,
                                     mpixq_dev_word events)
{
    mpixq_dev_word deadline = mpixq_dev_deadline(limit_ns), word;

    for (unsigned looks = 1; (word = mpixq_dev_peek(signal->word)) != 0; looks++) {
        if (mpixq_dev_signal_error(word) == MPIXQ_DEVICE_ERR_SURPLUS) {
            return MPIXQ_DEVICE_ERR_SURPLUS;
        }
        if (looks % 32 == 0) {
            if (mpixq_dev_peek(signal->failed) != 0) {
                return MPIXQ_DEVICE_ERR_FAILED;
            }
            if (limit_ns != MPIXQ_DEVICE_FOREVER && mpixq_dev_clock() >= deadline) {
                return MPIXQ_DEVICE_ERR_TIMEOUT;
            }
        }
        mpixq_dev_pause();
    }
    (void)mpixq_dev_load(signal->word);
    if (events != 0) {
        mpixq_dev_add(signal->word, events);
    }
    return MPIXQ_DEVICE_SUCCESS;
}

MPIXQ_DEV int mpixq_dev_wait_signal(const MPIXQ_Device_signal *signal, mpixq_dev_word limit_ns,
                                    MPIXQ_Device_scope scope, mpixq_dev_word events)
{
    mpixq_dev_word error = 0;

    mpixq_dev_meet(scope);
    if (mpixq_dev_rank(scope) == 0) {
        error = (mpixq_dev_word)mpixq_dev_await_signal(signal, limit_ns, events);
    }
    error = mpixq_dev_tell(scope, error);
    mpixq_dev_meet(scope); /* what the first thread has seen, all see */
    return (int)error;
}

/**
 * Wait until a signal is complete: then all data that it counted is there for the threads of the
 * unit.
 *
 * \param[in] signal    the handle
 * \param[in] limit_ns  how long at most, in nanoseconds, or MPIXQ_DEVICE_FOREVER
 * \param[in] scope     the threads of the unit
 * \return MPIXQ_DEVICE_SUCCESS, or
 *         MPIXQ_DEVICE_ERR_SURPLUS  more events have come than it was set to
 *         MPIXQ_DEVICE_ERR_FAILED   the window has failed, as when a process of it has ended:
 *                                   MPIX_Window_flush says why
 *         MPIXQ_DEVICE_ERR_TIMEOUT  it takes longer; it can be waited for again
 */
MPIXQ_DEV int MPIXQ_Device_signal_wait(const MPIXQ_Device_signal *signal,
                                       unsigned long long limit_ns, MPIXQ_Device_scope scope)
{
    return mpixq_dev_wait_signal(signal, limit_ns, scope, 0);
}

/**
 * Set a signal to its number again, as MPIXQ_Signal_reset does. Who waits for a signal that the
 * unit puts to later may count on it; who is told in another way, after a fence.
 *
 * \return MPIXQ_DEVICE_SUCCESS, or, with nothing changed,
 *         MPIXQ_DEVICE_ERR_OUTSTANDING  it is not complete
 *         MPIXQ_DEVICE_ERR_SURPLUS      more events have come than it was set to: early ones of the
 *                                       next round, as far as they have come by now
 */
MPIXQ_DEV int MPIXQ_Device_signal_reset(const MPIXQ_Device_signal *signal, MPIXQ_Device_scope scope)
{
    mpixq_dev_word error = MPIXQ_DEVICE_SUCCESS, before;

    mpixq_dev_meet(scope);
    if (mpixq_dev_rank(scope) == 0) {
        before = mpixq_dev_replace(signal->word, 0, signal->events);
        if (before != 0) {
            error = (mpixq_dev_word)mpixq_dev_signal_error(before);
        }
    }
    return (int)mpixq_dev_tell(scope, error);
}

/**
 * MPIXQ_Device_signal_wait and MPIXQ_Device_signal_reset at once, in less time: no thread waits for
 * an answer to the reset, which adds to the signal behind the last look of the wait. So an event
 * that comes in between counts for the next round, and is not found to be too early, as by the two.
 *
 * \return as MPIXQ_Device_signal_wait; on an error the signal was not reset
 */
MPIXQ_DEV int MPIXQ_Device_signal_wait_reset(const MPIXQ_Device_signal *signal,
                                             unsigned long long limit_ns, MPIXQ_Device_scope scope)
{
    return mpixq_dev_wait_signal(signal, limit_ns, scope, signal->events);
}

#ifndef MPIX_QUEUE_NO_ALIASES
#define MPIX_Device_transfer MPIXQ_Device_transfer
#define MPIX_Device_signal MPIXQ_Device_signal
#define MPIX_DEVICE_ERR_OUTSTANDING MPIXQ_DEVICE_ERR_OUTSTANDING
#define MPIX_DEVICE_ERR_SURPLUS MPIXQ_DEVICE_ERR_SURPLUS
#define MPIX_Device_transfer_init(local, remote, transfer)                                         \
    MPIXQ_Device_transfer_init(local, remote, transfer, MPIXQ_DEVICE_RMA_ABI)
#define MPIX_Device_signal_init(sig, signal)                                                       \
    MPIXQ_Device_signal_init(sig, signal, MPIXQ_DEVICE_RMA_ABI)
#define MPIX_Device_window_ptr MPIXQ_Device_window_ptr
#define MPIX_Device_put_signal MPIXQ_Device_put_signal
#define MPIX_Device_signal_wait MPIXQ_Device_signal_wait
#define MPIX_Device_signal_reset MPIXQ_Device_signal_reset
#define MPIX_Device_signal_wait_reset MPIXQ_Device_signal_wait_reset
#endif

#endif /* MPIX_QUEUE_DEVICE_RMA_H_INCLUDED */
