/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mtest_gpu.h - GPUs in tests: HIP's runtime (or its double) and CUDA's driver, found at run time
 *
 * With MTEST_STREAM=hip or cuda every queue that a test makes on a host stream, or without a
 * stream, is on a stream of a GPU instead, and what the test does with a host stream is done with
 * that of the GPU: mtest_gpu.c defines these functions of the library by their profiling names. So
 * the tests for host streams are tests for these as well. MTEST_BUFFER says where mtest_buf_make
 * puts data: pinned, managed or device instead of pageable memory; pool and
 * chunk are device memory of other kinds.
 */
#ifndef MTEST_GPU_H_INCLUDED
#define MTEST_GPU_H_INCLUDED

#include <mpi.h>
#include <mpix_queue.h>
#include <stdbool.h>
#include <stddef.h>

enum mtest_memory { MTEST_PAGEABLE, MTEST_PINNED, MTEST_MANAGED, MTEST_DEVICE };

/* The value of info key "type" for the streams of this run, or NULL: no GPU is asked for. One that
 * is asked for and not there ends the program. */
const char *mtest_gpu_kind(void);

/* How many there are, and that of the calling thread; -1: one that no test has chosen. */
int mtest_gpu_devices(void);
void mtest_gpu_set_device(int device);
int mtest_gpu_device(void);

/* Reset the device of the calling thread: all that the process has there is gone. */
void mtest_gpu_reset(void);

/* A stream of the GPU that waits for no other one. */
void *mtest_gpu_stream(void);
void *mtest_gpu_stream_of_priority(bool high);
void mtest_gpu_stream_end(void *stream);
void mtest_gpu_synchronize(void *stream);
/* A queue on a stream of the GPU; as MPIX_Queue_init_info, which is told the kind of stream. */
int mtest_gpu_queue(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void **stream);
/* Put a function of the host, or a copy between any two kinds of memory, into a stream. */
void mtest_gpu_launch(void *stream, void (*fn)(void *), void *arg);
void mtest_gpu_copy(void *stream, void *to, const void *from, size_t bytes);

/* An event that was recorded in a stream, has it fired, and a stream that waits for it. */
void *mtest_gpu_event(void *stream);
void mtest_gpu_event_end(void *event);
bool mtest_gpu_event_fired(void *event);
void mtest_gpu_event_synchronize(void *event);
void mtest_gpu_event_wait(void *stream, void *event);

/* The stream that stands for a host stream of the test. */
void *mtest_gpu_stream_of(MPIXQ_Host_stream stream);
/* A function of the GPU's library or its double, or NULL. */
void *mtest_gpu_symbol(const char *name);

/* Memory of a kind, and the copy that waits until it is done. */
void *mtest_gpu_alloc(enum mtest_memory memory, size_t bytes);
void mtest_gpu_free(enum mtest_memory memory, void *block);
/* Device memory that is a piece of a pool ("pool") or a chunk that is mapped ("chunk"); of other
 * kinds NULL. And free it, if it is such; false: it is not. */
void *mtest_gpu_special_alloc(const char *kind, size_t bytes);
bool mtest_gpu_special_free(void *block);
/* The pool of such pieces on the current device, of which there are none, is ended: what comes next
 * is of a new one. */
void mtest_gpu_pool_end(void);
/* The device is reset: there is none of it any more, nor of any other device that a test uses. */
void mtest_gpu_special_reset(int device);
/* The same of pools and chunks that other processes cannot open. */
void *mtest_gpu_private_alloc(const char *kind, size_t bytes);
/* So many chunks side by side, each of as many bytes as are possible at least, or more. */
void *mtest_gpu_chunks_alloc(int n, size_t *each_p);
/* What MTEST_BUFFER says: pool and chunk are kinds of device memory. */
enum mtest_memory mtest_gpu_memory(void);
/* Memory of that kind, zeroed, until the program ends, for tests that look at it as at their own:
 * where it is that of a GPU the host has to reach it (HIP_DOUBLE_ACCESS=bar). */
void *mtest_gpu_array(size_t bytes);

/* Whether that memory is a GPU's and the host does not reach it. */
bool mtest_gpu_hidden(void);
/* From any kind of memory to any other, and waited for, by a stream for nothing but that: it waits
 * for no work of the test. */
void mtest_gpu_copy_now(void *to, const void *from, size_t bytes);
/* As mtest_gpu_array, for any host: where such memory is hidden, memory of the host that has a copy
 * there, in other cases its own copy. */
void *mtest_gpu_mirror(size_t bytes);
/* An address in a mirror as it is in its copy: what to give to MPI. */
void *mtest_gpu_at(void *address);
/* Write a whole mirror to its copy, or read it from there. */
void mtest_gpu_put(void *mirror);
void mtest_gpu_get(void *mirror);
/* The same in the order of a stream, whose functions may not copy. */
void mtest_gpu_put_in(MPIXQ_Host_stream stream, void *mirror);
void mtest_gpu_get_in(MPIXQ_Host_stream stream, void *mirror);

#endif /* MTEST_GPU_H_INCLUDED */
