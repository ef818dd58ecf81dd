/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue.h - enqueue the starts and waits of persistent MPI requests on a stream
 *
 * The sequence of calls
 *
 *     MPI_Send_init / MPI_Recv_init ...   ordinary persistent MPI requests
 *     MPIX_Match / MPIX_Matchall          once, on the host: find the partner request for good
 *     MPIX_Queue_init                     once: a queue puts communication in order on a stream
 *     MPIX_Enqueue_start ... _wait        any number of times: only the stream waits
 *     MPIX_Queue_wait                     the host waits for everything that was enqueued
 *     MPI_Request_free, MPIX_Queue_free
 *
 * Names. The library exports MPIXQ_ names, each also with a PMPIXQ_ profiling name. This header
 * spells them MPIX_ through macros, as in MPIX_Queue and MPIX_Match, unless MPIX_QUEUE_NO_ALIASES
 * is defined (some MPI libraries declare MPIX_Queue themselves, with another meaning). With
 * MPIX_QUEUE_MPI_NAMES defined it offers the spellings MPI_Queue, MPI_Match, ... as well.
 *
 * Errors. Every function returns MPI_SUCCESS or an MPI error code. A call that fails invokes one
 * MPI error handler, once, in the calling thread: the handler of the communicator of the first
 * failing request, or that of MPI_COMM_WORLD where there is no such communicator or it was freed.
 * Since the default handler of MPI ends the program, install MPI_ERRORS_RETURN to see the code. A
 * failed call leaves its arguments and all objects as they were. MPI_Error_string explains the
 * code; MPIX_Error_kind tells what kind of error it is. Before MPI_Init and after MPI_Finalize
 * every function but MPIX_Error_kind and MPIXQ_Get_version returns MPI_ERR_OTHER, in silence.
 *
 * Threads. Every function may be called by any thread that may call MPI. Two threads must not use
 * the same request, or free an object that is in use, at the same time.
 *
 * Linking. The library sees how requests are made because it defines MPI_Send_init and its like,
 * and passes the calls on. It must therefore come before the MPI library: see mpix_queue(7).
 */
#ifndef MPIX_QUEUE_H_INCLUDED
#define MPIX_QUEUE_H_INCLUDED

#include <mpi.h>

#define MPIXQ_VERSION_MAJOR 0
#define MPIXQ_VERSION_MINOR 2
#define MPIXQ_VERSION_PATCH 0

#if defined(__GNUC__)
#define MPIXQ_PUBLIC __attribute__((visibility("default")))
#else
#define MPIXQ_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types and constants -------------------------------------------------------------------- */

/* A queue: communication in the order of one stream. MPIXQ_QUEUE_NULL is no queue. */
typedef struct mpixq_queue *MPIXQ_Queue;
#define MPIXQ_QUEUE_NULL ((MPIXQ_Queue)0)

/* An ordered executor on the host: functions run one after the other on a thread of its own. */
typedef struct mpixq_host_stream *MPIXQ_Host_stream;
#define MPIXQ_HOST_STREAM_NULL ((MPIXQ_Host_stream)0)

/* What a queue promises about the channels of the requests that it starts. It selects no channel:
 * that of a pair is chosen when it is matched (MPIXQ_Matchall_info). */
typedef enum MPIXQ_Queue_type {
    MPIXQ_QUEUE_AUTO = 0,     /* nothing: any request may be started */
    MPIXQ_QUEUE_FALLBACK = 1, /* nothing: that MPI is preferred is only noted */
    MPIXQ_QUEUE_CXI = 2,      /* no MPI, nor thread of the host that drives it: cxi, ipc, self */
    MPIXQ_QUEUE_IPC = 3       /* the same within a node: ipc, self */
} MPIXQ_Queue_type;

/* Count for MPIXQ_Enqueue_waitall: every request started on the queue and not yet waited for. */
#define MPIXQ_ALL_STARTED (-1)

/* Kinds of error, as told by MPIXQ_Error_kind. The numbers are part of the ABI. */
typedef enum MPIXQ_Error {
    MPIXQ_ERR_NONE = 0,         /* not an error of this library */
    MPIXQ_ERR_INTERPOSE = 1,    /* MPI calls do not come by the library (link order) */
    MPIXQ_ERR_ARG = 2,          /* an argument is not what it should be; the text names it */
    MPIXQ_ERR_REQUEST = 3,      /* no persistent request that the library knows and can match */
    MPIXQ_ERR_STATE = 4,        /* the request or queue is not in a state that allows the call */
    MPIXQ_ERR_MATCH = 5,        /* the two ends of a pair do not fit, or cannot be paired */
    MPIXQ_ERR_UNSUPPORTED = 6,  /* not available on this machine or in this version */
    MPIXQ_ERR_RESOURCES = 7,    /* memory, tags or threads are used up */
    MPIXQ_ERR_THREAD_LEVEL = 8, /* the thread level of MPI is too low */
    MPIXQ_ERR_COMM = 9,         /* a communication failed after it was enqueued */
    MPIXQ_ERR_TIMEOUT = 10      /* the watchdog ended a wait or a match: MPIXQ_WATCHDOG_ACTION */
} MPIXQ_Error;

