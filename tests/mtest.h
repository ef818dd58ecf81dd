/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mtest.h - what every MPI test program shares
 *
 * A program calls mtest_begin, makes checks that record and carry on, and ends with
 * "return mtest_end();". The verdict is collective: every rank exits with the same code, because
 * launchers combine differing codes in ways that can turn a failure into a skip. Exit codes:
 * 0 passed, 1 failed, 77 skipped, 99 could not be run as asked for.
 *
 * The error handler of MPI_COMM_WORLD and MPI_COMM_SELF counts its calls and returns, so calls
 * return their codes and the checks can demand one call per failure, in the calling thread.
 * Communicators derived from them inherit it.
 */
#ifndef MTEST_H_INCLUDED
#define MTEST_H_INCLUDED

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpix_queue.h"

#define MTEST_SKIP 77
#define MTEST_HARD 99

/* MPICH's constants for ignored arguments are small numbers as pointers, which GCC takes for
 * objects of size 0. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

extern int mtest_rank;
extern int mtest_size;

/* ---- Begin, end, verdict -------------------------------------------------------------------- */

/* Initialise MPI at a thread level (all ranks exit 99 if the size is not the promised one). */
void mtest_begin(int *argc, char ***argv, int level);

/* Adopt an MPI that the program initialised itself. */
void mtest_adopt(void);

/* Agree on the verdict, finalise MPI, and give the exit code. */
int mtest_end(void);

/* Agree on the verdict without finalising; for programs that go on after MPI_Finalize. */
int mtest_verdict(void);

/* Failures recorded in this process so far. */
int mtest_failures(void);

/* Declare the program skipped; every rank that knows the reason may call it. */
void mtest_skip(const char *reason);

void mtest_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What this process writes to standard error from here on is kept in a file, whose name is
 * returned; called by one thread, also outside of MPI, one after the other. capture.h has it read
 * by other ranks. */
const char *mtest_capture(void);

/* The end of it: what was written goes to standard error after all, and as much as there is room
 * for, which may be 0, to the text. */
void mtest_captured(char *text_p, size_t room);

/* ---- Checks --------------------------------------------------------------------------------- */

struct mtest_errors {
    int in_thread; /* error handler calls in this thread so far */
    int code;      /* the last code that a handler in this thread was given */
    MPI_Comm comm; /* the last communicator that a handler in this thread was given */
};

struct mtest_errors mtest_errors(void);

/* Give a communicator the counting error handler. */
void mtest_count_errors(MPI_Comm comm);

/* Error handler calls that a test has allowed for by itself. */
void mtest_forgive(int calls);

void mtest_ok(const char *file, int line, const char *call, int rc, struct mtest_errors before);
void mtest_kind(const char *file, int line, const char *call, int rc, int kind, const char *word,
                struct mtest_errors before);
void mtest_class(const char *file, int line, const char *call, int rc, int error_class,
                 struct mtest_errors before);
void mtest_other(const char *file, int line, const char *call, int rc, struct mtest_errors before);

#define MTEST_CHECK(cond)                                                                          \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            mtest_fail(__FILE__, __LINE__, "not true: %s", #cond);                                 \
        }                                                                                          \
    } while (0)

#define MTEST_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a);                                                             \
        long long b_ = (long long)(b);                                                             \
        if (a_ != b_) {                                                                            \
            mtest_fail(__FILE__, __LINE__, "%s is %lld, expected %s = %lld", #a, a_, #b, b_);      \
        }                                                                                          \
    } while (0)

