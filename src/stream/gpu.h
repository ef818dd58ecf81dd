/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What CUDA's driver and HIP's runtime have in common, as far as we need it. Each is one constant
 * table over a library that is found in the process when it runs; so one build serves both, or
 * neither. It has the calls that are the same, and functions for what the vendors differ in; what
 * is done by those calls is written once. Results are codes of the vendor, 0 for success.
 *
 * A place is where a stream lives: a context of CUDA, a device of HIP. The functions that name no
 * place work in the one that the calling thread has entered. None of them may be called by the
 * progress thread or by the workers of streams, nor under a lock that those take: any of them may
 * block until the GPU goes on.
 */
#ifndef MPIXQ_GPU_H
#define MPIXQ_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_calls.h"

/* Where memory is. MOVING: host and GPU both access it, and its pages are at either in turn. */
enum mpixq_place_of_memory { MPIXQ_AT_HOST, MPIXQ_AT_GPU, MPIXQ_MOVING };

enum { MPIXQ_GPU_NAME_ROOM = 64, MPIXQ_GPU_NO_MEMORY = 2 /* the code of both vendors */ };
/* A GPU of this machine, under the same name for all processes. */
struct mpixq_gpu_ident {
    unsigned char bytes[16];
};

/* A GPU that the process sees: do kernels of another one reach its memory, by atomics too? */
struct mpixq_gpu_peer {
    struct mpixq_gpu_ident ident;
    bool is_reached;
};

/* How another process opens an allocation. Travels in control messages: no padding. */
enum mpixq_gpu_shared { MPIXQ_SHARED_HANDLE, MPIXQ_SHARED_PIECE, MPIXQ_SHARED_CHUNK };
struct mpixq_gpu_export {
    struct mpixq_gpu_handle handle; /* PIECE: of it in its pool; CHUNK: its bytes, a uint64_t */
    uint32_t kind;
    int32_t file; /* of the process, that stands for the pool or chunk; HANDLE: -1 */
    uint32_t id;  /* of that, which no later one has; HANDLE: 0 */
};
_Static_assert(sizeof(struct mpixq_gpu_export) == 76, "no padding");
/* Who exports: anything that no two processes have in common. */
struct mpixq_gpu_owner {
    uint64_t words[4];
};

struct mpixq_grid {
    unsigned blocks, rows; /* blocks in each row; 0 rows are one */
    unsigned threads;      /* of each block */
    bool early; /* before what stands before in the stream has ended, which the kernel waits for */
};

/* What is built in of the kernels. Of size 0 if it could not be made. */
struct mpixq_gpu_code {
    const char *what; /* for people */
    const unsigned char *bytes;
    const size_t *size;
    const char *archs; /* of the GPUs that it is for, with blanks between them */
};

/* Whose memory kernels reach. */
enum mpixq_gpu_reach { MPIXQ_REACH_NOTHING, MPIXQ_REACH_MEMORY, MPIXQ_REACH_ATOMICS };

/* The capture of a stream into a graph. */
struct mpixq_gpu_capture {
    uint64_t id; /* which no other one has; 0: it is not captured */
    void *graph;
    void *last;           /* the node that what comes next in it follows, if that is one */
    bool is_after_kernel; /* and that is a kernel */
};

enum mpixq_gpu_vendor { MPIXQ_GPU_CUDA, MPIXQ_GPU_HIP, MPIXQ_GPU_VENDORS };

struct mpixq_gpu {
    enum mpixq_gpu_vendor vendor;
    const char *kind;   /* value of the info key "type" */
    const char *memory; /* value of the info key "mpixq_memory" */
    const char *name;
    const char *library;          /* for people */
    const char *const *libraries; /* names of files, the best first; ends with NULL */
    int not_found;                /* enum mpixq_error, where its library is not there */
    /* For load, best first; ends with one without a name. */
    const struct mpixq_gpu_code *code;
    /* What both vendors have, once the library is found. */
    const struct mpixq_gpu_calls *calls;
    /* What their calls name by other numbers. */
    struct {
        unsigned host_memory;    /* flags of memory that both sides see while a kernel runs */
        unsigned enable_peer[2]; /* flags to open memory; if the first are invalid, the second */
        int have_access, have_atomics, rdma_ordering; /* attributes */
        int held_without; /* code, where copies cannot be ordered with what a NIC does */
    } numbers;
    /* Registers may be mapped as memory where the library does not know them. */
    bool maps_io_as_memory;
    /* A thread that has chosen no GPU has the first one. */
    bool first_is_default;
    /* To allocate memory, and to open what others export, never waits until the GPU is idle. */
    bool at_once;
    /* A function of modules whose kernels have the form that may be launched early; NULL: none. */
    const char *early;
    struct {
        const char *no_device, *no_order, *order_for_owner, *no_reads;
    } texts; /* why a NIC does not access memory */

