/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every error of the library: MPIXQ_ERROR(name, kind, text). The order is that of the wire: a match
 * message names an error by its place here, so append, and raise MPIXQ_WIRE_VERSION otherwise. */
MPIXQ_ERROR(
    INTERPOSE, MPIXQ_ERR_INTERPOSE,
    "MPI calls pass by libmpix_queue. Causes: linked after MPI, behind another library, dropped "
    "by --as-needed, dlopen, or a tool in front. Cure: link it first, or "
    "LD_PRELOAD=libmpix_queue.so ahead of any tool")
MPIXQ_ERROR(
    INIT_UNSEEN, MPIXQ_ERR_INTERPOSE,
    "MPI was initialised by a call that did not come by libmpix_queue (through PMPI, or before "
    "the library was loaded)")
MPIXQ_ERROR(INSIDE, MPIXQ_ERR_STATE,
            "called from a function that a host stream runs: such a function may not call "
            "this library")
MPIXQ_ERROR(ARG_QUEUE_P, MPIXQ_ERR_ARG, "argument queue: the address is NULL")
MPIXQ_ERROR(ARG_QUEUE, MPIXQ_ERR_ARG, "argument queue: null, freed, or not a queue")
MPIXQ_ERROR(ARG_TYPE, MPIXQ_ERR_ARG, "argument type: not a queue type")
MPIXQ_ERROR(
    ARG_STREAM_ADDRESS, MPIXQ_ERR_ARG,
    "argument stream_address: does not hold a live host stream, and this process uses no GPU "
    "(of a GPU's stream, info key type says the kind)")
MPIXQ_ERROR(ARG_INFO_TYPE, MPIXQ_ERR_ARG,
            "argument info: the value of key type is not cudaStream_t, hipStream_t or "
            "mpix_host_stream")
MPIXQ_ERROR(ARG_FLAG, MPIXQ_ERR_ARG, "argument flag: the address is NULL")
MPIXQ_ERROR(ARG_INFO_USED, MPIXQ_ERR_ARG, "argument info_used: the address is NULL")
MPIXQ_ERROR(ARG_COUNT, MPIXQ_ERR_ARG, "argument count: negative")
MPIXQ_ERROR(ARG_REQUEST_P, MPIXQ_ERR_ARG, "argument request: the address is NULL")
MPIXQ_ERROR(ARG_REQUESTS, MPIXQ_ERR_ARG, "argument requests: the array is NULL")
MPIXQ_ERROR(ARG_MATCH, MPIXQ_ERR_ARG, "argument match: the address is NULL")
MPIXQ_ERROR(ARG_STREAM_P, MPIXQ_ERR_ARG, "argument stream: the address is NULL")
MPIXQ_ERROR(ARG_STREAM, MPIXQ_ERR_ARG, "argument stream: null, destroyed, or not a host stream")
MPIXQ_ERROR(ARG_FN, MPIXQ_ERR_ARG, "argument fn: NULL")
MPIXQ_ERROR(
    UNKNOWN_REQUEST, MPIXQ_ERR_REQUEST,
    "not a persistent request of messages or of a collective that can be matched, or it was "
    "made by a call that did not come by libmpix_queue (PMPI, partitioned, before MPI_Init)")
MPIXQ_ERROR(ACTIVE, MPIXQ_ERR_STATE, "the request is active: complete it before it is matched")
MPIXQ_ERROR(ALREADY_MATCHED, MPIXQ_ERR_STATE, "the request is matched already")
MPIXQ_ERROR(MATCHING, MPIXQ_ERR_STATE, "the request is being matched")
MPIXQ_ERROR(TWICE, MPIXQ_ERR_STATE, "the request stands twice in the array")
MPIXQ_ERROR(UNMATCHED, MPIXQ_ERR_STATE, "the request is not matched: call MPIX_Match first")
MPIXQ_ERROR(STARTED, MPIXQ_ERR_STATE,
            "the request is started on a queue and its wait was not enqueued")