/* ---- Library -------------------------------------------------------------------------------- */

/**
 * Version of the library that runs, which may differ from the MPIXQ_VERSION_ macros of this header.
 * Local; may be called at any time, also before MPI_Init and after MPI_Finalize.
 *
 * \param[out] major, minor, patch  the three numbers; any of them may be NULL
 * \return MPI_SUCCESS
 */
MPIXQ_PUBLIC int MPIXQ_Get_version(int *major, int *minor, int *patch);

/**
 * Tell what kind of error an error code is. Local; at any time; invokes no error handler.
 *
 * \param[in]  errorcode  a code that a function of this library, an interposed MPI function or a
 *                        status gave
 * \param[out] kind       one of MPIXQ_Error; MPIXQ_ERR_NONE if the code is not this library's
 * \return MPI_SUCCESS, or
 *         MPI_ERR_OTHER           kind is NULL
 */
MPIXQ_PUBLIC int MPIXQ_Error_kind(int errorcode, int *kind);

/* ---- Queues --------------------------------------------------------------------------------- */

/**
 * Create a queue on a stream: MPIXQ_Queue_init_info with MPI_INFO_NULL.
 */
MPIXQ_PUBLIC int MPIXQ_Queue_init(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address);

/**
 * Create a queue on a stream. Local, not collective; does not wait for other processes. Needs
 * MPI_THREAD_MULTIPLE, because the stream calls MPI while the host does.
 *
 * \param[out] queue           the new queue; written only on success. Free it with MPIXQ_Queue_free
 * \param[in]  type            MPIXQ_QUEUE_AUTO unless requests of some channels are to be refused
 *                             when they are started. On a host stream too the type only says which
 *                             channels: the stream's thread is its device, which rings and waits
 * \param[in]  stream_address  address of the stream's handle: an MPIXQ_Host_stream, cudaStream_t
 *                             (or CUstream) or hipStream_t. The handle is copied; the stream stays
 *                             the caller's and must outlive the queue. NULL: the queue makes a host
 *                             stream of its own. A null handle is the default stream of the GPU,
 *                             and an error for a host stream. Several queues may share a stream
 * \param[in]  info            MPI_INFO_NULL, or hints; the caller keeps it. Key "type": the kind of
 *                             the stream: "mpix_host_stream", "cudaStream_t" or "hipStream_t".
 *                             Without it, one of a GPU is taken for that of the library which the
 *                             process uses. Unknown keys are ignored
 * \return MPI_SUCCESS, or, with nothing created,
 *         MPIXQ_ERR_INTERPOSE     MPI calls do not come by the library
 *         MPIXQ_ERR_THREAD_LEVEL  MPI was initialised below MPI_THREAD_MULTIPLE
 *         MPIXQ_ERR_ARG           queue is NULL, type is unknown, the stream is no live host
 *                                 stream, the handle is null and the process uses no GPU, or the
 *                                 value of an info key is not known
 *         MPIXQ_ERR_UNSUPPORTED   type or kind of stream cannot be had on this machine, or the
 *                                 stream is being captured into a graph; the text says why
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 *         MPIXQ_ERR_RESOURCES     no memory or thread is left
 */
MPIXQ_PUBLIC int MPIXQ_Queue_init_info(MPIXQ_Queue *queue, MPIXQ_Queue_type type,
                                       void *stream_address, MPI_Info info);

/**
 * Free a queue, and its stream if the queue made it. Local. Does not wait: work that is pending is
 * an error, unless the queue has failed; then the free always succeeds, once the stream has got
 * past what was enqueued, which waits of other queues on the same stream may hold up.
 *
 * \param[in,out] queue  a live queue; set to MPIXQ_QUEUE_NULL on success. Freeing the null queue
 *                       does nothing
 * \return MPI_SUCCESS, or, with nothing freed,
 *         MPIXQ_ERR_ARG           queue is NULL or no live queue
 *         MPIXQ_ERR_STATE         work is pending, a request is started without a wait, the queue's
 *                                 stream is being captured into a graph and the queue has not
 *                                 failed, or called from a function that a host stream runs
 */
MPIXQ_PUBLIC int MPIXQ_Queue_free(MPIXQ_Queue *queue);

