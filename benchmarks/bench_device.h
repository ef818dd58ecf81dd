/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_device.h - --device: buffers in the memory of a GPU, and packing by kernels on its stream
 *
 * CUDA's driver or HIP's runtime is found when the program runs. Without --device the same
 * functions give memory of the host. A process has one device and one stream. Errors end the
 * program with a text.
 */
#ifndef MPIXQ_BENCH_DEVICE_H
#define MPIXQ_BENCH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_options;

enum bench_device { BENCH_ON_HOST, BENCH_ON_CUDA, BENCH_ON_HIP };

extern const char *const bench_device_names[];
bool bench_parse_device(const char *text, enum bench_device *device_p);

/* After the options are known. False: it cannot be used on some rank, which has been told.
 * Collective. */
bool bench_device_open(const struct bench_options *opts);
void bench_device_close(void);
bool bench_on_device(void);

/* The stream, and its kind as the info key "type" names it. */
void *bench_device_stream(void);
enum bench_device bench_device_vendor(void);
const char *bench_device_kind(void);
/* A function of the vendor's library that not all of them have; NULL: this one has not. */
void *bench_device_symbol(const char *cuda, const char *hip);

/* Memory of the device, or bench_alloc. At least aligned to 16 bytes. */
void *bench_memory(size_t bytes);
void bench_memory_free(void *memory);
/* Pinned memory of the host for what is there, or that itself without a device. */
void *bench_staging(void *memory, size_t bytes);
void bench_staging_free(void *staging);
/* Between any two, when the stream is idle; returns when it is done. */
void bench_memory_copy(void *to, const void *from, size_t bytes);

/* On the stream of the device: copy, launch a kernel (benchmarks/kernels.inc), call a function. A
 * kernel gets so many threads in rows, and rows of them. */
enum bench_kernel {
    BENCH_KERNEL_WORDS,
    BENCH_KERNEL_STRIPS,
    BENCH_KERNEL_LIFE,
    BENCH_KERNEL_BOUNCE,
    BENCH_KERNEL_DELAY,
    BENCH_KERNEL_PRODUCT,
    BENCH_KERNEL_FUSED,
    BENCH_KERNEL_PUTS,
    BENCH_KERNEL_LOOP,
    BENCH_KERNEL_PUT_LOOP,
    BENCH_KERNEL_HALO,
    BENCH_KERNEL_CG_START,
    BENCH_KERNEL_CG_PACK,
    BENCH_KERNEL_CG_MULTIPLY,
    BENCH_KERNEL_CG_STEP,
    BENCH_KERNEL_CG_TURN,
    BENCH_KERNEL_CG_PIPE,
    BENCH_KERNEL_CG_SUM,
    BENCH_KERNEL_JACOBI_START,
    BENCH_KERNEL_JACOBI_STEP,
    BENCH_KERNEL_JACOBI_OPEN,
    BENCH_KERNEL_JACOBI_FUSED,
    BENCH_KERNELS
};
void bench_device_copy(void *to, const void *from, size_t bytes);
void bench_device_launch(enum bench_kernel kernel, size_t threads, size_t rows, void *parameters[]);
void bench_device_call(void (*fn)(void *), void *arg);
/* Kernels that are not among those: load some, find one, launch it: blocks of threads, in rows. On
 * GPUs of CUDA from sm_90 on a kernel has to wait for what it follows (AWAIT_EARLIER). */
void *bench_device_load(const void *code);
void *bench_device_find(void *module, const char *name);
void bench_device_run(void *kernel, size_t blocks, size_t rows, unsigned threads,
                      void *parameters[]);
void bench_device_start(enum bench_kernel kernel, size_t blocks, size_t rows, unsigned threads,
                        void *parameters[]);
void bench_device_synchronize(void); /* without a device nothing happens */
void bench_device_delay(double us);  /* does nothing on the stream for so long */
/* From now on the stream is another one, or, the second time, the first again. */
void bench_device_turn(void);
/* From now on the stream is another one, which begins behind what is on this one; back to this one;
 * let what follows on it wait for what was put on the other. As branches of a graph, too. */
void bench_device_fork(void);
void bench_device_back(void);
void bench_device_join(void);

/* Memory of another process of this machine: what tells it, and where it is for this one. */
struct bench_shared {
    unsigned char handle[64];
    uint64_t offset; /* in what the handle stands for */
};
void bench_device_share(void *memory, struct bench_shared *shared);
void *bench_device_map(const struct bench_shared *shared);
void bench_device_unmap(void *mapped, const struct bench_shared *shared);

/* Put a mark on the stream, and the seconds from the first to the second, when both are passed. */
enum { BENCH_MARK_BEGIN, BENCH_MARK_END, BENCH_MARKS };
void bench_device_mark(int mark);
double bench_device_marked(void);

/* The kernel that adds to words. */
struct bench_words {
    const uint64_t *from;
    uint64_t *to;
    uint64_t add;
    size_t words, stride, messages;
};
void bench_device_words(const struct bench_words *work);

/* What a benchmark does with its data: a function, for the host or a stream of it, and one that
 * puts kernels that do the same on the stream of the device. Both get the same argument. */
struct bench_work {
    void (*call)(void *arg);
    void (*launch)(void *arg);
};

/* In the modes of MPI: do the work on the host, or on the device and copy what MPI sends from its
 * memory to the staging memory, or what it has received from there. The second returns before it is
 * done; the first of the next message waits for it. */
void bench_mpi_pack(const struct bench_work *work, void *arg, void *staging, const void *memory,
                    size_t bytes);
void bench_mpi_unpack(const struct bench_work *work, void *arg, void *memory, const void *staging,
                      size_t bytes);

/* In a file that is made when the benchmarks are built. */
extern const unsigned char bench_code_cuda[], bench_code_cuda90[], bench_code_hip[], bench_cubins[];
extern const size_t bench_code_cuda_bytes, bench_code_cuda90_bytes, bench_code_hip_bytes;
extern const size_t bench_cubins_bytes;

#endif
