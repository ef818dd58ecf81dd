/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every lock of the library: MPIXQ_LOCK(name, what it guards), in the order in which a thread may
 * take them. doc/design.md says why it is this order.
 */
MPIXQ_LOCK(TOOL_PLACE, "who looks first where our variables of MPI_T begin")
MPIXQ_LOCK(TOOL_HANDLES, "handles of MPI_T, and the counts while one is read")
MPIXQ_LOCK(QUEUE, "a queue's members, counts and arrays: its submission lock")
MPIXQ_LOCK(MPI, "who may call MPI while it ends")

/* Held while something is opened, closed or asked of a GPU's library, which may block: nobody whom
 * a stream may wait for takes these, so none is taken under the matching lock. */
MPIXQ_LOCK(LOST, "who looks for requests in memory of a device that was reset")
MPIXQ_LOCK(COMM_ATTACH, "finding no record of a communicator, and attaching one")
MPIXQ_LOCK(IPC_WINDOWS, "words by which the GPU of a window answers")
MPIXQ_LOCK(IPC_OPEN, "who opens and closes memory of peers")
MPIXQ_LOCK(IPC_PLACES, "the places of GPUs of the channel ipc")
MPIXQ_LOCK(SHARE, "what is shared of each GPU")
MPIXQ_LOCK(SHARE_MOVES, "launches of kernels that move data")
MPIXQ_LOCK(CXI_EXPOSE, "mappings of the NIC's words for GPUs")
MPIXQ_LOCK(GPU_WORDS, "words and kernels of streams on GPUs")
MPIXQ_LOCK(GPU_ASK, "asking whether a device was reset")

MPIXQ_LOCK(PARTITIONS, "partitioned requests that queues have started, and collectives")
MPIXQ_LOCK(CXI_DRIVE, "who reads the NIC's completions")
MPIXQ_LOCK(MATCH, "pairing, control messages, tags, requests that are matched or released")
MPIXQ_LOCK(RMA_WINDOW, "a window: its messages, its table of signals")
MPIXQ_LOCK(CXI_OPEN, "opening the NICs")

/* Of these most are leaves: held for a few instructions, with nothing taken under them. */
MPIXQ_LOCK(RMA_OBJECTS, "the lists of windows, signals and plans")
MPIXQ_LOCK(MATCH_OPS, "the table of handles of nonblocking matches")
MPIXQ_LOCK(OPENER, "the thread that opens memory of peers: what it is called for, its sleep")
MPIXQ_LOCK(GRAPHS, "pairs that were captured, and the graphs that hold them")
MPIXQ_LOCK(TALLIES, "pairs whose starts GPUs count for the host, and who drives them")
MPIXQ_LOCK(TALLY_WORDS, "words in memory of the host by which GPUs count")
MPIXQ_LOCK(HOST_FREE, "requests that were freed while the host's starts were active")
MPIXQ_LOCK(HOST_STREAMS, "the list of host streams")
MPIXQ_LOCK(HOST_STREAM, "who sleeps on a host stream, and who uses it")
MPIXQ_LOCK(QUEUES, "the list of queues")
MPIXQ_LOCK(QUEUE_FAIL, "a queue's first error")
MPIXQ_LOCK(SELF_LINK, "starts of a pair within the process")
MPIXQ_LOCK(CXI_NIC, "what changes after a pair was matched: entries, logs, starts taken over")
MPIXQ_LOCK(CXI_SHARES, "the table of shares of NICs, among threads")
MPIXQ_LOCK(IPC_ENDS, "which ends of a GPU's share are taken")
MPIXQ_LOCK(IPC_FDS, "descriptors that peers have sent, and the mailbox")
MPIXQ_LOCK(IPC_LIVE, "the list of ends with starts under way")
MPIXQ_LOCK(IPC_LISTS, "memory of peers that is open, and who uses it")
MPIXQ_LOCK(SHARE_FILES, "descriptors of memory that peers may ask for")
MPIXQ_LOCK(STAGING, "staging memory that was given back, and memory of GPUs that is to be freed")
MPIXQ_LOCK(GPU_SEAT, "locks of files that tell who has streams on a GPU")
MPIXQ_LOCK(GPU_STREAMS, "the list of streams on GPUs")
MPIXQ_LOCK(CUDA, "finding CUDA's driver")
MPIXQ_LOCK(HIP, "finding the HIP runtime")
MPIXQ_LOCK(COMM, "records of communicators")
MPIXQ_LOCK(OPS, "operations of reductions that requests need")
MPIXQ_LOCK(ERROR, "codes and texts of errors")
MPIXQ_LOCK(PROGRESS, "the progress thread: whether it runs, its sleep")
MPIXQ_LOCK(AFFINITY, "places of the library's threads on the CPUs")
MPIXQ_LOCK(SPIN, "request records, or counts: a few instructions")
MPIXQ_LOCK(GPU_LIFE, "which devices' memory is gone")