/**
 * Block the calling thread until everything enqueued on the queue is done: all starts have been
 * executed, all started communication has completed, all waits have returned. A request that was
 * started without a wait stays started, and what it received in memory of a GPU may come to its
 * buffer only with that wait. For graphs that are replayed the program synchronizes the stream in
 * which it launched them; then this call returns what they have met, if that is an error. Local.
 *
 * \param[in] queue  a live queue
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG           no live queue
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs; or the queue's
 *                                 stream is being captured into a graph: nothing has changed, and
 *                                 the capture is still valid
 *         the queue's first error, at once and again at every call: a queue that has failed accepts
 *         nothing but MPIXQ_Queue_free
 */
MPIXQ_PUBLIC int MPIXQ_Queue_wait(MPIXQ_Queue queue);

/**
 * Tell whether everything enqueued on the queue is done: MPIXQ_Queue_wait without blocking. Local.
 * While the queue's stream is being captured into a graph it tells of what was enqueued before, and
 * leaves the capture valid.
 *
 * \param[in]  queue  a live queue
 * \param[out] flag   1 if everything is done, else 0; written only on success
 * \return MPI_SUCCESS, or an error of MPIXQ_Queue_wait, or
 *         MPIXQ_ERR_ARG           flag is NULL
 */
MPIXQ_PUBLIC int MPIXQ_Queue_test(MPIXQ_Queue queue, int *flag);

/**
 * Tell the stream of a queue, so that work can be put into its order: the handle that the queue was
 * made on, or that of the host stream which the queue made. The latter cannot be destroyed; it goes
 * with the last queue on it, whose free runs what was launched on it. Local, not blocking.
 *
 * \param[in]  queue   a live queue
 * \param[out] stream  address of a handle of the kind of stream that MPIXQ_Queue_get_info tells, an
 *                     MPIXQ_Host_stream, cudaStream_t or hipStream_t; written only on success
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG           no live queue, or stream is NULL
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 */
MPIXQ_PUBLIC int MPIXQ_Queue_get_stream(MPIXQ_Queue queue, void *stream);

/**
 * Tell what a queue uses and has done. Local, not blocking. The keys of the info object:
 *
 *     type                kind of the stream
 *     mpixq_stream_by     how starts and waits are put into it just now: thread on host streams,
 *                         values (stream memory operations) or kernels on those of GPUs
 *     mpixq_queue_type    auto, fallback, cxi or ipc
 *     mpixq_queue_number  which queue of this process it is, counted from 1 as they are made; the
 *                         reports of the watchdog name a queue by it
 *     mpixq_stream_owned  true if the queue made its stream, else false
 *     mpixq_stream_depth  operations that the stream holds before a submission waits for room; each
 *                         element of an array call is one
 *     mpixq_channels      names of the channels of the requests enqueued so far, with a comma
 *                         between them, or none
 *     mpixq_starts        requests started since the queue was made
 *     mpixq_starts_NAME   those of them whose pair goes by the channel NAME
 *     mpixq_waits         requests waited for
 *     mpixq_launches      operations submitted to the stream
 *     mpixq_posts         operations handed to MPI or a NIC
 *     mpixq_rings         words written by the stream to trigger communication
 *
 * \param[in]  queue      a live queue
 * \param[out] info_used  a new info object, which the caller frees; written only on success
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG           no live queue, or info_used is NULL
 *         an error of MPI_Info_create or MPI_Info_set
 */
MPIXQ_PUBLIC int MPIXQ_Queue_get_info(MPIXQ_Queue queue, MPI_Info *info_used);

/* ---- Matching ------------------------------------------------------------------------------- */

/**
 * Match one persistent request with its partner, for good: MPIXQ_Matchall with one request.
 */
MPIXQ_PUBLIC int MPIXQ_Match(MPI_Request *request);

/**
 * Match persistent requests with their partners: MPIXQ_Matchall_info with MPI_INFO_NULL.
 */
MPIXQ_PUBLIC int MPIXQ_Matchall(int count, MPI_Request requests[]);

