/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mtest_buf.c - guarded buffers and request helpers for the MPI test programs
 *
 * The expected content of a buffer is made by MPI_Unpack of a pattern into a copy full of guard
 * bytes, so gaps in a datatype are checked like the bytes before and after it.
 */
#include "mtest.h"

#include "mtest_gpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 128, GUARD = 0xA7 };

static void *checked_malloc(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (p == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", mtest_rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, MTEST_HARD);
        exit(MTEST_HARD);
    }
    return p;
}

/* Between the two copies of a buffer in memory of a GPU. */
static void move(struct mtest_buf *b, bool to_device)
{
    if (b->device != NULL && !b->by_stream) {
        mtest_gpu_copy_now(to_device ? b->device : b->raw, to_device ? b->raw : b->device,
                           b->raw_bytes);
    }
}

static enum mtest_memory memory_of_raw(void)
{
    return mtest_gpu_hidden() ? MTEST_PINNED : mtest_gpu_memory();
}

void mtest_buf_make(struct mtest_buf *b, MPI_Datatype type, int count)
{
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lb = 0;
    MPI_Aint true_extent = 0;
    size_t span = 0;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    if (count > 0) {
        span = (size_t)true_extent + (size_t)(count - 1) * (size_t)extent;
    }
    b->raw_bytes = span + 2 * (size_t)GUARD_BYTES;
    b->raw = mtest_gpu_alloc(memory_of_raw(), b->raw_bytes);
    b->device = mtest_gpu_hidden() ? mtest_gpu_alloc(MTEST_DEVICE, b->raw_bytes) : NULL;
    b->model = checked_malloc(b->raw_bytes);
    b->buf = (b->device != NULL ? b->device : b->raw) + GUARD_BYTES - true_lb;
    b->by_stream = false;
    b->type = type;
    b->count = count;
    mtest_buf_clear(b);
}

void mtest_buf_free(struct mtest_buf *b)
{
    if (b->device != NULL) {
        mtest_gpu_free(MTEST_DEVICE, b->device);
    }
    mtest_gpu_free(memory_of_raw(), b->raw);
    free(b->model);
    memset(b, 0, sizeof(*b));
}

void mtest_buf_clear(struct mtest_buf *b)
{
    memset(b->raw, GUARD, b->raw_bytes);
    move(b, true);
}

void mtest_buf_put_in(MPIX_Host_stream stream, struct mtest_buf *b)
{
    if (b->device != NULL) {
        mtest_gpu_copy(mtest_gpu_stream_of(stream), b->device, b->raw, b->raw_bytes);
    }
}

void mtest_buf_get_in(MPIX_Host_stream stream, struct mtest_buf *b)
{
    if (b->device != NULL) {
        mtest_gpu_copy(mtest_gpu_stream_of(stream), b->raw, b->device, b->raw_bytes);
    }
}

static void unpack_pattern(struct mtest_buf *b, unsigned char *raw, int elements, int seed)
{
    unsigned char *packed;
    size_t bytes;
    int position = 0;
    int size = 0;

    memset(raw, GUARD, b->raw_bytes);
    MPI_Type_size(b->type, &size);
    bytes = (size_t)size * (size_t)elements;
    if (bytes == 0) {
        return;
    }
    packed = checked_malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        packed[i] = mtest_pattern(seed, i);
    }
    if (MPI_Unpack(packed, (int)bytes, &position,
                   raw + ((unsigned char *)b->buf - (b->device != NULL ? b->device : b->raw)),
                   elements, b->type, MPI_COMM_SELF) != MPI_SUCCESS) {
        mtest_fail(__FILE__, __LINE__, "MPI_Unpack of the pattern failed");
    }
    free(packed);
}

void mtest_buf_fill(struct mtest_buf *b, int seed)
{
    unpack_pattern(b, b->raw, b->count, seed);
    move(b, true);
}

void mtest_buf_expect(const char *file, int line, struct mtest_buf *b, int elements, int seed)
{
    size_t wrong = 0;
    size_t first = 0;

    unpack_pattern(b, b->model, elements, seed);
    move(b, false);
    if (memcmp(b->raw, b->model, b->raw_bytes) == 0) {
        return;
    }
    for (size_t i = 0; i < b->raw_bytes; i++) {
        if (b->raw[i] != b->model[i]) {
            first = wrong == 0 ? i : first;
            wrong++;
        }
    }
    if (wrong > 0) {
        mtest_fail(file, line,
                   "%zu wrong bytes, the first at %td of %zu: 0x%02x, expected 0x%02x "
                   "(%d elements of seed %d)",
                   wrong, (ptrdiff_t)first - GUARD_BYTES, b->raw_bytes - 2 * (size_t)GUARD_BYTES,
                   b->raw[first], b->model[first], elements, seed);
    }
}