    /* Is the library there? load: look for it on disk too. */
    bool (*find)(bool load);
    /* Does this process use it by now? */
    bool (*is_used)(void);
    const char *(*text)(int code);

    /* The place of a stream; that of NULL is where the calling thread is. */
    int (*place_of)(void *stream, void **place_p);
    /* Which relaxes, until it is left. */
    int (*enter)(void *place, void **before_p);
    void (*leave)(void *place, void *before);
    /* Use a GPU in the calling thread, for good. */
    int (*use)(int device);

    /* What all processes of the machine call this GPU; and one that the process sees, in short. */
    int (*identify)(char name_p[MPIXQ_GPU_NAME_ROOM]);
    int (*ident_of)(int device, struct mpixq_gpu_ident *ident_p);
    /* Do processes take turns on it, so that a kernel that waits keeps the others from it? Else
     * *why_p is why not. */
    bool (*in_turns)(const char **why_p);
    /* Can streams write and wait for values here? */
    bool (*has_values)(void);
    /* Until the word gate has reached opened; then passed is written to word, if that is not
     * NULL. */
    int (*wait)(void *stream, void *gate, uint64_t opened, void *word, uint64_t passed);
    int (*copy)(void *stream, void *to, const void *from, size_t bytes);
    /* Code for the GPU of the place, made from the source of the kernels by a compiler that the
     * vendor has at run time; may take a second. To be freed when the module is used no more. NULL:
     * *why_p is why not. Without the function there is no compiler. */
    void *(*compile)(const char **why_p);

    /* Memory as programs have it; and such that GPUs change for each other. */
    int (*alloc)(size_t bytes, void **address_p);
    int (*words_alloc)(size_t bytes, void **address_p);
    /* A word of the host that a stream can wait for. Without the function any word will do. */
    int (*word_alloc)(void **host_p);

    /* An attribute of memory, by a number that both vendors have. */
    int (*ask_pointer)(const void *address, int attribute, void *value_p);
    int (*device_of)(const void *address, int *device_p);
    /* If the host cannot access it, *place_p is a place where kernels can; NULL: none is known. */
    enum mpixq_place_of_memory (*where)(const void *address, void **place_p);
    /* Is the allocation that began here, with this number, known to be there no more? Not of a GPU
     * that reports another error. */
    bool (*is_gone)(const void *address, uint64_t id);
    /* Is it known of two GPUs, of which this process does not see one, that operations of the one
     * on memory of the other are not atomic? Without the function nobody can tell. */
    bool (*has_no_atomics)(const struct mpixq_gpu_ident *here, const struct mpixq_gpu_ident *there);
    /* Does the library know of the order in which GPUs see what a NIC writes? Without the function
     * it does. */
    bool (*tells_order)(void);
};

/* Ends with NULL. */
extern const struct mpixq_gpu *const mpixq_gpus[];
extern const struct mpixq_gpu mpixq_gpu_cuda, mpixq_gpu_hip;
/* The one with this info value, or NULL. */
const struct mpixq_gpu *mpixq_gpu_of(const char *kind);

/* What both vendors do in the same way. Codes of the vendor, but for what says otherwise. */

/* A failure may leave a note, which the program would take for its own: the code, and none. */
int mpixq_gpu_cleared(const struct mpixq_gpu *gpu, int code);

/* While a stream is captured into a graph, some calls of other threads end the capture, such as
 * those that allocate, unless a thread says that it knows: from relax to restore this one does.
 * They nest, and cost a call of the library each, the outermost ones. */
