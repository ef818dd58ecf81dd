/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * hip_double.h - what tests may ask of the double beside the functions of the HIP runtime: found
 * by dlsym in the loaded libamdhip64, absent in a real one
 */
#ifndef HIP_DOUBLE_H
#define HIP_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

/* For kernels, which call it once for every address that they use: the address for the host of
 * bytes at an address for devices. The program ends if the device that runs the kernel cannot
 * reach them. */
void *hip_double_reach(const volatile void *address, size_t bytes);

/* Calls of a function so far, or of all functions (NULL). -1: there is no such function. */
long hip_double_calls(const char *function);
/* The n-th call of function from now on fails with this error; n is 1 or more. */
int hip_double_fail(const char *function, long n, int error);
/* The device of the calling thread is broken from now on (0: mended): every call returns the error,
 * and what is queued is dropped. */
void hip_double_break(int error);
/* Calls so far that would have waited for a wait. */
long hip_double_forbidden(void);
/* Operations that are queued or running, on all devices, and how many of them are waits. */
int hip_double_pending(void);
int hip_double_waiting(void);
/* Of copies, n more run from now on, and the others when this is called again; negative: all. None
 * runs now. And how many have run. */
void hip_double_hold_copies(long n);
long hip_double_copied(void);
/* Allocations and registrations that are live, on all devices. */
int hip_double_live(void);

/* What a call has put into a stream. */
struct hip_double_work {
    const char *what; /* copy, fill, write or wait (of a value), call, record, after (an event),
                         free, nothing, or the name of a kernel */
    void *stream;
    const void *to, *from; /* of copies; to: of fills and values, where the host has it */
    size_t bytes;
    uint64_t value;
    unsigned blocks, threads; /* of kernels, whose parameters each begin at a multiple of 8 */
    const void *parameters;
};
/* From now on watch is called for each, in the order of the streams, by the thread that puts it
 * there; it may call nothing of the double. NULL: for none. */
void hip_double_watch(void (*watch)(const struct hip_double_work *work));

/* For the double of a NIC, by any thread: its own access to bytes of device memory, which is at
 * *alias_p for it. 0: it has that, until it is closed; before that the memory may not be freed.
 * -1: none of it is device memory. 1: it is not all of one allocation. */
int hip_double_nic_open(const void *address, size_t bytes, void **alias_p);
void hip_double_nic_close(const void *address, size_t bytes, void *alias);
/* The allocation that device memory is part of. */
void hip_double_nic_range(const void *address, const void **base_p, size_t *bytes_p);
/* Its library asks what memory that is, by a call like hipPointerGetAttributes, and so has to wait
 * where that has to, and be a thread that may call. */
void hip_double_nic_ask(void);

#endif
