/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * double.h - the objects of the double and what its files call of each other
 *
 *     caller --- hip* call ---> stream ---> hardware queue ---> worker ---> memory
 *                                (a FIFO that streams share)       +------> callback thread
 *
 * hip.lock guards everything but memory, which has a lock of its own (memory.c) that is taken last.
 * hip.launching is held by a call that waits for room in a hardware queue, and taken before
 * hip.lock. What runs on a device runs without locks.
 */
#ifndef HIP_DOUBLE_DOUBLE_H
#define HIP_DOUBLE_DOUBLE_H

#include <pthread.h>
#include <stdbool.h>

#include "api.h"
#include "graph.h"
#include "hip_double.h"

#define HIP_EXPORT __attribute__((visibility("default")))

enum { HIP_DEVICES = 8, HIP_QUEUES = 8 };
#define HIP_THREAD "hip_double" /* name of the threads that are the devices */

/* switches.c */
struct hip_switches {
#define SWITCH_CHOICE(field, name, def, choices, help) int field;
#define SWITCH_INT(field, name, def, low, high, help) int field;
#define SWITCH_TEXT(field, name, help) const char *field;
#include "switch_defs.h"
#undef SWITCH_CHOICE
#undef SWITCH_INT
#undef SWITCH_TEXT
};
enum { LOOKUP_BLOCKS, LOOKUP_FREE };
enum { SYNC_ALL, SYNC_KNOWN, SYNC_NONE };
enum { FORBID_OFF, FORBID_REPORT, FORBID_ABORT };
enum { HOST_MOVED, HOST_SAME };
enum { ACCESS_NONE, ACCESS_BAR };
enum { ADDRESSES_NEW, ADDRESSES_AGAIN };
enum { WAIT_SIGNAL, WAIT_ANY };
enum { RTC_FINDS, RTC_TOLD };
enum { CALLBACKS_ONE, CALLBACKS_EACH };
enum { LAST_CALL, LAST_ERROR };
enum { DESTROY_WAITS, DESTROY_LATER };
enum { GONE_TELLS, GONE_DIES };
enum { ORDERING_NONE, ORDERING_OWNER, ORDERING_ALL };
enum { IO_YES, IO_PLAIN, IO_NO };
enum { VISIBLE_ALL, VISIBLE_OWN };
enum { HIDDEN_OPENS, HIDDEN_REFUSED, HIDDEN_PLAIN };
enum { VALUES_RECORDED, VALUES_AT_ONCE };
enum { SWITCH_YES, SWITCH_NO };
extern struct hip_switches hip_switches;
void hip_switches_read(void);
/* Is this behaviour, for which there is no switch, to be wrong? */
bool hip_is_wrong(const char *behaviour);