/**
 * Match persistent requests with their partners, for good. Blocks until all of them are matched.
 * Called by both ends, each for its own requests; no other process takes part. Matching progresses
 * while it blocks.
 *
 * Sends and receives pair by MPI's rule for equal communicator, peer and tag: in the order in which
 * their matching was begun, within an array by index. A receive with MPI_ANY_SOURCE or MPI_ANY_TAG
 * binds to the first send that fits. Only requests given to a matching function take part; no other
 * message is touched. Afterwards the requests' communicator and datatype may be freed.
 *
 * A persistent collective is matched by all processes of its communicator: by MPI_Barrier_init,
 * MPI_Bcast_init, MPI_Allreduce_init, MPI_Allgather_init, MPI_Neighbor_alltoall_init or
 * MPI_Neighbor_alltoallv_init, and the MPIX_ functions of Open MPI 4.1 with these names. Requests
 * of different collectives may be matched, and started, in another order on each process, where
 * the calls below do not block in between. From then on the library moves their data.
 *
 * The match also chooses the channel of each pair, which it keeps: the first, in the order of the
 * receiver, of those that both ends may use and can use. An end may use those of MPIXQ_CHANNELS or,
 * of these, those that info names. Pairs within the process have the channel self besides, which
 * stands before cxi and fallback; requests to MPI_PROC_NULL need none.
 *
 * \param[in] count     number of requests; 0 is allowed
 * \param[in] requests  inactive requests from MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init,
 *                      MPI_Rsend_init or MPI_Recv_init, or from an initialiser of collectives
 *                      (mpix_queue(7)). MPI_REQUEST_NULL and requests to MPI_PROC_NULL are allowed.
 *                      The handles are not changed
 * \param[in] info      MPI_INFO_NULL, or hints, for all of the requests; the caller keeps it, and
 *                      the peers may give others. Key "mpixq_channels": the channels that they may
 *                      use, best first, as in "cxi,fallback"; the names are ipc, cxi and fallback.
 *                      Unknown keys are ignored
 * \return MPI_SUCCESS, or, with nothing begun,
 *         MPIXQ_ERR_INTERPOSE     MPI calls do not come by the library
 *         MPIXQ_ERR_ARG           count is negative, requests is NULL, or the value of an info key
 *                                 is no such list
 *         MPIXQ_ERR_REQUEST       an element is no persistent request that can be matched, or its
 *                                 making was not seen
 *         MPIXQ_ERR_STATE         an element is active, matched, being matched or stands twice in
 *                                 the array, or called from a function that a host stream runs
 *         MPIXQ_ERR_MATCH         an element's communicator has no identity (made by spawn, accept,
 *                                 connect, join or without the library), or its peer is not in
 *                                 MPI_COMM_WORLD
 *         MPIXQ_ERR_RESOURCES     no memory is left
 *         or, with the requests that failed unmatched again and the others matched, the code of the
 *         first failing request by index:
 *         MPI_ERR_TRUNCATE        the receive is smaller than the send (on both sides)
 *         MPIXQ_ERR_MATCH         the two ends see the communicator differently, the processes of a
 *                                 collective do not agree about its arguments, or there is no
 *                                 channel that both may use; the text names those of either
 *         MPIXQ_ERR_RESOURCES     no tag or memory is left, or no channel that both ends may use
 *                                 can serve the pair; the text says why
 *         MPIXQ_ERR_TIMEOUT       the watchdog gave the request up, since the peer did not match it
 */
MPIXQ_PUBLIC int MPIXQ_Matchall_info(int count, MPI_Request requests[], MPI_Info info);

/**
 * Begin to match one persistent request: MPIXQ_Imatchall with one request.
 */
MPIXQ_PUBLIC int MPIXQ_Imatch(MPI_Request *request, MPI_Request *match);

/**
 * Begin to match persistent requests: MPIXQ_Imatchall_info with MPI_INFO_NULL.
 */
MPIXQ_PUBLIC int MPIXQ_Imatchall(int count, MPI_Request requests[], MPI_Request *match);

/**
 * Begin to match persistent requests, without waiting, by the rules of MPIXQ_Matchall_info. Local.
 *
 * Matching progresses in every function of this library, in MPI_Wait, MPI_Test and their array
 * forms, and with MPI_THREAD_MULTIPLE by itself. Below that level a process that blocks in another
 * function does not answer its peer.
 *
 * \param[in]  count     number of requests; 0 is allowed
 * \param[in]  requests  as there. The array need not stay alive, the requests must
 * \param[in]  info      as there; it need not stay alive
 * \param[out] match     a request that completes when all are matched; complete it with any
 *                       MPI_Wait or MPI_Test function. It cannot be cancelled. If matching failed,
 *                       the completing call returns the error, in the array forms as
 *                       MPI_ERR_IN_STATUS with the code in the status
 * \return MPI_SUCCESS, or, with nothing begun, an error of its first group, or
 *         MPIXQ_ERR_ARG           match is NULL
 */
MPIXQ_PUBLIC int MPIXQ_Imatchall_info(int count, MPI_Request requests[], MPI_Info info,
                                      MPI_Request *match);

/**
 * Tell whether a request is matched. Local, not blocking; matching progresses.
 *
 * \param[in]  request  a persistent request; MPI_REQUEST_NULL counts as matched
 * \param[out] flag     1 if it is matched, else 0; written only on success
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_REQUEST       not a request that the library knows
 *         MPIXQ_ERR_ARG           flag is NULL
 */
MPIXQ_PUBLIC int MPIXQ_Is_matched(MPI_Request request, int *flag);

/* ---- Enqueueing ----------------------------------------------------------------------------- */