MPIXQ_ERROR(OTHER_QUEUE, MPIXQ_ERR_STATE, "the request belongs to another queue")
MPIXQ_ERROR(OWNED, MPIXQ_ERR_STATE,
            "the request belongs to a queue until its enqueued wait has completed")
MPIXQ_ERROR(QUEUE_BUSY, MPIXQ_ERR_STATE,
            "the queue has work pending, or requests that were started and not waited for")
MPIXQ_ERROR(STREAM_BUSY, MPIXQ_ERR_STATE, "a queue uses the stream: free the queue first")
MPIXQ_ERROR(HOST_ACTIVE, MPIXQ_ERR_STATE,
            "the request is active: the host started it and has not completed it yet")
MPIXQ_ERROR(
    CANCEL, MPIXQ_ERR_UNSUPPORTED,
    "a matched request, or a request of MPIX_Imatch, cannot be cancelled: its peer may have "
    "taken part already, which cannot be called back")
MPIXQ_ERROR(CXI, MPIXQ_ERR_UNSUPPORTED,
            "argument type: MPIX_QUEUE_CXI cannot be used here: no fabric (MPIXQ_FABRIC), or the "
            "library was built without libfabric")
MPIXQ_ERROR(
    CUDA, MPIXQ_ERR_UNSUPPORTED,
    "argument info: type is cudaStream_t, and there is no driver of CUDA (libcuda.so.1) or no "
    "device")
MPIXQ_ERROR(
    HIP, MPIXQ_ERR_UNSUPPORTED,
    "argument info: type is hipStream_t, and there is no runtime of HIP (libamdhip64.so) or no "
    "device")
MPIXQ_ERROR(
    THREAD_LEVEL, MPIXQ_ERR_THREAD_LEVEL,
    "a queue needs MPI_THREAD_MULTIPLE, and MPI provides less: call MPI_Init_thread, link the "
    "library into the program, or set MPIXQ_THREAD_LEVEL=multiple")
MPIXQ_ERROR(NO_IDENTITY, MPIXQ_ERR_MATCH,
            "the request's communicator has no identity that both ends know: it comes from "
            "spawn, accept, connect, join, a group without parent, or was made without the library")
MPIXQ_ERROR(FOREIGN_PEER, MPIXQ_ERR_MATCH, "the request's peer is not in MPI_COMM_WORLD")
MPIXQ_ERROR(VIEW, MPIXQ_ERR_MATCH,
            "the two ends of the pair see its communicator differently (size or ranks)")
MPIXQ_ERROR(PROTOCOL, MPIXQ_ERR_MATCH, "a match message from the peer is malformed")
MPIXQ_ERROR(TRUNCATE, MPIXQ_ERR_MATCH, "the receive is smaller than the send")
MPIXQ_ERROR(NO_TAG, MPIXQ_ERR_RESOURCES,
            "no tag is left for another pair with this peer (MPI_TAG_UB)")
MPIXQ_ERROR(NO_CHANNEL, MPIXQ_ERR_RESOURCES, "no channel serves the pair")
MPIXQ_ERROR(NO_MEMORY, MPIXQ_ERR_RESOURCES, "no memory")
MPIXQ_ERROR(NO_THREAD, MPIXQ_ERR_RESOURCES, "no thread could be made")
MPIXQ_ERROR(REQUEST_FAILED, MPIXQ_ERR_COMM, "the request has failed: it can only be freed")
MPIXQ_ERROR(COMMUNICATION, MPIXQ_ERR_COMM, "MPI failed to start or complete a communication")
MPIXQ_ERROR(PEER_FAILED, MPIXQ_ERR_COMM, "the peer of a started request reported a failure")
MPIXQ_ERROR(HOST_AGAIN, MPIXQ_ERR_STATE,
            "the request is active or stands twice in the array: complete it before the next start")
MPIXQ_ERROR(PEER_FREED, MPIXQ_ERR_COMM,
            "the peer has freed its end of the pair: the communication cannot complete")
