/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The errors of partitioned requests: a part of error_defs.h, which says how it is used. */
MPIXQ_ERROR(ARG_PARTITIONS, MPIXQ_ERR_ARG,
            "argument partitions: negative, or with argument count more elements than can be "
            "counted")
MPIXQ_ERROR(ARG_PARTITION, MPIXQ_ERR_ARG,
            "argument partition: an index that is negative, or not less than the partitions of "
            "the request")
MPIXQ_ERROR(ARG_PARTITION_LOW, MPIXQ_ERR_ARG,
            "arguments partition_low and partition_high: the low one is the higher")
MPIXQ_ERROR(ARG_PARTITION_LIST, MPIXQ_ERR_ARG,
            "arguments length and array_of_partitions: negative, or NULL")
MPIXQ_ERROR(ARG_PARTITION_PEER, MPIXQ_ERR_ARG,
            "arguments source and tag: a partitioned receive takes neither MPI_ANY_SOURCE nor "
            "MPI_ANY_TAG")
MPIXQ_ERROR(ARG_PARTITION_INFO, MPIXQ_ERR_ARG,
            "argument info: the value of key mpixq_partitions is not a number from 1 to 1024")
MPIXQ_ERROR(NOT_PARTITIONED, MPIXQ_ERR_REQUEST,
            "not a partitioned request of MPIX_Psend_init or MPIX_Precv_init")
MPIXQ_ERROR(NOT_PSEND, MPIXQ_ERR_REQUEST, "a receive: partitions are made ready by the sender")
MPIXQ_ERROR(NOT_PRECV, MPIXQ_ERR_REQUEST, "a send: partitions arrive at the receiver")
MPIXQ_ERROR(PARTITION_INACTIVE, MPIXQ_ERR_STATE, "the request is not started")
MPIXQ_ERROR(PARTITION_TWICE, MPIXQ_ERR_STATE,
            "argument partition: that partition of this start is ready already")
MPIXQ_ERROR(PARTITION_BYTES, MPIXQ_ERR_MATCH,
            "the two ends of a partitioned pair are not of the same size in all")
MPIXQ_ERROR(PARTITION_QUEUE, MPIXQ_ERR_UNSUPPORTED,
            "a partitioned request whose buffer is in memory of a GPU, and that does not go by MPI "
            "or a NIC from there, cannot be started on a queue in this version")
MPIXQ_ERROR(PARTITION_GRAPH, MPIXQ_ERR_UNSUPPORTED,
            "a partitioned request cannot be captured into a graph, or be started by kernels")