/**
 * Enqueue the start of one matched request: MPIXQ_Enqueue_startall with one request.
 */
MPIXQ_PUBLIC int MPIXQ_Enqueue_start(MPIXQ_Queue queue, MPI_Request *request);

/**
 * Enqueue the start of matched requests: they start when the stream gets there. Local; neither the
 * host nor the stream waits (the host does while the stream's own buffer is full). Buffers belong
 * to the library from the start until the wait has completed, as MPI says of active requests.
 *
 * While the stream is being captured into a graph (CUDA, HIP), the starts are captured: they become
 * kernels of the graph, no request changes its state, and each replay starts each request once.
 * That is for requests that are inactive or have their wait enqueued, and for no partitioned ones.
 * Replays, plain enqueues and starts by the host of a request may follow each other in any order,
 * one start at a time; the program orders them. A replay that starts what is started, or was freed,
 * makes no start, and fails the queue that was captured. See GRAPHS in mpix_queue(7).
 *
 * \param[in] queue     a live queue. The requests belong to it until their wait has completed: once
 *                      it is enqueued, MPI_Test and its like find them incomplete; Wait, Start,
 *                      Cancel and Request_free are errors
 * \param[in] count     number of requests; 0 is allowed
 * \param[in] requests  matched requests, each inactive or with its wait enqueued on the same queue.
 *                      MPI_REQUEST_NULL is allowed. The handles are not changed. A send made by
 *                      MPI_Rsend_init says that the receive buffer may be written when the send
 *                      starts
 * \return MPI_SUCCESS, or, with nothing enqueued,
 *         MPIXQ_ERR_ARG           no live queue, count is negative, or requests is NULL
 *         MPIXQ_ERR_REQUEST       an element is not a request that the library knows
 *         MPIXQ_ERR_STATE         an element is not matched, is started and not waited for, belongs
 *                                 to another queue, was started by the host and not completed or
 *                                 stands twice in the array, or called from a function that a host
 *                                 stream runs
 *         MPIXQ_ERR_UNSUPPORTED   the type of the queue excludes the channel of an element; the
 *                                 text names it and says why it was chosen. Or the queue's stream
 *                                 cannot reach the buffer. Or the start cannot be captured into a
 *                                 graph; the capture stays valid
 *         MPIXQ_ERR_COMM          an element failed before, or the GPU's library reports an error
 *         MPIXQ_ERR_RESOURCES     no memory is left
 *         the queue's first error, if it has failed
 */
MPIXQ_PUBLIC int MPIXQ_Enqueue_startall(MPIXQ_Queue queue, int count, MPI_Request requests[]);

/**
 * Enqueue a wait for one started request: MPIXQ_Enqueue_waitall with one request.
 */
MPIXQ_PUBLIC int MPIXQ_Enqueue_wait(MPIXQ_Queue queue, MPI_Request *request);

/**
 * Enqueue a wait for started requests: what is enqueued on the stream later runs when all of them
 * have completed. Local; the host does not wait. Afterwards MPI_Request_get_status tells source,
 * tag and count. On a stream of a GPU the wait may occupy a multiprocessor meanwhile, or two, and a
 * cooperative launch that needs all of them runs when it has ended.
 *
 * While the stream is being captured into a graph, the wait is captured, of each element, be it
 * started in this capture or not; each replay waits for the start that was not waited for yet, and
 * for nothing if there is none. MPIXQ_ALL_STARTED is every request then that this capture has
 * started on the queue and not waited for.
 *
 * \param[in] queue     the live queue on which the requests were started
 * \param[in] count     number of requests; 0 is allowed. MPIXQ_ALL_STARTED: every request started
 *                      on the queue and not yet waited for
 * \param[in] requests  matched requests. MPI_REQUEST_NULL and requests that are not started are
 *                      allowed and not waited for. With MPIXQ_ALL_STARTED ignored, and may be NULL
 * \return MPI_SUCCESS, or, with nothing enqueued,
 *         MPIXQ_ERR_ARG           no live queue, count is negative and not MPIXQ_ALL_STARTED, or
 *                                 requests is NULL
 *         MPIXQ_ERR_REQUEST       an element is not a request that the library knows
 *         MPIXQ_ERR_STATE         an element is not matched, started on another queue, twice in
 *                                 the array, or called from a function that a host stream runs
 *         MPIXQ_ERR_UNSUPPORTED   the wait cannot be captured into a graph, as of
 *                                 MPIXQ_Enqueue_startall; the capture stays valid
 *         MPIXQ_ERR_COMM          an element failed before, or the GPU's library reports an error
 *         MPIXQ_ERR_RESOURCES     no memory is left
 *         the queue's first error, if it has failed
 */
MPIXQ_PUBLIC int MPIXQ_Enqueue_waitall(MPIXQ_Queue queue, int count, MPI_Request requests[]);