/* The call succeeds and invokes no error handler. */
#define MTEST_OK(call)                                                                             \
    do {                                                                                           \
        struct mtest_errors before_ = mtest_errors();                                              \
        mtest_ok(__FILE__, __LINE__, #call, (call), before_);                                      \
    } while (0)

/* The call fails with a kind of MPIXQ_Error and invokes one error handler, once. */
#define MTEST_KIND(call, kind) MTEST_KIND_TEXT(call, kind, NULL)

/* As MTEST_KIND; the text of the code holds a word. */
#define MTEST_KIND_TEXT(call, kind, word)                                                          \
    do {                                                                                           \
        struct mtest_errors before_ = mtest_errors();                                              \
        mtest_kind(__FILE__, __LINE__, #call, (call), (kind), (word), before_);                    \
    } while (0)

/* The call fails with an MPI error class and invokes one error handler, once. */
#define MTEST_CLASS(call, error_class)                                                             \
    do {                                                                                           \
        struct mtest_errors before_ = mtest_errors();                                              \
        mtest_class(__FILE__, __LINE__, #call, (call), (error_class), before_);                    \
    } while (0)

/* For MTEST_CLASS: any error will do. */
#define MTEST_ANY_CLASS (-1)

/* The call returns MPI_ERR_OTHER and invokes no handler, as outside MPI_Init .. MPI_Finalize. */
#define MTEST_OTHER(call)                                                                          \
    do {                                                                                           \
        struct mtest_errors before_ = mtest_errors();                                              \
        mtest_other(__FILE__, __LINE__, #call, (call), before_);                                   \
    } while (0)

/* Kind of an error code. */
int mtest_kind_of(int code);

/* ---- Waiting -------------------------------------------------------------------------------- */

/* Enqueue a start and its wait and wait for the queue; the first code that is not MPI_SUCCESS. What
 * fails may fail before the wait is enqueued. */
int mtest_transfer(MPIX_Queue queue, MPI_Request *request);
/* Sleep, longer at each call with the same counter: 10 us to 2 ms. */
void mtest_backoff(unsigned *tries);
/* What the launcher says this rank will be, before MPI says so; 0 if it does not. */
int mtest_early_rank(void);

/* A function for a host stream that holds the stream until the gate is opened. */
struct mtest_gate {
    atomic_int reached;
    atomic_int open;
};

void mtest_gate_fn(void *gate);
void mtest_gate_wait_reached(struct mtest_gate *gate);
void mtest_gate_open(struct mtest_gate *gate);

/* ---- Buffers -------------------------------------------------------------------------------- */

/* A buffer for count elements of a type, with guard bytes before, after and in the gaps. */
struct mtest_buf {
    unsigned char *raw;
    unsigned char *device; /* of which raw is a copy then; NULL: none */
    bool by_stream;        /* the test copies between the two, in a stream; false after make */
    unsigned char *model;
    size_t raw_bytes;
    void *buf; /* what to give to MPI */
    MPI_Datatype type;
    int count;
};

void mtest_buf_make(struct mtest_buf *b, MPI_Datatype type, int count);
void mtest_buf_free(struct mtest_buf *b);
/* Guard bytes everywhere. */
void mtest_buf_clear(struct mtest_buf *b);
/* Guard bytes, and in the data bytes a pattern that depends on the seed. */
void mtest_buf_fill(struct mtest_buf *b, int seed);
/* The first elements hold the pattern of the seed and every other byte is a guard byte. */
void mtest_buf_expect(const char *file, int line, struct mtest_buf *b, int elements, int seed);
/* For functions in a stream, which may not copy, so that clear, fill and expect are of the copy of
 * the host: between it and the memory of a GPU, in the order of the stream. */
void mtest_buf_put_in(MPIX_Host_stream stream, struct mtest_buf *b);
void mtest_buf_get_in(MPIX_Host_stream stream, struct mtest_buf *b);
/* The pattern of a seed as contiguous bytes. */
static inline unsigned char mtest_pattern(int seed, size_t index)
{
    uint64_t x = (uint64_t)index * 0x9E3779B97F4A7C15ULL + (uint64_t)(uint32_t)seed * 0xD1B54A33ULL;

    return (unsigned char)((x >> 32) ^ (x >> 11));
}

#define MTEST_FULL(b, seed) mtest_buf_expect(__FILE__, __LINE__, (b), (b)->count, (seed))
#define MTEST_PART(b, elements, seed) mtest_buf_expect(__FILE__, __LINE__, (b), (elements), (seed))
#define MTEST_UNTOUCHED(b) mtest_buf_expect(__FILE__, __LINE__, (b), 0, 0)

/* ---- Requests ------------------------------------------------------------------------------- */

enum mtest_mode { MTEST_SEND, MTEST_BSEND, MTEST_SSEND, MTEST_RSEND, MTEST_RECV };

const char *mtest_mode_name(enum mtest_mode mode);

/* Persistent request on a buffer. */
int mtest_init(enum mtest_mode mode, struct mtest_buf *b, int peer, int tag, MPI_Comm comm,
               MPI_Request *request);

/* Persistent request on bytes. */
int mtest_init_raw(enum mtest_mode mode, void *buf, int count, MPI_Datatype type, int peer, int tag,
                   MPI_Comm comm, MPI_Request *request);

/* A user buffer for buffered sends that the process keeps until mtest_bsend_detach. */
void mtest_bsend_attach(size_t bytes);
void mtest_bsend_detach(void);

/* A complete exchange with a peer that makes the same call: shows that nothing is broken. */
void mtest_exchange(const char *file, int line, MPIX_Queue queue, MPI_Comm comm, int peer);
#define MTEST_EXCHANGE(queue, comm, peer) mtest_exchange(__FILE__, __LINE__, queue, comm, peer)

/* A value of MPIX_Queue_get_info; returns whether the key is there. */
int mtest_queue_info(MPIX_Queue queue, const char *key, char value[MPI_MAX_INFO_VAL + 1]);
long mtest_queue_count(MPIX_Queue queue, const char *key);
/* Of a performance variable that counts. */
unsigned long long mtest_count(const char *name);

/* A small deterministic generator, so that a seed names a run. */
unsigned mtest_random(unsigned long long *state);

#endif /* MTEST_H_INCLUDED */
