/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * One message of more than 2 GiB. Argument 1: type (a larger datatype and a small count) or count
 * (MPI_Send_init_c with a count above 2^31, where the MPI library has it).
 */
#include "mtest.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE ((size_t)64 << 20)
#define BYTES (33 * PIECE + 3)
#define GUARD 4096

static long available_mib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kib / 1024;
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)((i * 2654435761U) >> 24 ^ i >> 31);
}

/* 33 pieces of 64 MiB and 3 bytes as one element. */
static MPI_Datatype large_type(void)
{
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int lengths[] = {33, 3};
    MPI_Aint at[] = {0, (MPI_Aint)(33 * PIECE)};
    MPI_Datatype parts[2];

    MTEST_OK(MPI_Type_contiguous((int)PIECE, MPI_BYTE, &piece));
    parts[0] = piece;
    parts[1] = MPI_BYTE;
    MTEST_OK(MPI_Type_create_struct(2, lengths, at, parts, &type));
    MTEST_OK(MPI_Type_commit(&type));
    MTEST_OK(MPI_Type_free(&piece));
    return type;
}

static int init_by_count(unsigned char *data, MPI_Request *r)
{
#if HAVE_MPI_LARGE_COUNT
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Send_init_c(data, (MPI_Count)BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, r));
    } else {
        MTEST_OK(MPI_Recv_init_c(data, (MPI_Count)BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, r));
    }
    return 1;
#else
    (void)data;
    (void)r;
    mtest_skip("this MPI has no MPI_Send_init_c");
    return 0;
#endif
}

static void init_by_type(unsigned char *data, MPI_Request *r)
{
    MPI_Datatype type = large_type();

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Send_init(data, 1, type, 1, 1, MPI_COMM_WORLD, r));
    } else {
        MTEST_OK(MPI_Recv_init(data, 1, type, 0, 1, MPI_COMM_WORLD, r));
    }
    MTEST_OK(MPI_Type_free(&type));
}

static void check(const unsigned char *raw, const unsigned char *data, const MPI_Status *status)
{
    size_t wrong = 0;
    MPI_Count got = -1;

    for (size_t i = 0; i < BYTES; i++) {
        wrong += data[i] != byte_at(i);
    }
    for (size_t i = 0; i < GUARD; i++) {
        wrong += raw[i] != 0xA7;
        wrong += data[BYTES + i] != 0xA7;
    }
    MTEST_EQ(wrong, 0);
    MTEST_OK(MPI_Get_elements_x(status, MPI_BYTE, &got));
    MTEST_EQ(got, BYTES);
    MTEST_EQ(status->MPI_SOURCE, 0);
}

static void transfer(int by_count)
{
    size_t bytes = BYTES + 2 * (size_t)GUARD;
    unsigned char *raw =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *data = raw + GUARD;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    if (raw == MAP_FAILED) {
        mtest_skip("no memory for the buffer");
        return;
    }
    (void)madvise(raw, bytes, MADV_HUGEPAGE); /* page faults would take most of the time */
    memset(raw, 0xA7, bytes);
    for (size_t i = 0; mtest_rank == 0 && i < BYTES; i++) {
        data[i] = byte_at(i);
    }
    if (!by_count) {
        init_by_type(data, &r);
    } else if (!init_by_count(data, &r)) {
        (void)munmap(raw, bytes);
        return;
    }
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_get_status(r, &flag, &status));
    MTEST_EQ(flag, 1);
    if (mtest_rank == 1) {
        check(raw, data, &status);
    }
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_EQ(munmap(raw, bytes), 0);
}

int main(int argc, char **argv)
{
    long mib;
    int enough;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mib = available_mib();
    /* Two buffers, and as much again for what MPI copies. */
    enough = mib > (long)(5 * (BYTES >> 20) / 2);
    MTEST_OK(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (!enough) {
        mtest_skip("too little memory is available");
    } else {
        transfer(argc > 1 && strcmp(argv[1], "count") == 0);
    }
    return mtest_end();
}