/**
 * Enqueue the start of matched requests and a wait for them, in one call: MPIXQ_Enqueue_startall
 * and then MPIXQ_Enqueue_waitall of the same requests, with nothing enqueued on the queue between
 * the two. Local; the host does not wait, but for room while the stream's own buffer is full. On a
 * stream of a GPU, the two are one launch of a kernel where the GPUs serve all of the pairs by
 * themselves (channel ipc) and that is faster: up to 44 messages, short or few; those of
 * collectives in one round count too, of which one may be a reduction, but not in a graph.
 *
 * The stream waits in it, as the host does in MPI_Waitall after MPI_Startall. So what the peers
 * need to complete the requests must not stand behind it on the same stream: a send to a peer and
 * the receive from it belong into one call, or the start of one of them comes before. Work on the
 * same stream that is to overlap with the communication needs the two calls, and stands between
 * them.
 *
 * While the stream is being captured into a graph, both are captured, as they are by the two calls;
 * waits that other streams capture later, into the same graph, may come after it.
 *
 * \param[in] queue     a live queue
 * \param[in] count     number of requests; 0 is allowed, MPIXQ_ALL_STARTED is not
 * \param[in] requests  matched requests, each inactive or with its wait enqueued on the same queue.
 *                      MPI_REQUEST_NULL is allowed. The handles are not changed
 * \return MPI_SUCCESS, or, with nothing enqueued, neither starts nor wait,
 *         MPIXQ_ERR_ARG           no live queue, count is negative, or requests is NULL
 *         MPIXQ_ERR_REQUEST       an element is not a request that the library knows
 *         MPIXQ_ERR_STATE         an element is not matched, is started and not waited for, belongs
 *                                 to another queue, was started by the host and not completed or
 *                                 stands twice in the array, or called from a function that a host
 *                                 stream runs
 *         MPIXQ_ERR_UNSUPPORTED   the type of the queue excludes the channel of an element; the
 *                                 text names it and says why it was chosen. Or the queue's stream
 *                                 cannot reach the buffer. Or it cannot be captured into a graph,
 *                                 as of MPIXQ_Enqueue_startall; the capture stays valid
 *         MPIXQ_ERR_COMM          an element failed before, or the GPU's library reports an error
 *         MPIXQ_ERR_RESOURCES     no memory is left
 *         the queue's first error, if it has failed
 */
MPIXQ_PUBLIC int MPIXQ_Enqueue_startwaitall(MPIXQ_Queue queue, int count, MPI_Request requests[]);

/* ---- Host streams --------------------------------------------------------------------------- */

/**
 * Create a host stream: an executor with the order rules of a GPU stream, on a thread of the host.
 * Local.
 *
 * \param[out] stream  the new stream; written only on success. Free it with
 *                     MPIXQ_Host_stream_destroy
 * \return MPI_SUCCESS, or, with nothing created,
 *         MPIXQ_ERR_ARG           stream is NULL
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 *         MPIXQ_ERR_RESOURCES     no memory or thread is left
 */
MPIXQ_PUBLIC int MPIXQ_Host_stream_create(MPIXQ_Host_stream *stream);

/**
 * Destroy a host stream. Blocks until the functions launched on it have run. Local.
 *
 * \param[in,out] stream  a live stream; set to MPIXQ_HOST_STREAM_NULL on success. Destroying the
 *                        null stream does nothing
 * \return MPI_SUCCESS, or, with nothing destroyed,
 *         MPIXQ_ERR_ARG           stream is NULL or no live stream
 *         MPIXQ_ERR_STATE         a queue uses it, or called from within a host stream
 */
MPIXQ_PUBLIC int MPIXQ_Host_stream_destroy(MPIXQ_Host_stream *stream);

/**
 * Launch a function: it runs on the stream's thread after everything enqueued before it. Local.
 * Does not wait for it, but for room while the stream's buffer is full (MPIXQ_HOST_STREAM_DEPTH
 * operations).
 *
 * \param[in] stream  a live stream
 * \param[in] fn      the function; it may call MPI, but no function of this library
 * \param[in] arg     passed to fn; what it points to must stay valid until fn has run
 * \return MPI_SUCCESS, or, with nothing launched,
 *         MPIXQ_ERR_ARG           no live stream, or fn is NULL
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 */
MPIXQ_PUBLIC int MPIXQ_Host_stream_launch(MPIXQ_Host_stream stream, void (*fn)(void *), void *arg);

/**
 * Block the calling thread until everything enqueued on the stream so far has run. Local.
 *
 * \param[in] stream  a live stream
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG           no live stream
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 */
MPIXQ_PUBLIC int MPIXQ_Host_stream_synchronize(MPIXQ_Host_stream stream);

