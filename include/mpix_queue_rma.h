/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_rma.h - puts with signals: one-sided communication that tells when its data is there
 *
 * The sequence of calls
 *
 *     MPIX_Window_create, MPIX_Signal_init   memory for others to put to; what counts their puts
 *     MPIX_Blk_init                          a part of it, with a signal; sent to the others
 *     MPIX_Put, MPIX_Plan_start, ...         at one end, by the host or enqueued on a queue
 *     MPIX_Signal_wait, MPIX_Signal_reset    at the other end, likewise
 *     MPIX_Window_free
 *
 * Order. A signal is all that orders: puts may arrive in any order, and where nothing waits for a
 * signal, only MPIX_Window_flush tells that they have. Once a wait for a signal has returned, all
 * data of the events that it counted is visible to who waited.
 *
 * Between windows in memory that the host can access puts go by messages of MPI, or, where both
 * processes have NICs of the channel cxi, by these, from the second put to a signal on. A process
 * takes part while its progress thread runs, or, below MPI_THREAD_MULTIPLE, only inside of the
 * functions that wait, test, flush, reset, put, get and free. Between windows in memory of GPUs
 * that reach each other the GPUs do it all; streams, graphs and kernels can put too
 * (mpix_queue_device_rma.h). Where these do not reach each other, as on several nodes, NICs make
 * all puts and gets of the window, and kernels none.
 *
 * Names, errors and threads: as mpix_queue.h says, but that errors invoke the handler of
 * MPI_COMM_WORLD, and that of comm in MPIX_Window_create and MPIX_Window_allocate. There are no
 * spellings MPI_ of these functions, since MPI has an MPI_Put.
 */
#ifndef MPIX_QUEUE_RMA_H_INCLUDED
#define MPIX_QUEUE_RMA_H_INCLUDED

#include <stdint.h>

#include "mpix_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of each process of a communicator that the others can put to and get from. */
typedef struct mpixq_window *MPIXQ_Window;
#define MPIXQ_WINDOW_NULL ((MPIXQ_Window)0)

/* Counts events down from a number that is set; complete at 0. An event is a put or a get of a
 * block that has the signal. */
typedef struct mpixq_signal *MPIXQ_Signal;
#define MPIXQ_SIGNAL_NULL ((MPIXQ_Signal)0)

/* Many puts that are started as one. */
typedef struct mpixq_plan *MPIXQ_Plan;
#define MPIXQ_PLAN_NULL ((MPIXQ_Plan)0)

/* A part of the window of one process, and its signal: bytes that can be sent to other processes as
 * sizeof(MPIXQ_Blk) of MPI_BYTE. All zeros is the block of MPI_PROC_NULL. */
typedef struct MPIXQ_Blk {
    uint64_t words[8];
} MPIXQ_Blk;

/* ---- Windows -------------------------------------------------------------------------------- */

/**
 * Make memory of this process a window. Collective over comm, and blocks until all have called it.
 *
 * \param[in]  base   the memory, which stays the caller's and must outlive the window; any address
 *                    if bytes is 0
 * \param[in]  bytes  of this process; others may give others
 * \param[in]  comm   an intracommunicator, which may be freed afterwards
 * \param[in]  info   MPI_INFO_NULL, or hints, of which this version knows none
 * \param[out] win    the new window; written only on success
 * \return MPI_SUCCESS, or, with nothing created,
 *         MPIXQ_ERR_INTERPOSE     MPI calls do not come by the library
 *         MPIXQ_ERR_ARG           base, bytes, comm or win; found before others are waited for
 *         MPIXQ_ERR_UNSUPPORTED   memory of a GPU that the host cannot access, and that the GPUs of
 *                                 some process cannot map; or of the host at some processes
 *         MPIXQ_ERR_RESOURCES     no memory, at some process
 *         MPIXQ_ERR_MATCH         processes run other versions of the library
 */
MPIXQ_PUBLIC int MPIXQ_Window_create(void *base, MPI_Aint bytes, MPI_Comm comm, MPI_Info info,
                                     MPIXQ_Window *win);

