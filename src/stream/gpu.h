/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What CUDA's driver and HIP's runtime have in common, as far as we need it. Each is one constant
 * table of functions, none of them NULL, over a library that is found in the process when it runs;
 * so one build serves both, or neither. Results are codes of the vendor, 0 for success.
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

#include "gpu_files.h"

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
    unsigned blocks, threads; /* of each */
    bool early; /* before what stands before in the stream has ended, which the kernel waits for */
};

/* A function of a vendor's library: where its address goes, and whether we can do without. */
struct mpixq_gpu_symbol {
    const char *name;
    void **address_p;
    bool optional;
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

struct mpixq_gpu {
    const char *kind; /* value of the info key "type" */
    const char *name;
    int not_found; /* enum mpixq_error, where its library is not there */
    /* For load, best first; ends with one without a name. */
    const struct mpixq_gpu_code *code;

    /* Is the library there? load: look for it on disk too. */
    bool (*find)(bool load);
    /* Does this process use it by now? */
    bool (*is_used)(void);

    /* While a stream is captured into a graph, some calls of other threads end the capture, such as
     * those that allocate, unless a thread says that it knows: from relax to restore this one does.
     * They nest, and cost a call of the library each, the outermost ones. */
    void (*relax)(void);
    void (*restore)(void);
    /* The place of a stream; that of NULL is where the calling thread is. */
    int (*place_of)(void *stream, void **place_p);
    /* Which relaxes, until it is left. */
    int (*enter)(void *place, void **before_p);
    void (*leave)(void *place, void *before);

    /* Memory of the host that each GPU sees, and its address there; it goes with the place. */
    int (*host_alloc)(size_t bytes, void **host_p);
    void (*host_free)(void *host);
    int (*address)(void *host, void **address_p);
    /* Memory that others have allocated, of the host or, if is_io, the registers of a device: the
     * same, for all GPUs. May not be there at all, and is an error then. */
    int (*map)(void *memory, size_t bytes, bool is_io);
    int (*unmap)(void *memory); /* fails where the GPU is broken, and the memory stays mapped */
    /* The same for one word that a stream can wait for. NULL, and success: any word will do. */
    int (*word_alloc)(void **host_p);
    void (*word_free)(void *host);

    /* What all processes of the machine call this GPU. */
    int (*identify)(char name_p[MPIXQ_GPU_NAME_ROOM]);
    /* Do processes take turns on it, so that a kernel that waits keeps the others from it? Else
     * *why_p is why not. */
    bool (*in_turns)(const char **why_p);

    /* Can streams write and wait for values here? */
    bool (*has_values)(void);
    int (*load)(const void *code, void **module_p);
    /* Loaded for good: its first launch waits for nothing. */
    int (*function)(void *module, const char *name, void **function_p);
    /* A function of modules whose kernels have the form that may be launched early; NULL: none. */
    const char *early;
    /* Code for the GPU of the place, made from the source of the kernels by a compiler that the
     * vendor has at run time; may take a second. To be freed when the module is used no more. NULL:
     * *why_p is why not. */
    void *(*compile)(const char **why_p);

    /* Submissions. wait: until the word gate has reached opened; then passed is written to word, if
     * that is not NULL. */
    int (*write)(void *stream, void *word, uint64_t value);
    int (*wait)(void *stream, void *gate, uint64_t opened, void *word, uint64_t passed);
    int (*launch)(void *stream, void *function, struct mpixq_grid grid, void **parameters);
    int (*copy)(void *stream, void *to, const void *from, size_t bytes);
    int (*zero)(void *stream, void *address, size_t bytes);
    /* A stream that waits for no other one, kept until the process ends; and wait for it. */
    int (*own_stream)(void **stream_p);
    int (*finish)(void *stream);