/**
 * Tell whether everything enqueued on the stream so far has run. Local, not blocking.
 *
 * \param[in]  stream  a live stream
 * \param[out] flag    1 if so, else 0; written only on success
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG           no live stream, or flag is NULL
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 */
MPIXQ_PUBLIC int MPIXQ_Host_stream_query(MPIXQ_Host_stream stream, int *flag);

/* ---- Profiling names: second names of the same functions, for tools that define the first --- */

MPIXQ_PUBLIC int PMPIXQ_Get_version(int *major, int *minor, int *patch);
MPIXQ_PUBLIC int PMPIXQ_Error_kind(int errorcode, int *kind);
MPIXQ_PUBLIC int PMPIXQ_Queue_init(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address);
MPIXQ_PUBLIC int PMPIXQ_Queue_init_info(MPIXQ_Queue *queue, MPIXQ_Queue_type type,
                                        void *stream_address, MPI_Info info);
MPIXQ_PUBLIC int PMPIXQ_Queue_free(MPIXQ_Queue *queue);
MPIXQ_PUBLIC int PMPIXQ_Queue_wait(MPIXQ_Queue queue);
MPIXQ_PUBLIC int PMPIXQ_Queue_test(MPIXQ_Queue queue, int *flag);
MPIXQ_PUBLIC int PMPIXQ_Queue_get_stream(MPIXQ_Queue queue, void *stream);
MPIXQ_PUBLIC int PMPIXQ_Queue_get_info(MPIXQ_Queue queue, MPI_Info *info_used);
MPIXQ_PUBLIC int PMPIXQ_Match(MPI_Request *request);
MPIXQ_PUBLIC int PMPIXQ_Matchall(int count, MPI_Request requests[]);
MPIXQ_PUBLIC int PMPIXQ_Matchall_info(int count, MPI_Request requests[], MPI_Info info);
MPIXQ_PUBLIC int PMPIXQ_Imatch(MPI_Request *request, MPI_Request *match);
MPIXQ_PUBLIC int PMPIXQ_Imatchall(int count, MPI_Request requests[], MPI_Request *match);
MPIXQ_PUBLIC int PMPIXQ_Imatchall_info(int count, MPI_Request requests[], MPI_Info info,
                                       MPI_Request *match);
MPIXQ_PUBLIC int PMPIXQ_Is_matched(MPI_Request request, int *flag);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_start(MPIXQ_Queue queue, MPI_Request *request);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_startall(MPIXQ_Queue queue, int count, MPI_Request requests[]);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_wait(MPIXQ_Queue queue, MPI_Request *request);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_waitall(MPIXQ_Queue queue, int count, MPI_Request requests[]);
MPIXQ_PUBLIC int PMPIXQ_Enqueue_startwaitall(MPIXQ_Queue queue, int count, MPI_Request requests[]);
MPIXQ_PUBLIC int PMPIXQ_Host_stream_create(MPIXQ_Host_stream *stream);
MPIXQ_PUBLIC int PMPIXQ_Host_stream_destroy(MPIXQ_Host_stream *stream);
MPIXQ_PUBLIC int PMPIXQ_Host_stream_launch(MPIXQ_Host_stream stream, void (*fn)(void *), void *arg);
MPIXQ_PUBLIC int PMPIXQ_Host_stream_synchronize(MPIXQ_Host_stream stream);
MPIXQ_PUBLIC int PMPIXQ_Host_stream_query(MPIXQ_Host_stream stream, int *flag);

#ifdef __cplusplus
}
#endif

/* ---- Spellings ------------------------------------------------------------------------------ */