/**
 * As MPIXQ_Window_create, of memory that the library allocates, zeroed, that of the host aligned to
 * pages, and frees with the window. All processes give the same bytes, else MPIXQ_ERR_ARG at all.
 * Memory of the host is shared among the processes of a node, which so put and get by copies of
 * their own (MPIXQ_SHARED_WINDOWS).
 *
 * \param[in]  info  MPI_INFO_NULL, or hints. Key "mpixq_memory": "host", as without it; or "cuda"
 *                   or "hip": memory of the GPU that the calling thread uses, at all processes.
 *                   Unknown keys are ignored
 * \param[out] base  address of a pointer to the memory; NULL is stored if bytes is 0
 * \return as MPIXQ_Window_create, or
 *         MPIXQ_ERR_ARG          info: another value
 *         MPIXQ_ERR_UNSUPPORTED  the library of that kind of GPU is not there
 *         MPIXQ_ERR_RESOURCES    no memory, at some process; or, with HIP, a wait is pending on a
 *                                stream, for which the allocation might wait
 */
MPIXQ_PUBLIC int MPIXQ_Window_allocate(MPI_Aint bytes, MPI_Comm comm, MPI_Info info, void *base,
                                       MPIXQ_Window *win);

/**
 * Free a window with its signals. Collective over its processes; blocks until all have called it
 * and all puts and gets are complete, at both ends. Its blocks and plans are of no use then.
 *
 * \param[in,out] win  a live window; set to MPIXQ_WINDOW_NULL if it was freed. Freeing the null
 *                     window does nothing, and is not collective
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG    win is NULL or no live window
 *         MPIXQ_ERR_STATE  nothing is freed, at any process: at some process streams have not made
 *                          what was enqueued for the window
 *         MPIXQ_ERR_COMM   the window has failed (a process has ended); it is freed
 *         another error of MPIXQ_Window_flush; the window is freed
 */
MPIXQ_PUBLIC int MPIXQ_Window_free(MPIXQ_Window *win);

/**
 * Block until all puts and gets that this process has started on the window are complete at both
 * ends. Enqueued ones count from when their stream has started them. Not collective.
 *
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG    no live window; or, told once, a process has refused a put or a get
 *                          since the last flush: its block lies outside of the window
 *         MPIXQ_ERR_STATE  likewise: the signal of the block was freed
 *         MPIXQ_ERR_COMM   the window has failed
 */
MPIXQ_PUBLIC int MPIXQ_Window_flush(MPIXQ_Window win);

/* ---- Signals -------------------------------------------------------------------------------- */

/**
 * Create a signal, set to num_event. Local.
 *
 * \param[in]  num_event  so many events complete it: 1 to 2147483647
 * \param[out] sig        the new signal; written only on success
 * \return MPI_SUCCESS, MPIXQ_ERR_ARG or MPIXQ_ERR_RESOURCES
 */
MPIXQ_PUBLIC int MPIXQ_Signal_init(MPIXQ_Window win, int num_event, MPIXQ_Signal *sig);

/**
 * Set a signal to its number again, for the next round. Local; it changes nothing unless the signal
 * is complete, with no event too many.
 *
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG    no live signal
 *         MPIXQ_ERR_STATE  events are outstanding; or more have come than it was set to: early ones
 *                          of the next round, or surplus ones. The text says how many, and of which
 *                          offset and rank the first of them was. That is found if it has come by
 *                          now, and not for certain: to keep ends in step is the program's
 *         its failure: see MPIXQ_Signal_wait
 */
MPIXQ_PUBLIC int MPIXQ_Signal_reset(MPIXQ_Signal sig);

/**
 * Tell whether a signal is complete. Local, not blocking; it takes what has arrived.
 *
 * \param[out] flag  1 or 0; written only on success
 * \return as MPIXQ_Signal_wait
 */
MPIXQ_PUBLIC int MPIXQ_Signal_test(MPIXQ_Signal sig, int *flag);

/**
 * Block until a signal is complete: as often as it was set, enqueued resets included.
 *
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG      no live signal, flag is NULL; or that of a put or get with this signal
 *                            that was refused: see MPIXQ_Window_flush
 *         MPIXQ_ERR_STATE    likewise; or more events have come than it was set to, as in a reset
 *         MPIXQ_ERR_COMM     the window has failed: a process of it has ended, or MPI failed
 *         MPIXQ_ERR_TIMEOUT  the watchdog has ended a wait for it (MPIXQ_WATCHDOG_ACTION=error)
 */
