/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_partitions.h - persistent requests whose data is sent in parts, as they become ready
 *
 * The sequence of calls, as of other persistent requests (mpix_queue.h), with MPIX_Pready between
 * start and wait:
 *
 *     MPIX_Psend_init                        MPIX_Precv_init
 *     MPIX_Match                             MPIX_Match
 *     MPI_Start, or MPIX_Enqueue_start       MPI_Start, or MPIX_Enqueue_start
 *     MPIX_Pready of each partition, in      MPIX_Parrived, if it wants to know
 *         any order and by any threads
 *     MPI_Wait, or MPIX_Enqueue_wait         MPI_Wait, or MPIX_Enqueue_wait
 *     MPI_Request_free                       MPI_Request_free
 *
 * Partitioned requests pair with partitioned ones only. The two ends may have different numbers of
 * partitions, and different datatypes, but the same number of bytes in all. How many messages are
 * sent is settled when they are matched: the largest number that divides the partitions of both
 * ends and that neither limits (info key mpixq_partitions). A message goes when its last partition
 * is ready, by whichever channel serves it, like any other of a standard send: nothing is written
 * to the receiver's buffer before the receive was started. The send as a whole completes only when
 * the receive was started.
 *
 * A request whose buffer is in memory of a GPU cannot be started on a queue in this version, unless
 * MPI or a NIC accesses that memory; nor by the host, where its data goes by a staging buffer.
 * Queues of the types MPIX_QUEUE_CXI and MPIX_QUEUE_IPC start no partitioned requests, as threads
 * of the host have a part in these.
 *
 * A request is matched before it is started in any way: MPI's own functions for partitioned
 * requests know nothing of it. The n-th time that a partition is ready belongs to the n-th start.
 *
 * Names, errors and threads: as mpix_queue.h says. Different threads may call MPIX_Pready and
 * MPIX_Parrived with the same request at the same time. There are no spellings MPI_ of these
 * functions, since MPI 4 has its own.
 */
#ifndef MPIX_QUEUE_PARTITIONS_H_INCLUDED
#define MPIX_QUEUE_PARTITIONS_H_INCLUDED

#include "mpix_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a partitioned send. Local. The request is an ordinary one of MPI for MPI_Start, MPI_Wait,
 * MPI_Test, MPI_Request_free and their like, and for the functions of this library; it is not
 * captured into graphs.
 *
 * \param[in]  buf         partitions of count elements each, one after the other
 * \param[in]  partitions  how many; 0 is allowed
 * \param[in]  count       elements of each
 * \param[in]  datatype    of the elements; it may be freed afterwards
 * \param[in]  dest        rank of the receiver, or MPI_PROC_NULL
 * \param[in]  tag         as of MPI_Send_init
 * \param[in]  comm        likewise
 * \param[in]  info        MPI_INFO_NULL, or hints; the caller keeps it. Key "mpixq_partitions": the
 *                         most messages that the data is sent in, from 1 to 1024; 16 without it.
 *                         Unknown keys are ignored
 * \param[out] request     the new request; written only on success
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_INTERPOSE     MPI calls do not come by the library
 *         MPIXQ_ERR_ARG           request is NULL, partitions or count is negative, there are more
 *                                 elements than can be counted, or the value of an info key is no
 *                                 such number
 *         MPIXQ_ERR_STATE         called from a function that a host stream runs
 *         MPIXQ_ERR_RESOURCES     no memory is left
 *         an error of MPI_Send_init, for the other arguments
 */
MPIXQ_PUBLIC int MPIXQ_Psend_init(const void *buf, int partitions, MPI_Count count,
                                  MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                  MPI_Info info, MPI_Request *request);

/**
 * Make a partitioned receive, as MPIXQ_Psend_init makes a send.
 *
 * \param[out] buf         partitions of count elements each, one after the other
 * \param[in]  partitions  as there; need not be those of the sender
 * \param[in]  count       as there
 * \param[in]  datatype    as there
 * \param[in]  source      rank of the sender, or MPI_PROC_NULL
 * \param[in]  tag         as of MPI_Recv_init
 * \param[in]  comm        likewise
 * \param[in]  info        as there
 * \param[out] request     as there
 * \return as there, or
 *         MPIXQ_ERR_ARG           source is MPI_ANY_SOURCE, or tag is MPI_ANY_TAG
 */
MPIXQ_PUBLIC int MPIXQ_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                                  int source, int tag, MPI_Comm comm, MPI_Info info,
                                  MPI_Request *request);