#ifndef MPIX_QUEUE_NO_ALIASES
#define MPIX_Queue MPIXQ_Queue
#define MPIX_Host_stream MPIXQ_Host_stream
#define MPIX_Queue_type MPIXQ_Queue_type
#define MPIX_QUEUE_NULL MPIXQ_QUEUE_NULL
#define MPIX_HOST_STREAM_NULL MPIXQ_HOST_STREAM_NULL
#define MPIX_ALL_STARTED MPIXQ_ALL_STARTED
#define MPIX_QUEUE_AUTO MPIXQ_QUEUE_AUTO
#define MPIX_QUEUE_FALLBACK MPIXQ_QUEUE_FALLBACK
#define MPIX_QUEUE_CXI MPIXQ_QUEUE_CXI
#define MPIX_QUEUE_IPC MPIXQ_QUEUE_IPC
#define MPIX_Queue_init MPIXQ_Queue_init
#define MPIX_Queue_init_info MPIXQ_Queue_init_info
#define MPIX_Queue_free MPIXQ_Queue_free
#define MPIX_Queue_wait MPIXQ_Queue_wait
#define MPIX_Queue_test MPIXQ_Queue_test
#define MPIX_Queue_get_stream MPIXQ_Queue_get_stream
#define MPIX_Queue_get_info MPIXQ_Queue_get_info
#define MPIX_Match MPIXQ_Match
#define MPIX_Matchall MPIXQ_Matchall
#define MPIX_Matchall_info MPIXQ_Matchall_info
#define MPIX_Imatch MPIXQ_Imatch
#define MPIX_Imatchall MPIXQ_Imatchall
#define MPIX_Imatchall_info MPIXQ_Imatchall_info
#define MPIX_Is_matched MPIXQ_Is_matched
#define MPIX_Enqueue_start MPIXQ_Enqueue_start
#define MPIX_Enqueue_startall MPIXQ_Enqueue_startall
#define MPIX_Enqueue_wait MPIXQ_Enqueue_wait
#define MPIX_Enqueue_waitall MPIXQ_Enqueue_waitall
#define MPIX_Enqueue_startwaitall MPIXQ_Enqueue_startwaitall
#define MPIX_Host_stream_create MPIXQ_Host_stream_create
#define MPIX_Host_stream_destroy MPIXQ_Host_stream_destroy
#define MPIX_Host_stream_launch MPIXQ_Host_stream_launch
#define MPIX_Host_stream_synchronize MPIXQ_Host_stream_synchronize
#define MPIX_Host_stream_query MPIXQ_Host_stream_query
#define MPIX_Error_kind MPIXQ_Error_kind
#endif

#ifdef MPIX_QUEUE_MPI_NAMES
#define MPI_Queue MPIXQ_Queue
#define MPI_Host_stream MPIXQ_Host_stream
#define MPI_Queue_type MPIXQ_Queue_type
#define MPI_QUEUE_NULL MPIXQ_QUEUE_NULL
#define MPI_HOST_STREAM_NULL MPIXQ_HOST_STREAM_NULL
#define MPI_ALL_STARTED MPIXQ_ALL_STARTED
#define MPI_QUEUE_AUTO MPIXQ_QUEUE_AUTO
#define MPI_QUEUE_FALLBACK MPIXQ_QUEUE_FALLBACK
#define MPI_QUEUE_CXI MPIXQ_QUEUE_CXI
#define MPI_QUEUE_IPC MPIXQ_QUEUE_IPC
#define MPI_Queue_init MPIXQ_Queue_init
#define MPI_Queue_init_info MPIXQ_Queue_init_info
#define MPI_Queue_free MPIXQ_Queue_free
#define MPI_Queue_wait MPIXQ_Queue_wait
#define MPI_Queue_test MPIXQ_Queue_test
#define MPI_Queue_get_stream MPIXQ_Queue_get_stream
#define MPI_Queue_get_info MPIXQ_Queue_get_info
#define MPI_Match MPIXQ_Match
#define MPI_Matchall MPIXQ_Matchall
#define MPI_Matchall_info MPIXQ_Matchall_info
#define MPI_Imatch MPIXQ_Imatch
#define MPI_Imatchall MPIXQ_Imatchall
#define MPI_Imatchall_info MPIXQ_Imatchall_info
#define MPI_Is_matched MPIXQ_Is_matched
#define MPI_Enqueue_start MPIXQ_Enqueue_start
#define MPI_Enqueue_startall MPIXQ_Enqueue_startall
#define MPI_Enqueue_wait MPIXQ_Enqueue_wait
#define MPI_Enqueue_startwaitall MPIXQ_Enqueue_startwaitall
#define MPI_Host_stream_create MPIXQ_Host_stream_create
#define MPI_Host_stream_destroy MPIXQ_Host_stream_destroy
#define MPI_Host_stream_launch MPIXQ_Host_stream_launch
#define MPI_Host_stream_synchronize MPIXQ_Host_stream_synchronize
#define MPI_Host_stream_query MPIXQ_Host_stream_query
/* With one argument: every request started on the queue and not yet waited for. */
#define MPI_Enqueue_waitall(...)                                                                   \
    MPIXQ_WAITALL_PICK(__VA_ARGS__, MPIXQ_WAITALL_3, MPIXQ_WAITALL_2, MPIXQ_WAITALL_1, )           \
    (__VA_ARGS__)
#define MPIXQ_WAITALL_PICK(a, b, c, pick, ...) pick
#define MPIXQ_WAITALL_1(queue) MPIXQ_Enqueue_waitall(queue, MPIXQ_ALL_STARTED, (MPI_Request *)0)
#define MPIXQ_WAITALL_3(queue, count, requests) MPIXQ_Enqueue_waitall(queue, count, requests)
/* The queue type as it is spelled in the paper that proposed these functions. */
#ifndef CXI
#define CXI MPIXQ_QUEUE_CXI
#endif
#endif

#endif /* MPIX_QUEUE_H_INCLUDED */