MPIXQ_PUBLIC int MPIXQ_Signal_wait(MPIXQ_Signal sig);

/**
 * MPIXQ_Signal_wait, and if that succeeds MPIXQ_Signal_reset.
 *
 * \return as these two; on an error of the reset the signal was waited for
 */
MPIXQ_PUBLIC int MPIXQ_Signal_wait_reset(MPIXQ_Signal sig);

/**
 * Free a signal. Local. Puts that name it are refused from then on.
 *
 * \param[in,out] sig  a live signal; set to MPIXQ_SIGNAL_NULL on success. Freeing the null signal
 *                     does nothing
 * \return MPI_SUCCESS, MPIXQ_ERR_ARG, or
 *         MPIXQ_ERR_STATE  a stream has yet to wait for it or to reset it
 */
MPIXQ_PUBLIC int MPIXQ_Signal_free(MPIXQ_Signal *sig);

/* ---- Blocks, puts and gets ------------------------------------------------------------------ */

/**
 * Make a block of this process's part of a window. Local.
 *
 * \param[in]  offset, bytes  which part; bytes may be 0
 * \param[in]  sig            a signal of the window that each put or get of the block is an event
 *                            of, or MPIXQ_SIGNAL_NULL
 * \param[out] blk            the block; nothing has to be freed
 * \return MPI_SUCCESS, or MPIXQ_ERR_ARG
 */
MPIXQ_PUBLIC int MPIXQ_Blk_init(MPIXQ_Window win, MPI_Aint offset, MPI_Aint bytes, MPIXQ_Signal sig,
                                MPIXQ_Blk *blk);

/**
 * Give a block, of any process, the signal of another block of the same process and window. Local.
 *
 * \param[in,out] blk   the block
 * \param[in]     from  whose signal it gets; NULL: it has none then
 * \return MPI_SUCCESS, or MPIXQ_ERR_ARG
 */
MPIXQ_PUBLIC int MPIXQ_Blk_set_signal(MPIXQ_Blk *blk, const MPIXQ_Blk *from);

/**
 * Start to write a block of this process into one of any process of the window, this one included.
 * Local, not blocking. An event of the signal of local: its memory may be written again. An event
 * of that of remote: the data is there. To a block of zeros it does nothing.
 *
 * \param[in] local, remote  blocks of one window, with as many bytes; copied
 * \return MPI_SUCCESS, or, with nothing started,
 *         MPIXQ_ERR_ARG        a block is NULL, no block, of another window or process, outside of
 *                              its window, or the other has other bytes
 *         MPIXQ_ERR_STATE      the window or a signal of this process was freed
 *         MPIXQ_ERR_RESOURCES  no memory
 *         MPIXQ_ERR_COMM       the window has failed
 */
MPIXQ_PUBLIC int MPIXQ_Put(const MPIXQ_Blk *local, const MPIXQ_Blk *remote);

/**
 * Start to read a block of any process of the window into one of this process. As MPIXQ_Put, but an
 * event of the signal of local: the data is there; of remote: its memory may be written again.
 */
MPIXQ_PUBLIC int MPIXQ_Get(const MPIXQ_Blk *local, const MPIXQ_Blk *remote);

/**
 * Make a plan of puts on one window, from local[i] to remote[i]. Local. The blocks are copied.
 *
 * \return as MPIXQ_Put
 */
MPIXQ_PUBLIC int MPIXQ_Plan_create(int count, const MPIXQ_Blk local[], const MPIXQ_Blk remote[],
                                   MPIXQ_Plan *plan);

/**
 * Start all puts of a plan. Local, not blocking. A plan may be started again at any time.
 *
 * \return MPI_SUCCESS, MPIXQ_ERR_ARG, MPIXQ_ERR_STATE (its window was freed) or MPIXQ_ERR_COMM
 */
MPIXQ_PUBLIC int MPIXQ_Plan_start(MPIXQ_Plan plan);

/**
 * Free a plan, if nothing enqueued has yet to start it (MPIXQ_ERR_STATE). Local. What it started
 * goes on. Set to MPIXQ_PLAN_NULL on success; freeing the null plan does nothing.
 */
