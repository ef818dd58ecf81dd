/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which of four NICs a process takes that uses a GPU. What Linux says of the bus is made up here:
 * GPU g, as the double of HIP's runtime numbers them, has its root in common with NIC 3 - g.
 *
 *     cxi_near own       each rank sees its own GPU alone, as number 0: by where that is
 *     cxi_near chosen    it sees all and has chosen one
 *     cxi_near default   it sees all and has chosen none, and uses no memory or stream there: the
 *                        first one is not taken for its own
 *     cxi_near stream    it has chosen none by now: by that of the stream of the first queue
 *     cxi_near buffer    likewise: by that of the buffer of the first request that is matched
 *
 * With MPIXQ_INFO, on streams of HIP.
 */
#include "mtest.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { LAST_NIC = 3, FIRST_GPU_BUS = 0xd0, NIC_BUSES = 0x20 };

static const char devices[] = "/sys/bus/pci/devices/";

/* Returns false for what is no device. The doubles give each NIC and each GPU a bus of its own. */
static bool find_way(const char *path, char way[], size_t room)
{
    unsigned domain, bus, slot, function, root;

    if (strncmp(path, devices, sizeof devices - 1) != 0 ||
        sscanf(path + sizeof devices - 1, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) {
        return false;
    }
    root = bus >= FIRST_GPU_BUS ? LAST_NIC - (bus - FIRST_GPU_BUS) : bus / NIC_BUSES - 1;
    (void)snprintf(way, room, "/sys/devices/pci%04x:00/%s", root, path + sizeof devices - 1);
    return true;
}

/* The library's calls come here, as it is bound to what the program defines first. */
char *realpath(const char *restrict path, char *restrict way)
{
    char *(*next)(const char *, char *) = NULL;
    char found[256];

    if (way != NULL && find_way(path, found, sizeof found)) {
        return strcpy(way, found);
    }
    *(void **)&next = dlsym(RTLD_NEXT, "realpath");
    return next != NULL ? next(path, way) : NULL;
}

/* The same, as some compilers call it. */
char *__realpath_chk(const char *path, char *way, size_t room);
char *__realpath_chk(const char *path, char *way, size_t room)
{
    (void)room;
    return realpath(path, way);
}

static void expect(char text[], const char *how)
{
    int gpu = strcmp(how, "own") == 0 ? mtest_rank : 1 + mtest_rank;
    char line[128];

    if (strcmp(how, "default") == 0) {
        MTEST_CHECK(strstr(text, "near the GPU") == NULL);
        MTEST_CHECK(strstr(text, "the GPU of the process") == NULL);
        MTEST_CHECK(strstr(text, "(in turns)") != NULL);
        return;
    }
    (void)snprintf(line, sizeof line, "domain cxi%d (near the GPU)", LAST_NIC - gpu);
    MTEST_CHECK(strstr(text, line) != NULL);
    (void)snprintf(line, sizeof line, "the GPU of the process is 0000:%02x:00.0",
                   FIRST_GPU_BUS + gpu);
    MTEST_CHECK(strstr(text, line) != NULL);
}

/* On a stream of another GPU than the one that this thread uses. */
static void open_by_stream(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    void *stream;

    mtest_gpu_set_device(1 + mtest_rank);
    stream = mtest_gpu_stream();
    mtest_gpu_set_device(0);
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_CXI, &stream));
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

/* With a buffer of the host, or of another GPU than the one that this thread uses. */
static void open_by_buffer(enum mtest_memory memory)
{
    MPI_Request request = MPI_REQUEST_NULL;
    void *buffer;

    if (memory == MTEST_DEVICE) {
        mtest_gpu_set_device(1 + mtest_rank);
    }
    buffer = mtest_gpu_alloc(memory, 64);
    if (memory == MTEST_DEVICE) {
        mtest_gpu_set_device(0);
    }
    MTEST_OK(mtest_rank == 0 ? MPI_Send_init(buffer, 64, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request)
                             : MPI_Recv_init(buffer, 64, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
    MTEST_OK(MPIX_Match(&request));
    MTEST_OK(MPI_Request_free(&request));
    mtest_gpu_free(memory, buffer);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    static char text[1 << 16];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("no GPU is asked for (MTEST_STREAM)");
    }
    if (strcmp(how, "chosen") == 0) {
        mtest_gpu_set_device(1 + mtest_rank);
    }
    mtest_capture();
    if (strcmp(how, "stream") == 0) {
        open_by_stream();
    } else if (strcmp(how, "buffer") == 0) {
        open_by_buffer(MTEST_DEVICE);
    } else if (strcmp(how, "default") == 0) {
        open_by_buffer(MTEST_PAGEABLE);
    }
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    mtest_captured(text, sizeof text);
    expect(text, how);
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
