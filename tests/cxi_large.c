/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A message of more than 4 GiB over the channel cxi, in a memory that holds it not much more than
 * once: the sender's buffer is written to in few places, which the receiver looks at, and the rest
 * of it is the system's page of zeros. Argument 1: ready, or standard. Argument 2: how often.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ELEMENT = 65537, GUARD = 4096, WINDOW = 8192, STEP = 65536 };

/* An odd number: 4 GiB, 128 KiB and a byte. */
#define BYTES ((size_t)ELEMENT * ELEMENT)
#define GIB ((size_t)1 << 30)

static int starts;

static long available_mib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kib / 1024;
}

static unsigned char byte_at(size_t i, int start)
{
    return (unsigned char)((i * 2654435761U) >> 24 ^ i >> 31 ^ (size_t)start << 3);
}

/* Bytes that are not what the start has there; or write these. */
static size_t visit(unsigned char *data, size_t from, size_t bytes, int start, bool is_write)
{
    size_t wrong = 0;

    for (size_t i = from; i < from + bytes; i++) {
        if (is_write) {
            data[i] = byte_at(i, start);
        } else {
            wrong += data[i] != byte_at(i, start);
        }
    }
    return wrong;
}

/* The ends, the borders at 2 and 4 GiB, and the first bytes of every 64 KiB. */
static size_t visit_all(unsigned char *data, int start, bool is_write)
{
    const size_t windows[] = {0, 2 * GIB - WINDOW / 2, 4 * GIB - WINDOW / 2, BYTES - WINDOW};
    size_t wrong = 0;

    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        wrong += visit(data, windows[i], WINDOW, start, is_write);
    }
    for (size_t i = 0; i + 8 <= BYTES; i += STEP) {
        wrong += visit(data, i, 8, start, is_write);
    }
    return wrong;
}

static unsigned char *make_buffer(void)
{
    size_t bytes = BYTES + 2 * (size_t)GUARD;
    unsigned char *raw = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (raw == MAP_FAILED) {
        return NULL;
    }
    /* The receiver's is written as a whole, in which page faults take most of the time. A huge page
     * for each of the few places in the sender's would be the whole buffer. */
    (void)madvise(raw, bytes, mtest_rank == 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(raw, 0xA7, GUARD);
    memset(raw + GUARD + BYTES, 0xA7, GUARD);
    return raw + GUARD;
}

static void transfer(MPIX_Queue queue, unsigned char *data, MPI_Request *r)
{
    MPI_Status status;
    MPI_Count got = -1;
    size_t wrong = 0;
    int flag = 0;

    for (int start = 0; start < starts; start++) {
        if (mtest_rank == 0) {
            (void)visit_all(data, start, true);
        }
        /* For the ready send: its receive's buffer may be written to. */
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Enqueue_start(queue, r));
        MTEST_OK(MPIX_Enqueue_wait(queue, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        if (mtest_rank == 1) {
            MTEST_EQ(visit_all(data, start, false), 0);
        }
    }
    for (int i = 0; i < GUARD; i++) {
        wrong += data[i - GUARD] != 0xA7 || data[BYTES + (size_t)i] != 0xA7;
    }
    MTEST_EQ(wrong, 0);
    MTEST_OK(MPI_Request_get_status(*r, &flag, &status));
    MTEST_EQ(flag, 1);
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Get_elements_x(&status, MPI_BYTE, &got));
        MTEST_EQ(got, BYTES);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_cxi"), starts);
}

static void test_large(bool ready)
{
    unsigned char *data = make_buffer();
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Datatype element;
    MPI_Request r;

    if (data == NULL) {
        mtest_fail(__FILE__, __LINE__, "no address space for a buffer");
        return;
    }
    MTEST_OK(MPI_Type_contiguous(ELEMENT, MPI_BYTE, &element));
    MTEST_OK(MPI_Type_commit(&element));
    MTEST_OK(mtest_init_raw(mtest_rank == 1 ? MTEST_RECV
                            : ready         ? MTEST_RSEND
                                            : MTEST_SEND,
                            data, ELEMENT, element, 1 - mtest_rank, 1, MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPIX_Match(&r));
    transfer(queue, data, &r);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Type_free(&element));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_EQ(munmap(data - GUARD, BYTES + 2 * (size_t)GUARD), 0);
}

int main(int argc, char **argv)
{
    int enough;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    starts = argc > 2 ? atoi(argv[2]) : 1;
    /* The receiver's buffer, what is under way, and the places in the sender's. */
    enough = available_mib() > (long)(5 * (BYTES >> 20) / 2);
    MTEST_OK(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (enough) {
        test_large(argc > 1 && strcmp(argv[1], "ready") == 0);
    } else {
        mtest_skip("too little memory is available");
    }
    return mtest_end();
}