MPIXQ_PUBLIC int MPIXQ_Plan_free(MPIXQ_Plan *plan);

/* ---- In the order of a stream --------------------------------------------------------------- */

/**
 * Enqueue what MPIXQ_Put, MPIXQ_Plan_start, MPIXQ_Signal_wait and MPIXQ_Signal_reset do: the stream
 * does it when it gets there, and waits for nothing but the signal, and a GPU behind a reset until
 * a thread of the library has made it. A wait is for the round that the last reset before it
 * begins, be that enqueued or not. Local, not blocking; what fails later fails the queue.
 * MPIXQ_Queue_wait waits until puts are started and signals reset, and not until puts are complete;
 * that a stream of a GPU is synchronized tells neither of puts.
 *
 * While the stream is being captured these are nodes of the graph, of which a thread of the library
 * makes the host's part for each launch. The stream goes on behind a reset when that is made. From
 * the first capture of a signal on, enqueued waits for it are for the round that is under way when
 * the stream gets there. A plan was read by the call. The graph holds the window and the signal:
 * neither can be freed before it is destroyed.
 *
 * A wait that resets is both in one call, which enqueues both or nothing. Between GPUs that reach
 * each other it is one kernel, whose reset adds to the signal: an event that comes between the last
 * look of the wait and the reset counts for the next round, and is not found to be too early.
 *
 * Of a window in memory of GPUs that reach each other each call is one kernel in the stream of the
 * queue, which has to be of the GPU that has the window; a plan is one for each 32 puts. Puts are
 * complete when the stream has passed them. A wait or reset is about the signal as it is when the
 * stream gets there. While the stream is being captured, the kernels become nodes of the graph,
 * which holds window and signal likewise.
 *
 * \param[in] queue  a live queue
 * \return MPI_SUCCESS, or, with nothing enqueued, an error of these functions, of the queue, or
 *         MPIXQ_ERR_ARG          no live queue
 *         MPIXQ_ERR_UNSUPPORTED  in memory of the host: the stream is being captured and has no
 *                                kernels that wait, or the queue is of type MPIXQ_QUEUE_CXI or
 *                                MPIXQ_QUEUE_IPC. In memory of GPUs: the stream is not of that GPU,
 *                                or has no such kernels, or the queue is of type MPIXQ_QUEUE_CXI
 *         MPIXQ_ERR_RESOURCES    no memory, or 64 queues use the window in memory of GPUs
 */
MPIXQ_PUBLIC int MPIXQ_Enqueue_put(MPIXQ_Queue queue, const MPIXQ_Blk *local,
                                   const MPIXQ_Blk *remote);
MPIXQ_PUBLIC int MPIXQ_Enqueue_plan_start(MPIXQ_Queue queue, MPIXQ_Plan plan);
MPIXQ_PUBLIC int MPIXQ_Enqueue_signal_wait(MPIXQ_Queue queue, MPIXQ_Signal sig);
MPIXQ_PUBLIC int MPIXQ_Enqueue_signal_reset(MPIXQ_Queue queue, MPIXQ_Signal sig);
MPIXQ_PUBLIC int MPIXQ_Enqueue_signal_wait_reset(MPIXQ_Queue queue, MPIXQ_Signal sig);

/* ---- Profiling names ------------------------------------------------------------------------ */

MPIXQ_PUBLIC int PMPIXQ_Window_create(void *base, MPI_Aint bytes, MPI_Comm comm, MPI_Info info,
                                      MPIXQ_Window *win);
MPIXQ_PUBLIC int PMPIXQ_Window_allocate(MPI_Aint bytes, MPI_Comm comm, MPI_Info info, void *base,
                                        MPIXQ_Window *win);