const char *mtest_mode_name(enum mtest_mode mode)
{
    static const char *const names[] = {"send", "bsend", "ssend", "rsend", "recv"};

    return names[mode];
}

int mtest_init_raw(enum mtest_mode mode, void *buf, int count, MPI_Datatype type, int peer, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    switch (mode) {
    case MTEST_SEND:
        return MPI_Send_init(buf, count, type, peer, tag, comm, request);
    case MTEST_BSEND:
        return MPI_Bsend_init(buf, count, type, peer, tag, comm, request);
    case MTEST_SSEND:
        return MPI_Ssend_init(buf, count, type, peer, tag, comm, request);
    case MTEST_RSEND:
        return MPI_Rsend_init(buf, count, type, peer, tag, comm, request);
    case MTEST_RECV:
        break;
    }
    return MPI_Recv_init(buf, count, type, peer, tag, comm, request);
}

int mtest_init(enum mtest_mode mode, struct mtest_buf *b, int peer, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    return mtest_init_raw(mode, b->buf, b->count, b->type, peer, tag, comm, request);
}

/* Kept here, as a program may leave it to the end of the process. */
static void *attached;

void mtest_bsend_attach(size_t bytes)
{
    if (bytes > INT32_MAX) {
        bytes = INT32_MAX;
    }
    attached = checked_malloc(bytes);
    MTEST_OK(MPI_Buffer_attach(attached, (int)bytes));
}

void mtest_bsend_detach(void)
{
    void *buffer = NULL;
    int bytes = 0;

    MTEST_OK(MPI_Buffer_detach(&buffer, &bytes));
    MTEST_CHECK(buffer == attached);
    free(attached);
    attached = NULL;
}

void mtest_exchange(const char *file, int line, MPIX_Queue queue, MPI_Comm comm, int peer)
{
    struct mtest_buf out;
    struct mtest_buf in;
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int me = 0;
    int rc[6];

    MPI_Comm_rank(comm, &me);
    mtest_buf_make(&out, MPI_INT, 37);
    mtest_buf_make(&in, MPI_INT, 37);
    mtest_buf_fill(&out, 7000 + me);
    rc[0] = MPI_Recv_init(in.buf, in.count, MPI_INT, peer, 4242, comm, &r[0]);
    rc[1] = MPI_Send_init(out.buf, out.count, MPI_INT, peer, 4242, comm, &r[1]);
    rc[2] = MPIX_Matchall(2, r);
    rc[3] = MPIX_Enqueue_startall(queue, 2, r);
    rc[4] = MPIX_Enqueue_waitall(queue, 2, r);
    rc[5] = MPIX_Queue_wait(queue);
    for (int i = 0; i < 6; i++) {
        struct mtest_errors now = mtest_errors();

        mtest_ok(file, line, "step of an exchange", rc[i], now);
    }
    mtest_buf_expect(file, line, &in, in.count, 7000 + peer);
    for (int i = 0; i < 2; i++) {
        if (r[i] != MPI_REQUEST_NULL) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
    }
    mtest_buf_free(&out);
    mtest_buf_free(&in);
}

int mtest_queue_info(MPIX_Queue queue, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    MPI_Info info = MPI_INFO_NULL;
    int found = 0;

    value[0] = '\0';
    MTEST_OK(MPIX_Queue_get_info(queue, &info));
    if (info == MPI_INFO_NULL) {
        return 0;
    }
    MTEST_OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    MTEST_OK(MPI_Info_free(&info));
    return found;
}

long mtest_queue_count(MPIX_Queue queue, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];
    char *end = value;
    long count;

    if (!mtest_queue_info(queue, key, value)) {
        mtest_fail(__FILE__, __LINE__, "the queue's info has no key %s", key);
        return -1;
    }
    count = strtol(value, &end, 10);
    if (end == value || *end != '\0') {
        mtest_fail(__FILE__, __LINE__, "%s is \"%s\", not a number", key, value);
        return -1;
    }
    return count;
}

unsigned long long mtest_count(const char *name)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    unsigned long long value = 0;
    int index, n, level;

    MTEST_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &n), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    MTEST_EQ(MPI_T_finalize(), MPI_SUCCESS);
    return value;
}