void mpixq_gpu_relax(const struct mpixq_gpu *gpu);
void mpixq_gpu_restore(const struct mpixq_gpu *gpu);

/* Memory of the host that each GPU sees, and its address there; it goes with the place. */
int mpixq_gpu_host_alloc(const struct mpixq_gpu *gpu, size_t bytes, void **host_p);
void mpixq_gpu_host_free(const struct mpixq_gpu *gpu, void *host);
int mpixq_gpu_address(const struct mpixq_gpu *gpu, void *host, void **address_p);
/* Memory that others have allocated, of the host or, if is_io, the registers of a device: the same,
 * for all GPUs. unmap fails where the GPU is broken, and the memory stays mapped. */
int mpixq_gpu_map(const struct mpixq_gpu *gpu, void *memory, size_t bytes, bool is_io);
int mpixq_gpu_unmap(const struct mpixq_gpu *gpu, void *memory);
/* A word that a stream can wait for. NULL, and success: any word will do. */
int mpixq_gpu_word_alloc(const struct mpixq_gpu *gpu, void **host_p);
/* What the table has allocated. */
void mpixq_gpu_free(const struct mpixq_gpu *gpu, void *address);

int mpixq_gpu_load(const struct mpixq_gpu *gpu, const void *code, void **module_p);
/* Loaded for good: its first launch waits for nothing. */
int mpixq_gpu_function(const struct mpixq_gpu *gpu, void *module, const char *name,
                       void **function_p);
int mpixq_gpu_launch(const struct mpixq_gpu *gpu, void *stream, void *function,
                     struct mpixq_grid grid, void **parameters);
int mpixq_gpu_write(const struct mpixq_gpu *gpu, void *stream, void *word, uint64_t value);
int mpixq_gpu_zero(const struct mpixq_gpu *gpu, void *stream, void *address, size_t bytes);
/* A stream that waits for no other one, kept until the process ends; and wait for it. */
int mpixq_gpu_own_stream(const struct mpixq_gpu *gpu, void **stream_p);
int mpixq_gpu_finish(const struct mpixq_gpu *gpu, void *stream);
/* NULL if all is well with the stream, else what the GPU reports: then it runs no more. Not while
 * it is captured, which ends with that. */
const char *mpixq_gpu_broken(const struct mpixq_gpu *gpu, void *stream);

/* Is it captured into a graph; or the default stream of all threads, which cannot be used while one
 * that waits for it is? Asking does not harm the capture. *lost_p: the library knows no such stream
 * any more. */
bool mpixq_gpu_is_capturing(const struct mpixq_gpu *gpu, void *stream, bool *lost_p);
/* The capture of this stream, and have gone called once its graph, and what was made of it, is no
 * more: or never, if the library is too old for that. */
int mpixq_gpu_find_capture(const struct mpixq_gpu *gpu, void *stream,
                           struct mpixq_gpu_capture *capture_p);
int mpixq_gpu_keep(const struct mpixq_gpu *gpu, void *graph, void (*gone)(void *arg), void *arg);
/* What comes next in a captured stream comes after this node of the graph too; or not, if the
 * library is too old for that. */
int mpixq_gpu_come_after(const struct mpixq_gpu *gpu, void *stream, void *node);

/* The vendors' handle of the default stream of each thread. */
#define MPIXQ_GPU_PER_THREAD ((void *)2)

/* In files that are made when the library is built. */
extern const unsigned char mpixq_code_cuda[], mpixq_code_cuda90[], mpixq_cubins[];
extern const size_t mpixq_code_cuda_bytes, mpixq_code_cuda90_bytes, mpixq_cubins_bytes;
extern const unsigned char mpixq_code_hip[];
extern const size_t mpixq_code_hip_bytes;
extern const char mpixq_code_cuda_archs[], mpixq_code_cuda90_archs[], mpixq_cubins_archs[];
extern const char mpixq_code_hip_archs[];
extern const unsigned char mpixq_source_hip[]; /* a text */
extern const size_t mpixq_source_hip_bytes;

#endif