    /* Memory that GPUs of several processes reach. May not be there at all, and is an error then.
     * What is opened and allocated may have to wait until the GPU is idle, unless at_once. */
    bool at_once;
    /* All that this process sees; itself first, as reached. Returns how many, at most room. */
    int (*peers)(struct mpixq_gpu_peer peers[], int room);
    /* Is it known of two GPUs, of which this process does not see one, that operations of the one
     * on memory of the other are not atomic? */
    bool (*lacks_atomics)(const struct mpixq_gpu_ident *here, const struct mpixq_gpu_ident *there);
    int (*span)(const void *address, void **base_p, size_t *bytes_p); /* of its allocation */
    /* That of the allocation: no other one of this process has it, nor had it. 0: not known. */
    uint64_t (*allocation_id)(const void *address);
    /* Is the one that began here, with this number, known to be there no more? Not of a GPU that
     * reports another error. */
    bool (*is_gone)(const void *address, uint64_t id);
    int (*share)(void *base, struct mpixq_gpu_handle *handle_p);
    int (*open_shared)(const struct mpixq_gpu_handle *handle, void **address_p);
    void (*close_shared)(void *address); /* waits until the GPU is idle, as does the next one */
    int (*words_alloc)(size_t bytes, void **address_p); /* which GPUs change for each other */
    void (*words_free)(void *address);
    const struct mpixq_gpu_files *files;

    /* NULL if all is well with the stream, else what the GPU reports: then it runs no more. Not
     * while it is captured, which ends with that. */
    const char *(*broken)(void *stream);
    /* Is it captured into a graph; or the default stream of all threads, which cannot be used while
     * one that waits for it is? Asking does not harm the capture. *lost_p: the library knows no
     * such stream any more. */
    bool (*is_capturing)(void *stream, bool *lost_p);
    /* The capture of this stream, and have gone called once its graph, and what was made of it, is
     * no more: or never, if the library is too old for that. */
    int (*capture)(void *stream, struct mpixq_gpu_capture *capture_p);
    int (*keep)(void *graph, void (*gone)(void *arg), void *arg);
    /* What comes next in a captured stream comes after this node of the graph too; or not, if the
     * library is too old for that. */
    int (*come_after)(void *stream, void *node);
    /* May a NIC access the memory, which it will write, or only read, as far as the library
     * promises that the GPUs of this process and the NIC see what the other has written? trusts:
     * whatever that promises. NULL, and the device's number; or why not. */
    const char *(*for_nic)(const void *address, bool written, bool trusts, int *device_p);
    /* A NIC has the memory from now on: copies that the program makes of it are to be ordered with
     * what that does. 0, or they cannot be. */
    int (*held)(const void *address);
    /* Does that promise it of anything that a NIC writes? */
    bool (*orders)(void);
    /* If the host cannot access it, *place_p is a place where kernels can; NULL: none is known. */
    enum mpixq_place_of_memory (*where)(const void *address, void **place_p);
    const char *(*text)(int code);

    /* For mpixq_info. How many GPUs there are; what one is called, and where it is on the bus; how
     * far kernels of one reach memory of another. Use one in the calling thread, for good; and
     * memory as programs have it, which words_free frees. */
    const char *library;
    int (*count)(int *count_p);
    int (*describe)(int device, char name_p[MPIXQ_GPU_NAME_ROOM], char bus_p[MPIXQ_GPU_NAME_ROOM]);
    enum mpixq_gpu_reach (*reach)(int from, int to);
    int (*use)(int device);
    int (*alloc)(size_t bytes, void **address_p);
};

/* Ends with NULL. */
extern const struct mpixq_gpu *const mpixq_gpus[];
extern const struct mpixq_gpu mpixq_gpu_cuda, mpixq_gpu_hip;

/* Open the first of these libraries that is there and look up the symbols, which end with one
 * without name. False: there is none, or it lacks one that we cannot do without. */
bool mpixq_gpu_open(const char *const libraries[], bool load,
                    const struct mpixq_gpu_symbol symbols[]);
/* The same of what the process has loaded, if it has loaded anything since *loaded_p, of the last
 * look, which was in vain; 0: there was none. Reads nothing from the disk. */
bool mpixq_gpu_look(const char *const libraries[], unsigned long long *loaded_p,
                    const struct mpixq_gpu_symbol symbols[]);

/* For relax and restore: state is of the thread and of the vendor, and exchange a function of the
 * vendor's library, or NULL. */
struct mpixq_gpu_relaxed {
    int depth, before;
    bool is_exchanged;
};
void mpixq_gpu_relax(struct mpixq_gpu_relaxed *state, int (*exchange)(int *mode));
void mpixq_gpu_restore(struct mpixq_gpu_relaxed *state, int (*exchange)(int *mode));

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