MPIXQ_PUBLIC int PMPIXQ_Window_free(MPIXQ_Window *win);
MPIXQ_PUBLIC int PMPIXQ_Window_flush(MPIXQ_Window win);
MPIXQ_PUBLIC int PMPIXQ_Signal_init(MPIXQ_Window win, int num_event, MPIXQ_Signal *sig);
MPIXQ_PUBLIC int PMPIXQ_Signal_reset(MPIXQ_Signal sig);
MPIXQ_PUBLIC int PMPIXQ_Signal_test(MPIXQ_Signal sig, int *flag);
MPIXQ_PUBLIC int PMPIXQ_Signal_wait(MPIXQ_Signal sig);
MPIXQ_PUBLIC int PMPIXQ_Signal_wait_reset(MPIXQ_Signal sig);
MPIXQ_PUBLIC int PMPIXQ_Signal_free(MPIXQ_Signal *sig);
MPIXQ_PUBLIC int PMPIXQ_Blk_init(MPIXQ_Window win, MPI_Aint offset, MPI_Aint bytes,
                                 MPIXQ_Signal sig, MPIXQ_Blk *blk);
MPIXQ_PUBLIC int PMPIXQ_Blk_set_signal(MPIXQ_Blk *blk, const MPIXQ_Blk *from);
MPIXQ_PUBLIC int PMPIXQ_Put(const MPIXQ_Blk *local, const MPIXQ_Blk *remote);
MPIXQ_PUBLIC int PMPIXQ_Get(const MPIXQ_Blk *local, const MPIXQ_Blk *remote);
MPIXQ_PUBLIC int PMPIXQ_Plan_create(int count, const MPIXQ_Blk local[], const MPIXQ_Blk remote[],
                                    MPIXQ_Plan *plan);
MPIXQ_PUBLIC int PMPIXQ_Plan_start(MPIXQ_Plan plan);
MPIXQ_PUBLIC int PMPIXQ_Plan_free(MPIXQ_Plan *plan);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_put(MPIXQ_Queue queue, const MPIXQ_Blk *local,
                                    const MPIXQ_Blk *remote);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_plan_start(MPIXQ_Queue queue, MPIXQ_Plan plan);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_signal_wait(MPIXQ_Queue queue, MPIXQ_Signal sig);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_signal_reset(MPIXQ_Queue queue, MPIXQ_Signal sig);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_signal_wait_reset(MPIXQ_Queue queue, MPIXQ_Signal sig);

#ifdef __cplusplus
}
#endif

/* ---- Spellings ------------------------------------------------------------------------------ */

#ifndef MPIX_QUEUE_NO_ALIASES
#define MPIX_Window MPIXQ_Window
#define MPIX_Signal MPIXQ_Signal
#define MPIX_Plan MPIXQ_Plan
#define MPIX_Blk MPIXQ_Blk
#define MPIX_WINDOW_NULL MPIXQ_WINDOW_NULL
#define MPIX_SIGNAL_NULL MPIXQ_SIGNAL_NULL
#define MPIX_PLAN_NULL MPIXQ_PLAN_NULL
#define MPIX_Window_create MPIXQ_Window_create
#define MPIX_Window_allocate MPIXQ_Window_allocate
#define MPIX_Window_free MPIXQ_Window_free
#define MPIX_Window_flush MPIXQ_Window_flush
#define MPIX_Signal_init MPIXQ_Signal_init
#define MPIX_Signal_reset MPIXQ_Signal_reset
#define MPIX_Signal_test MPIXQ_Signal_test
#define MPIX_Signal_wait MPIXQ_Signal_wait
#define MPIX_Signal_wait_reset MPIXQ_Signal_wait_reset
#define MPIX_Signal_free MPIXQ_Signal_free
#define MPIX_Blk_init MPIXQ_Blk_init
#define MPIX_Blk_set_signal MPIXQ_Blk_set_signal
#define MPIX_Put MPIXQ_Put
#define MPIX_Get MPIXQ_Get
#define MPIX_Plan_create MPIXQ_Plan_create
#define MPIX_Plan_start MPIXQ_Plan_start
#define MPIX_Plan_free MPIXQ_Plan_free
#define MPIX_Enqueue_put MPIXQ_Enqueue_put
#define MPIX_Enqueue_plan_start MPIXQ_Enqueue_plan_start
#define MPIX_Enqueue_signal_wait MPIXQ_Enqueue_signal_wait
#define MPIX_Enqueue_signal_reset MPIXQ_Enqueue_signal_reset
#define MPIX_Enqueue_signal_wait_reset MPIXQ_Enqueue_signal_wait_reset
#endif

#endif /* MPIX_QUEUE_RMA_H_INCLUDED */