/**
 * Say that a partition of a started send is ready. Local; waits for nobody. Also from a function
 * that a host stream runs. After an enqueued start it may be called at once: the partition goes
 * when the stream has come to the start.
 *
 * \param[in] partition  its index, from 0 on; each once for each start
 * \param[in] request    a send of MPIXQ_Psend_init
 * \return MPI_SUCCESS, or, with nothing changed,
 *         MPIXQ_ERR_ARG           no such partition
 *         MPIXQ_ERR_REQUEST       not such a request
 *         MPIXQ_ERR_STATE         the request is not started, or the partition is ready already
 */
MPIXQ_PUBLIC int MPIXQ_Pready(int partition, MPI_Request request);

/**
 * Say that the partitions of a range are ready: MPIXQ_Pready of each.
 *
 * \param[in] partition_low   the first,
 * \param[in] partition_high  and the last of them
 * \param[in] request         as there
 * \return as there, or
 *         MPIXQ_ERR_ARG           the first is the higher
 */
MPIXQ_PUBLIC int MPIXQ_Pready_range(int partition_low, int partition_high, MPI_Request request);

/**
 * Say that the partitions of a list are ready: MPIXQ_Pready of each.
 *
 * \param[in] length               how many; 0 is allowed
 * \param[in] array_of_partitions  their indices, each once
 * \param[in] request              as there
 * \return as there, or
 *         MPIXQ_ERR_ARG           length is negative, or the array NULL
 */
MPIXQ_PUBLIC int MPIXQ_Pready_list(int length, const int array_of_partitions[],
                                   MPI_Request request);

/**
 * Tell whether a partition of a started receive has come. Local, not blocking. Also from a function
 * that a host stream runs, where it speaks of the start that the stream has come to; elsewhere of
 * the last one that was made or enqueued.
 *
 * \param[in]  request    a receive of MPIXQ_Precv_init, or MPI_REQUEST_NULL
 * \param[in]  partition  its index, from 0 on
 * \param[out] flag       1 if it has come, or the request is null or not started, else 0; written
 *                        only on success
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_ARG           no such partition, or flag is NULL
 *         MPIXQ_ERR_REQUEST       not such a request
 *         MPIXQ_ERR_COMM          the start has failed
 */
MPIXQ_PUBLIC int MPIXQ_Parrived(MPI_Request request, int partition, int *flag);

/**
 * Block until the receiver's buffer is ready: its receive of this start was started. Of a receive:
 * until its own start has been made. MPIXQ_Pready needs none: what is ready earlier waits for the
 * receive. An enqueued start includes it in this sense, and blocks no stream for it.
 *
 * \param[in] request  a started request of MPIXQ_Psend_init or MPIXQ_Precv_init
 * \return MPI_SUCCESS, or
 *         MPIXQ_ERR_REQUEST       not such a request
 *         MPIXQ_ERR_STATE         the request is not started, or called from a function that a host
 *                                 stream runs
 *         MPIXQ_ERR_COMM          the start has failed
 */
MPIXQ_PUBLIC int MPIXQ_Pbuf_prepare(MPI_Request request);

/* ---- Profiling names ------------------------------------------------------------------------ */

MPIXQ_PUBLIC int PMPIXQ_Psend_init(const void *buf, int partitions, MPI_Count count,
                                   MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                   MPI_Info info, MPI_Request *request);
MPIXQ_PUBLIC int PMPIXQ_Precv_init(void *buf, int partitions, MPI_Count count,
                                   MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                   MPI_Info info, MPI_Request *request);
MPIXQ_PUBLIC int PMPIXQ_Pready(int partition, MPI_Request request);
MPIXQ_PUBLIC int PMPIXQ_Pready_range(int partition_low, int partition_high, MPI_Request request);
MPIXQ_PUBLIC int PMPIXQ_Pready_list(int length, const int array_of_partitions[],
                                    MPI_Request request);
MPIXQ_PUBLIC int PMPIXQ_Parrived(MPI_Request request, int partition, int *flag);
MPIXQ_PUBLIC int PMPIXQ_Pbuf_prepare(MPI_Request request);

#ifdef __cplusplus
}
#endif

/* ---- Spellings ------------------------------------------------------------------------------ */

#ifndef MPIX_QUEUE_NO_ALIASES
#define MPIX_Psend_init MPIXQ_Psend_init
#define MPIX_Precv_init MPIXQ_Precv_init
#define MPIX_Pready MPIXQ_Pready
#define MPIX_Pready_range MPIXQ_Pready_range
#define MPIX_Pready_list MPIXQ_Pready_list
#define MPIX_Parrived MPIXQ_Parrived
#define MPIX_Pbuf_prepare MPIXQ_Pbuf_prepare
#endif

#endif /* MPIX_QUEUE_PARTITIONS_H_INCLUDED */
