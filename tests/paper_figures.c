/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A halo gather as the paper that proposed these functions writes it, in C and with the names that
 * start with MPI_: the only addition is the count of MPI_Matchall. Its queue type runs on the
 * fallback here.
 */
#define MPIX_QUEUE_MPI_NAMES
#define CXI MPI_QUEUE_FALLBACK
#include "mtest.h"

enum { NEIGHBOURS = 3, CELLS = 64, STEPS = 25 };

struct stream_halo {
    MPI_Host_stream my_stream;
    MPI_Queue my_queue;
    MPI_Request requests[2 * NEIGHBOURS];
    int neighbour_ranks[NEIGHBOURS];
    unsigned char ghost_buffers[NEIGHBOURS][CELLS];
    unsigned char owned_buffers[NEIGHBOURS][CELLS];
    int step;
    int wrong;
};

static void halo_create(struct stream_halo *h, MPI_Comm comm)
{
    int num_n = NEIGHBOURS;

    MTEST_OK(MPI_Queue_init(&h->my_queue, CXI, &h->my_stream));
    for (int n = 0; n < num_n; ++n) {
        MTEST_OK(MPI_Recv_init(h->ghost_buffers[n], sizeof(h->ghost_buffers[n]), MPI_BYTE,
                               h->neighbour_ranks[n], n, comm, &h->requests[n]));
        MTEST_OK(MPI_Send_init(h->owned_buffers[n], sizeof(h->owned_buffers[n]), MPI_BYTE,
                               h->neighbour_ranks[n], n, comm, &h->requests[num_n + n]));
    }
    MTEST_OK(MPI_Matchall(2 * num_n, &h->requests[0]));
}

static void pack_buffers(void *arg)
{
    struct stream_halo *h = arg;

    for (int n = 0; n < NEIGHBOURS; n++) {
        for (int i = 0; i < CELLS; i++) {
            h->owned_buffers[n][i] = mtest_pattern(100 * mtest_rank + n, (size_t)(h->step + i));
        }
    }
}

static void unpack_buffers(void *arg)
{
    struct stream_halo *h = arg;

    for (int n = 0; n < NEIGHBOURS; n++) {
        int from = 100 * h->neighbour_ranks[n] + n;

        for (int i = 0; i < CELLS && h->neighbour_ranks[n] != MPI_PROC_NULL; i++) {
            h->wrong += h->ghost_buffers[n][i] != mtest_pattern(from, (size_t)(h->step + i));
        }
    }
    h->step++;
}

static void enqueue_gather(struct stream_halo *h)
{
    int num_n = NEIGHBOURS;

    MTEST_OK(MPI_Enqueue_startall(h->my_queue, num_n, &h->requests[0]));
    MTEST_OK(MPI_Host_stream_launch(h->my_stream, pack_buffers, h));
    MTEST_OK(MPI_Enqueue_startall(h->my_queue, num_n, &h->requests[num_n]));
    MTEST_OK(MPI_Enqueue_waitall(h->my_queue));
    MTEST_OK(MPI_Host_stream_launch(h->my_stream, unpack_buffers, h));
}

/* The remaining spellings. */
static void other_names(struct stream_halo *h)
{
    MPI_Queue queue = MPI_QUEUE_NULL;
    MPI_Queue_type type = MPI_QUEUE_AUTO;
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int flag = 0;

    MTEST_OK(MPI_Queue_init_info(&queue, type, &h->my_stream, MPI_INFO_NULL));
    MTEST_OK(MPI_Match(&none));
    MTEST_OK(MPI_Imatch(&none, &match));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Imatchall(1, &none, &match));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Is_matched(none, &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Enqueue_start(queue, &none));
    MTEST_OK(MPI_Enqueue_wait(queue, &none));
    MTEST_OK(MPI_Enqueue_waitall(queue, 1, &none));
    MTEST_OK(MPI_Enqueue_waitall(queue, MPI_ALL_STARTED, &none));
    MTEST_OK(MPI_Queue_test(queue, &flag));
    MTEST_OK(MPI_Queue_get_info(queue, &info));
    MTEST_OK(MPI_Info_free(&info));
    MTEST_OK(MPI_Host_stream_query(h->my_stream, &flag));
    MTEST_OK(MPI_Queue_free(&queue));
    MTEST_CHECK(MPI_QUEUE_CXI != MPI_QUEUE_FALLBACK);
}

int main(int argc, char **argv)
{
    static struct stream_halo h;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    h.my_stream = MPI_HOST_STREAM_NULL;
    h.my_queue = MPI_QUEUE_NULL;
    h.neighbour_ranks[0] = mtest_size - 1 - mtest_rank;
    h.neighbour_ranks[1] = MPI_PROC_NULL;
    h.neighbour_ranks[2] = mtest_size - 1 - mtest_rank;
    MTEST_OK(MPI_Host_stream_create(&h.my_stream));
    halo_create(&h, MPI_COMM_WORLD);
    for (int step = 0; step < STEPS; step++) {
        enqueue_gather(&h);
    }
    MTEST_OK(MPI_Queue_wait(h.my_queue));
    MTEST_OK(MPI_Host_stream_synchronize(h.my_stream));
    MTEST_EQ(h.step, STEPS);
    MTEST_EQ(h.wrong, 0);
    other_names(&h);
    for (int n = 0; n < 2 * NEIGHBOURS; n++) {
        MTEST_OK(MPI_Request_free(&h.requests[n]));
    }
    MTEST_OK(MPI_Queue_free(&h.my_queue));
    MTEST_OK(MPI_Host_stream_destroy(&h.my_stream));
    return mtest_end();
}
