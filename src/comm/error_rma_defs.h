/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The errors of windows, signals, blocks and plans: a part of error_defs.h, which says how it is
 * used. */
MPIXQ_ERROR(ARG_WINDOW_P, MPIXQ_ERR_ARG, "argument win: the address is NULL")
MPIXQ_ERROR(ARG_WINDOW, MPIXQ_ERR_ARG, "argument win: null, freed, or not a window")
MPIXQ_ERROR(ARG_BASE, MPIXQ_ERR_ARG, "argument base: NULL")
MPIXQ_ERROR(ARG_MEMORY_INFO, MPIXQ_ERR_ARG,
            "argument info: the value of key mpixq_memory is neither host nor cuda nor hip")
MPIXQ_ERROR(ARG_RANGE, MPIXQ_ERR_ARG,
            "arguments offset and bytes: negative, or beyond the end of the window")
MPIXQ_ERROR(ARG_COMM, MPIXQ_ERR_ARG, "argument comm: null, or an intercommunicator")
MPIXQ_ERROR(WINDOW_BYTES, MPIXQ_ERR_ARG, "argument bytes: not the same at all processes")
MPIXQ_ERROR(WINDOW_GPU, MPIXQ_ERR_UNSUPPORTED,
            "argument base: in memory of a GPU that the GPUs of all processes of the window cannot "
            "map, nor NICs of all of them reach")
MPIXQ_ERROR(WINDOW_MIXED, MPIXQ_ERR_UNSUPPORTED,
            "argument base: memory of a GPU at some processes, and of the host, or none, at "
            "others")
MPIXQ_ERROR(WINDOW_ENQUEUE, MPIXQ_ERR_UNSUPPORTED,
            "the window is in memory of a GPU, and the queue on no stream of that GPU")
MPIXQ_ERROR(WINDOW_VALUES, MPIXQ_ERR_UNSUPPORTED,
            "the window is in memory of a GPU, and the stream of the queue uses no kernels to wait "
            "(MPIXQ_GPU_OPS, or several processes on one GPU without MPS)")
MPIXQ_ERROR(WINDOW_LANES, MPIXQ_ERR_RESOURCES,
            "a window in memory of GPUs cannot be used on more than 64 queues at a time")
MPIXQ_ERROR(DEVICE_WINDOW, MPIXQ_ERR_UNSUPPORTED,
            "the window is in memory of the host, or of GPUs that only NICs reach: kernels put to "
            "windows whose GPUs reach each other")
MPIXQ_ERROR(ARG_RANK, MPIXQ_ERR_ARG, "argument rank: negative, or not of the window")
MPIXQ_ERROR(ARG_TRANSFER, MPIXQ_ERR_ARG, "argument transfer: NULL")
MPIXQ_ERROR(ARG_DEVICE_SIGNAL, MPIXQ_ERR_ARG, "argument signal: NULL")
MPIXQ_ERROR(SIGNALS_MAPPED, MPIXQ_ERR_RESOURCES,
            "a window in memory of GPUs has no more than 1024 signals at a time")
MPIXQ_ERROR(SIGNALS_NICS, MPIXQ_ERR_RESOURCES,
            "a window in memory of GPUs that only NICs reach has no more than 512 signals at a "
            "time")
MPIXQ_ERROR(WINDOW_BUSY, MPIXQ_ERR_STATE,
            "at some process a stream or graph has yet to make what was enqueued for the window")
MPIXQ_ERROR(WINDOW_TWICE, MPIXQ_ERR_STATE,
            "two graphs that were made of one capture, with puts, waits or resets of a window, ran "
            "at the same time")
MPIXQ_ERROR(WINDOW_QUEUE, MPIXQ_ERR_UNSUPPORTED,
            "argument queue: its type excludes the fallback (in memory of GPUs: the channel ipc)")
MPIXQ_ERROR(ARG_SIGNAL_P, MPIXQ_ERR_ARG, "argument sig: the address is NULL")
MPIXQ_ERROR(ARG_SIGNAL, MPIXQ_ERR_ARG, "argument sig: null, freed, or not a signal")
MPIXQ_ERROR(SIGNAL_OTHER, MPIXQ_ERR_ARG, "argument sig: a signal of another window")
MPIXQ_ERROR(ARG_EVENTS, MPIXQ_ERR_ARG, "argument num_event: less than 1")
MPIXQ_ERROR(SIGNAL_OUTSTANDING, MPIXQ_ERR_STATE, "the signal is not complete: wait for it first")
MPIXQ_ERROR(SIGNAL_SURPLUS, MPIXQ_ERR_STATE,
            "puts came before the reset that they are meant for, or are surplus")
MPIXQ_ERROR(SIGNAL_DROPPED, MPIXQ_ERR_STATE,
            "the reset that was enqueued before the wait was not made: its queue has failed")
MPIXQ_ERROR(
    SIGNAL_TIMEOUT, MPIXQ_ERR_TIMEOUT,
    "a signal was waited for longer than MPIXQ_WATCHDOG_S, and MPIXQ_WATCHDOG_ACTION is error")
MPIXQ_ERROR(SIGNAL_BUSY, MPIXQ_ERR_STATE,
            "a stream or graph has yet to wait for the signal or to reset it")
MPIXQ_ERROR(ARG_BLK, MPIXQ_ERR_ARG, "argument blk, local or remote: NULL")
MPIXQ_ERROR(BLK, MPIXQ_ERR_ARG,
            "no block of MPIX_Blk_init, one that was changed, or of another version")
MPIXQ_ERROR(BLK_WINDOW, MPIXQ_ERR_STATE,
            "a block of a window that this process has freed, or "
            "never had")
MPIXQ_ERROR(BLK_OTHER, MPIXQ_ERR_ARG, "a block of another window or process than the other block")
MPIXQ_ERROR(BLK_LOCAL, MPIXQ_ERR_ARG, "a block of another process")
MPIXQ_ERROR(BLK_BYTES, MPIXQ_ERR_ARG, "the block has more or less bytes than the other block")
MPIXQ_ERROR(BLK_PARTS, MPIXQ_ERR_ARG, "the block is so large that it has too many parts")
MPIXQ_ERROR(BLK_RANGE, MPIXQ_ERR_ARG, "the block lies outside of the window")
MPIXQ_ERROR(BLK_STALE, MPIXQ_ERR_STATE, "the signal of the block was freed")
MPIXQ_ERROR(ARG_PLAN_P, MPIXQ_ERR_ARG, "argument plan: the address is NULL")
MPIXQ_ERROR(ARG_PLAN, MPIXQ_ERR_ARG, "argument plan: null, freed, or not a plan")
MPIXQ_ERROR(PLAN_WINDOWS, MPIXQ_ERR_ARG, "arguments local and remote: blocks of several windows")
MPIXQ_ERROR(PLAN_FREED, MPIXQ_ERR_STATE, "argument plan: its window was freed")
MPIXQ_ERROR(PLAN_BUSY, MPIXQ_ERR_STATE, "a stream has yet to start the plan")