MPIXQ_ERROR(
    WAIT_TIMEOUT, MPIXQ_ERR_TIMEOUT,
    "a start was waited for longer than MPIXQ_WATCHDOG_S, and MPIXQ_WATCHDOG_ACTION is error")
MPIXQ_ERROR(MATCH_TIMEOUT, MPIXQ_ERR_TIMEOUT,
            "the peer did not match the request within MPIXQ_WATCHDOG_S, and MPIXQ_WATCHDOG_ACTION "
            "is error")
MPIXQ_ERROR(FABRIC, MPIXQ_ERR_COMM, "the fabric failed to move data")
MPIXQ_ERROR(PEER_GONE, MPIXQ_ERR_COMM,
            "the peer has ended, or cannot be reached: what it was to take part in cannot complete")
MPIXQ_ERROR(SEVERAL_GPUS, MPIXQ_ERR_ARG,
            "argument stream_address: this process uses both CUDA and HIP: say by info key type "
            "whether it is a cudaStream_t or a hipStream_t")
MPIXQ_ERROR(GPU, MPIXQ_ERR_COMM, "a GPU or its library reports an error")
MPIXQ_ERROR(
    GPU_RESET, MPIXQ_ERR_COMM,
    "the device was reset (cudaDeviceReset, hipDeviceReset) since the queue was made or the "
    "request matched: it can only be freed")
MPIXQ_ERROR(GPU_OPS, MPIXQ_ERR_UNSUPPORTED,
            "this GPU has neither kernels of this build nor stream memory operations, or not those "
            "that MPIXQ_GPU_OPS asks for")
MPIXQ_ERROR(CAPTURE, MPIXQ_ERR_UNSUPPORTED,
            "the stream is being captured into a graph, or is the default stream while one is that "
            "waits for it: make the queue before the capture, and on the stream that is captured")
MPIXQ_ERROR(CAPTURED, MPIXQ_ERR_STATE,
            "the queue's stream is being captured into a graph, or is the default stream while one "
            "is that waits for it: end the capture first")
MPIXQ_ERROR(OTHER_THREAD, MPIXQ_ERR_STATE,
            "the queue is on the default stream of the thread that made it: only that thread may "
            "enqueue")
MPIXQ_ERROR(GPU_BUFFER, MPIXQ_ERR_UNSUPPORTED,
            "the buffer is in memory of a GPU that MPI cannot access (MPIXQ_GPU_AWARE): it can be "
            "started on a queue on a stream of that GPU only")
MPIXQ_ERROR(GPU_BARRIER, MPIXQ_ERR_UNSUPPORTED,
            "the barrier is one for a GPU (info key mpixq_memory of its initialiser): it can be "
            "started on a queue on a stream of that GPU only")
MPIXQ_ERROR(GPU_TYPE, MPIXQ_ERR_UNSUPPORTED,
            "the receive's buffer is in memory of a GPU that MPI cannot access (MPIXQ_GPU_AWARE), "
            "and the message leaves gaps there, which cannot be copied through the host")
MPIXQ_ERROR(
    OTHER_GPU, MPIXQ_ERR_UNSUPPORTED,
    "the buffer is in memory of a GPU that moves its data by itself: it can be started on a "
    "queue on a stream of that GPU only (MPIXQ_CHANNELS=cxi,fallback lifts that)")
MPIXQ_ERROR(
    VERSION, MPIXQ_ERR_MATCH,
    "the peer's process has another version of this library, or another byte order: nothing "
    "can be matched with it")
MPIXQ_ERROR(CHANNELS, MPIXQ_ERR_MATCH, "no channel in common (MPIXQ_CHANNELS, mpixq_channels)")
MPIXQ_ERROR(ARG_CHANNELS, MPIXQ_ERR_ARG,
            "argument info: the value of key mpixq_channels is no list of ipc, cxi and fallback")
MPIXQ_ERROR(QUEUE_TYPE, MPIXQ_ERR_UNSUPPORTED, "excluded by the type of the queue")
MPIXQ_ERROR(NO_IPC, MPIXQ_ERR_UNSUPPORTED,
            "argument type: MPIX_QUEUE_IPC needs a stream of a GPU, and the channel ipc among "
            "MPIXQ_CHANNELS")