/* runtime.c: calls. Every function of the API begins with HIP_ENTER and ends with hip_leave. */
enum hip_call {
#define HIP_FUNCTION(result, name, parameters) HIP_CALL_##name,
#include "api_defs.h"
    HIP_CALLS
};
hipError_t hip_enter(enum hip_call call);
hipError_t hip_leave(hipError_t error);
#define HIP_ENTER(name)                                                                            \
    do {                                                                                           \
        hipError_t entered = hip_enter(HIP_CALL_##name);                                           \
                                                                                                   \
        if (entered != hipSuccess) {                                                               \
            return hip_leave(entered);                                                             \
        }                                                                                          \
    } while (0)
const char *hip_call_name(enum hip_call call);
int hip_current(void);
/* The number on the machine of a device that this process sees; and is there one with it? */
int hip_number_of(int device);
bool hip_sees(int number, int domain);
/* Waits until the device is idle, as this call may do. */
void hip_synchronizing(enum hip_call call, int device, bool known);
void hip_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void hip_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* stream.c and queue.c: work in order */
struct hip_queue;

/* capture.c: what becomes of a stream that is captured, and of the calls that threads make
 * meanwhile. Under hip.lock. */
/* Of each call that may not go well with a capture somewhere. */
hipError_t hip_capture_enter(enum hip_call call);
/* The stream is queried or synchronized. */
hipError_t hip_capture_look(struct ihipStream_t *stream);
/* Something is put into the stream, which nobody needs to find there again (alone); taken: by the
 * graph, of which op is from now on. */
hipError_t hip_capture_put(struct ihipStream_t *stream, struct hip_op *op, bool alone,
                           bool *taken_p);
/* An event is recorded in the stream, or waited for. *taken_p: that is a matter of a capture, and
 * nothing is put into the stream. */
hipError_t hip_capture_record(struct ihipStream_t *stream, struct hip_branch *event, bool *taken_p);
hipError_t hip_capture_wait(struct ihipStream_t *stream, const struct hip_branch *event,
                            bool *taken_p);

struct ihipStream_t {
    struct ihipStream_t *next;
    struct hip_queue *queue;
    int device, priority;
    unsigned flags;
    int refs;                  /* the handle, and operations and events that name it */
    bool destroyed, null, own; /* own: the default stream of a thread */
    uint64_t queued, done;     /* operations */
    struct hip_branch captured;
};

/* That another stream has come so far. */
struct hip_point {
    struct ihipStream_t *stream;
    uint64_t number;
};

struct hip_op {
    struct hip_op *next;
    const char *what; /* for people */
    struct ihipStream_t *stream;
    uint64_t number; /* in its stream */
    struct hip_point *after;
    int after_count;
    bool waits;   /* may take until somebody else has done something */
    bool at_once; /* also if its stream is captured */
    /* By a capture, which a call that waits for it then does not do; else the capture is lost. */
    bool may_be_captured;
    void (*run)(struct hip_op *op);
    /* What run needs. */
    char *to;
    const char *from;
    size_t bytes;
    uint64_t value, mask;
    unsigned flags;
    hipHostFn_t function;
    hipStreamCallback_t callback;
    void *data;
    struct ihipEvent_t *event; /* released at the end */
    const struct hip_kernel *kernel;
    unsigned blocks, threads; /* of its launch */
    size_t parameter_bytes;
    _Alignas(uint64_t) unsigned char parameters[];
};

struct hip_op *hip_op_new(const char *what, void (*run)(struct hip_op *op), size_t parameter_bytes);
/* Another one that does the same, and is in no stream. */
struct hip_op *hip_op_copy(const struct hip_op *op);
/* Puts op at the end of a stream and after some points, when there is room; consumes it. The point
 * where it is has a reference. Under hip.lock, as is what follows. */
hipError_t hip_put(struct ihipStream_t *stream, struct hip_op *op, const struct hip_point *after,
                   size_t count, struct hip_point *point_p);
void hip_op_free(struct hip_op *op);
/* A stream of nobody, which goes when it is dropped. */
struct ihipStream_t *hip_stream_hidden(int device);
/* The stream of a handle, with a reference; NULL if there is none. Under hip.lock. */
struct ihipStream_t *hip_stream_of(hipStream_t handle);
void hip_stream_drop(struct ihipStream_t *stream);
/* hipDeviceReset, of a device that is idle: under hip.lock. */
void hip_streams_reset(int device);
void hip_events_reset(int device);
/* Look-ups and queries wait while a launch waits for room. */
void hip_look_up(void);
/* Puts op at the end of a stream, when there is room, and after a point if that is not NULL;
 * consumes it. point_p, if not NULL, gets where it is, with a reference. */
hipError_t hip_submit(hipStream_t handle, struct hip_op *op, const struct hip_point *after,
                      struct hip_point *point_p);
/* The same, and waits until it has run, unless it was captured. */
hipError_t hip_submit_and_wait(hipStream_t handle, struct hip_op *op);
/* event.c: where an event was recorded last, with a reference; stream NULL: nowhere yet, or in a
 * capture: that is *captured_p, which is the event's. Under hip.lock. */
bool hip_event_point(hipEvent_t event, struct hip_point *point_p,
                     const struct hip_branch **captured_p);
/* A queued record has ended; under hip.lock. */
void hip_event_drop(struct ihipEvent_t *event);
/* Under hip.lock, which they release meanwhile. */
void hip_await_point(const struct hip_point *point);
void hip_await_device(int device);
bool hip_idle(int device);
int hip_waits_pending(int device);
/* Is any of these waits behind other work, so that it has not seen anything yet? */
bool hip_waits_behind(int device);
void hip_queue_put(struct hip_op *op);
int hip_queue_of(int device, int priority);
/* Of the thread: the device whose work it runs, or -1. */
extern _Thread_local int hip_running_on;
extern _Thread_local unsigned hip_worker;
extern _Thread_local bool hip_in_host_function;

struct hip_queue {
    int device, index;
    struct hip_op *first, **last;
    int count, streams;
    bool started;
    pthread_t thread;
};

struct hip_device {
    struct hip_queue queues[HIP_QUEUES];
    struct ihipStream_t *null;
    int next_queue;
    int broken; /* hipError_t that every call returns */
    _Atomic bool peer[HIP_DEVICES];
};

struct hip {
    pthread_mutex_t launching, lock;
    pthread_cond_t changed; /* with lock */
    struct hip_device devices[HIP_DEVICES];
    struct ihipStream_t *streams;
    long forbidden;
    long ops_run;
};
extern struct hip hip;

/* memory.c; pools.c has pieces, and those that are imported, and chunks.c has chunks */
enum hip_kind {
    HIP_DEVICE,
    HIP_HOST,
    HIP_MANAGED,
    HIP_SIGNAL,
    HIP_REGISTERED,
    HIP_IPC,
    HIP_PIECE,
    HIP_IMPORTED,
    HIP_CHUNK
};

struct hip_block {
    struct hip_block *next;
    enum hip_kind kind;
    int device;
    unsigned flags;
    bool freed;
    char *base; /* for the host, and for devices unless it is moved */
    size_t size;
    char *pages;
    size_t page_bytes;
    uint64_t file_offset; /* of device memory */
    uint64_t id;          /* no other block has it */
    uint64_t name;        /* of its address, in handles: where in the file of names its offset is */
    int owner, opens;     /* of what is opened by a handle: whose it is, and how many times */
    uint64_t holders;     /* workers that have it open */
    int nics;             /* registrations of it with NICs */
    bool moved;
    bool plain;                                   /* atomic operations on it are lost */
    struct ihipMemPoolHandle_t *pool;             /* of a piece, and of what is imported */
    struct ihipMemGenericAllocationHandle *chunk; /* that is mapped here */
    uint32_t reach;                               /* devices that reach it then, a bit for each */
};

hipError_t hip_block_new(enum hip_kind kind, size_t bytes, unsigned flags, void **memory_p);
/* HIP_CALLS: a stream does it, and waits for nothing. */
hipError_t hip_block_free(enum hip_call call, void *memory, bool host);
hipError_t hip_block_register(void *memory, size_t bytes, unsigned flags);
hipError_t hip_block_unregister(void *memory);
hipError_t hip_block_map(int file, const struct hip_block *theirs, size_t within, void **memory_p);
/* Another time, if it is open. */
bool hip_block_map_again(const struct hip_block *theirs, size_t within, void **memory_p);
hipError_t hip_block_unmap(void *memory);
/* A copy of the live block that has this address, for the host or for devices; *offset_p is where
 * in it. */
bool hip_block_find(const void *address, struct hip_block *block_p, size_t *offset_p);
/* Is all of this in it, or in chunks side by side? */
bool hip_block_holds(const void *address, size_t bytes);
/* Memory of a device that the process does not see, where atomic operations do not go. */
bool hip_is_plain(const void *address);
/* An address for devices of one for the host; the other way round is hip_double_reach. */
void *hip_moved(const struct hip_block *block, size_t offset);
int hip_memory_file(int device);
size_t hip_memory_used(int device);
/* The worker opens memory that it is about to use, as no kernel but the double itself, and closes
 * all that it has opened. */
void *hip_open(const void *address, size_t bytes);
void hip_close_all(void);
void hip_fault_handler(void);

/* kernels.c */
struct hip_kernel {
    const char *name;
    size_t sizes[8]; /* of its parameters, each of which begins at a multiple of 8; then 0 */
    bool waits;
    bool grid; /* may have any number of blocks, whose work is one call of run */
    void (*run)(const void *parameters);
};
const struct hip_kernel *hip_kernel_find(const char *name);
/* From 0 on; NULL behind the last. */
const char *hip_kernel_name(int i);

/* module.c: the kind of the devices. */
const char *hip_arch(void);
void hip_modules_reset(int device);

/* rtc.c: what is compiled, which modules are loaded from. */
#define HIP_COMPILED "compiled for the hip double"
struct hip_compiled {
    char magic[32], arch[32];
    size_t bytes; /* of the names, each with a 0 */
    char names[512];
};

#endif