MPIXQ_ERROR(
    NULL_STREAM, MPIXQ_ERR_ARG,
    "argument stream_address: holds a null handle, which is no host stream, and the process "
    "uses no GPU whose default stream it could be. For a host stream of the queue's own "
    "give NULL as stream_address itself")
MPIXQ_ERROR(GAVE_UP, MPIXQ_ERR_MATCH, "the peer has given up its match of the request meanwhile")
MPIXQ_ERROR(ARG_FN_INTERNAL, MPIXQ_ERR_ARG,
            "argument fn: an internal procedure that uses variables of its host, which may have "
            "returned when it runs: take one of a module, and hand over the variables by arg")
MPIXQ_ERROR(
    GRAPH_VALUES, MPIXQ_ERR_UNSUPPORTED,
    "a start or wait cannot be captured into a graph on a queue without kernels: "
    "mpixq_stream_by is values (MPIXQ_GPU_OPS, or several processes on one GPU without MPS)")
MPIXQ_ERROR(
    GRAPH_STARTED, MPIXQ_ERR_STATE,
    "the request is started in the capture that is under way, and its wait was not captured")
MPIXQ_ERROR(
    REPLAY_TWICE, MPIXQ_ERR_STATE,
    "a graph was replayed, or a kernel run, that starts a request which is started and was not "
    "waited for")
MPIXQ_ERROR(REPLAY_FREED, MPIXQ_ERR_STATE,
            "a graph was replayed, or a kernel run, that starts a request which was freed")
MPIXQ_ERROR(
    REPLAY_ACTIVE, MPIXQ_ERR_STATE,
    "a graph that is replayed, or a kernel, has started the request, and that start has not "
    "completed")
MPIXQ_ERROR(GRAPH_GPU, MPIXQ_ERR_UNSUPPORTED,
            "the request cannot be captured on this stream: graphs start it on streams of one GPU "
            "only, that of its buffer or of its first capture, until the device is reset")
MPIXQ_ERROR(ARG_HANDLES, MPIXQ_ERR_ARG, "argument handles: the array is NULL")
MPIXQ_ERROR(ARG_HANDLE, MPIXQ_ERR_ARG,
            "argument handles: an element is no handle of MPIX_Device_request_create, or was freed")
MPIXQ_ERROR(NULL_REQUEST, MPIXQ_ERR_REQUEST, "null: there is nothing that a kernel could start")
MPIXQ_ERROR(DEVICE_ABI, MPIXQ_ERR_UNSUPPORTED,
            "argument abi: the kernels were compiled with a header of another version of the "
            "library (MPIXQ_DEVICE_ABI)")
MPIXQ_ERROR(DEVICE_GPU, MPIXQ_ERR_UNSUPPORTED,
            "kernels of this queue's GPU cannot start the request: its buffer is in memory of "
            "another GPU, or graphs or kernels of another one start it")
MPIXQ_ERROR(DEVICE_BOTH, MPIXQ_ERR_UNSUPPORTED,
            "kernels cannot start a collective that reads memory of a GPU and writes such as well")
MPIXQ_ERROR(DEVICE_STREAM, MPIXQ_ERR_UNSUPPORTED,
            "argument queue: it is not on a stream of a GPU on which the library uses kernels: "
            "mpixq_stream_by is thread or values (MPIXQ_GPU_OPS, or several processes on one GPU "
            "without MPS)")
MPIXQ_ERROR(DEVICE_ACTIVE, MPIXQ_ERR_STATE,
            "a kernel has started the request of a handle, and that start has not completed")
MPIXQ_ERROR(COLLECTIVE_BYTES, MPIXQ_ERR_MATCH,
            "the processes of a collective operation do not agree about its counts, datatypes or "
            "root")
#include "error_partitions_defs.h"
#include "error_rma_defs.h"
