/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collectives whose rounds the NICs chain. In a round of this program the stream says that it has
 * come, one rank later than the others, each in turn; behind a barrier all must have come. Then a
 * broadcast, whose root is another rank in each request, and an allgather are started together, in
 * an order of each rank's own, and their data is checked.
 *
 *     cxi_chain free          ahead, and with no CPU: rounds are enqueued on a stream that is held;
 *                             then every thread of every rank is stopped, but the NIC and the
 *                             stream's executor; and then the stream goes on. All rounds must end
 *                             so, and the executor may have done nothing to the NIC but store to
 *                             doorbells: no completion read, no counter read, no post.
 *     cxi_chain cpu           as free, in a setting where the CPU must do the work, so that this
 *                             program has to find that it did
 *     cxi_chain rounds N      N rounds, half of them started by the host
 *     cxi_chain mixed N       the same, with no chain at the first rank, which has not as many
 *                             entries: to the others that makes no difference
 *     cxi_chain graph         a barrier that the queue has started is captured, and then started
 *                             by replays and by the queue in turn
 */
#include "mtest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective_names.h"
#include "cxi_frozen_rounds.h"
#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { INTS = 700, MAX_RANKS = 8, LATE_US = 2000, SEED = 5 };
enum { BARRIER, GATHER, BCAST }; /* and so many broadcasts as there are ranks */

static MPI_Request requests[BCAST + MAX_RANKS];
static int blocks[MAX_RANKS][INTS], told[MAX_RANKS][INTS];
static int n_requests;

static int value(int rank, int kind, int round, int i)
{
    return rank * 1000003 + kind * 500009 + round * 1009 + i;
}

/* Functions on the stream, or of the program in rounds by the host. */

static void come(void *arg)
{
    (void)arg;
    round_number++;
    for (int i = 0; i < INTS; i++) {
        blocks[mtest_rank][i] = value(mtest_rank, 0, round_number, i);
        told[mtest_rank][i] = value(mtest_rank, 1, round_number, i);
    }
    if (round_number % mtest_size == mtest_rank) {
        (void)usleep(LATE_US);
    }
    atomic_store(&all->come[mtest_rank], round_number);
}

static void pass(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < mtest_size; rank++) {
        wrong += atomic_load(&all->come[rank]) < round_number;
    }
}

static void check(void *arg)
{
    (void)arg;
    for (int rank = 0; rank < mtest_size; rank++) {
        for (int i = 0; i < INTS; i++) {
            wrong += blocks[rank][i] != value(rank, 0, round_number, i);
            wrong += told[rank][i] != value(rank, 1, round_number, i);
        }
    }
}

/* The main thread. */

static void make(void)
{
    n_requests = BCAST + mtest_size;
    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[BARRIER]));
    MTEST_OK(COLLECTIVE(Allgather_init)(MPI_IN_PLACE, 0, MPI_INT, blocks, INTS, MPI_INT,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &requests[GATHER]));
    for (int root = 0; root < mtest_size; root++) {
        MTEST_OK(COLLECTIVE(Bcast_init)(told[root], INTS, MPI_INT, root, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &requests[BCAST + root]));
    }
    MTEST_OK(MPIX_Matchall(n_requests, requests));
}

/* The requests but the barrier, beginning with another one in each round and rank. */
static void turn(MPI_Request turned[], int round)
{
    int n = n_requests - 1;

    for (int i = 0; i < n; i++) {
        turned[i] = requests[1 + (i + SEED * mtest_rank + round) % n];
    }
}

static void enqueue_round(MPIX_Queue queue, MPIX_Host_stream stream, int round)
{
    MPI_Request turned[BCAST + MAX_RANKS];

    turn(turned, round);
    MTEST_OK(MPIX_Host_stream_launch(stream, come, NULL));
    MTEST_OK(MPIX_Enqueue_start(queue, &requests[BARRIER]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &requests[BARRIER]));
    MTEST_OK(MPIX_Host_stream_launch(stream, pass, NULL));
    MTEST_OK(MPIX_Enqueue_startall(queue, n_requests - 1, turned));
    MTEST_OK(MPIX_Enqueue_waitall(queue, n_requests - 1, turned));
    MTEST_OK(MPIX_Host_stream_launch(stream, check, NULL));
}

static void host_round(int round)
{
    MPI_Request turned[BCAST + MAX_RANKS];

    turn(turned, round);
    come(NULL);
    MTEST_OK(MPI_Start(&requests[BARRIER]));
    MTEST_OK(MPI_Wait(&requests[BARRIER], MPI_STATUS_IGNORE));
    pass(NULL);
    MTEST_OK(MPI_Startall(n_requests - 1, turned));
    MTEST_OK(MPI_Waitall(n_requests - 1, turned, MPI_STATUSES_IGNORE));
    check(NULL);
}

static void run_rounds(MPIX_Queue queue, MPIX_Host_stream stream, int n)
{
    enum { AHEAD = 4 };

    for (int round = 0; round < n; round++) {
        if (round % (2 * AHEAD) < AHEAD) {
            enqueue_round(queue, stream, round);
            continue;
        }
        synchronize(queue, stream);
        host_round(round);
    }
    synchronize(queue, stream);
    MTEST_EQ(wrong, 0);
    MTEST_EQ(round_number, n);
}

/* A barrier, to which the late rank comes when all others have seen that they still wait. */
static void late_barrier(MPIX_Queue queue, void *stream, void *graph, int late)
{
    enum { SOON_US = 5000 };
    void *event;

    if (mtest_rank == late) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (graph != NULL) {
        gpu_graph_launch(graph, stream);
    } else {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &requests[BARRIER]));
    }
    event = mtest_gpu_event(stream);
    if (mtest_rank != late) {
        (void)usleep(SOON_US);
        MTEST_CHECK(!mtest_gpu_event_fired(event));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    mtest_gpu_event_synchronize(event);
    mtest_gpu_event_end(event);
    MTEST_OK(MPIX_Queue_wait(queue));
}

static void *capture(MPIX_Queue queue, void *stream)
{
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &requests[BARRIER]));
    return gpu_graph_end_executable(stream);
}

/* The threads of the library are to leave alone what NICs have under way when it is captured. */
static void run_captured(MPIX_Queue queue, void *stream)
{
    enum { LOOKS_US = 20000 };
    void *graph;

    late_barrier(queue, stream, NULL, 0);
    if (mtest_rank != 0) {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &requests[BARRIER]));
    }
    graph = capture(queue, stream);
    (void)usleep(LOOKS_US);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &requests[BARRIER]));
    }
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int round = 0; round < 3 * mtest_size; round++) {
        late_barrier(queue, stream, round % 3 == 2 ? NULL : graph, round % mtest_size);
    }
    MTEST_OK(MPI_Start(&requests[BARRIER]));
    MTEST_OK(MPI_Wait(&requests[BARRIER], MPI_STATUS_IGNORE));
    late_barrier(queue, stream, graph, 1 % mtest_size);
    gpu_graph_free_executable(graph);
}

/* Before MPI_Init: the first rank is to have few entries. */
static void take_few_entries(void)
{
    const char *rank = getenv("PMI_RANK");

    rank = rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
    if (rank != NULL && atoi(rank) == 0) {
        (void)setenv("MPIXQ_TRIGGERED_OPS", "3", 1);
    }
}

static void run(int argc, char **argv, bool is_mixed)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    bool is_captured = argc > 1 && strcmp(argv[1], "graph") == 0;
    bool is_frozen = !is_mixed && (argc < 2 || strcmp(argv[1], "rounds") != 0);

    MTEST_OK(MPIX_Host_stream_create(&stream));
    /* Which takes no collective that the host has a part in. */
    MTEST_OK(MPIX_Queue_init(&queue, is_mixed || is_captured ? MPIX_QUEUE_AUTO : MPIX_QUEUE_CXI,
                             &stream));
    make();
    if (is_captured) {
        run_captured(queue, mtest_gpu_stream_of(stream));
    } else if (!is_frozen) {
        run_rounds(queue, stream, argc > 2 ? atoi(argv[2]) : 20);
    } else {
        hooks = cxi_hooks();
        if (hooks != NULL) {
            run_frozen(queue, stream, argc > 1 && strcmp(argv[1], "cpu") == 0, enqueue_round);
        }
    }
    for (int i = 0; i < n_requests; i++) {
        MTEST_OK(MPI_Request_free(&requests[i]));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

int main(int argc, char **argv)
{
    MPI_Win window;
    MPI_Aint bytes;
    int unit;
    bool is_mixed = argc > 1 && strcmp(argv[1], "mixed") == 0;

    if (is_mixed) {
        take_few_entries();
    }
    freezer_begin();
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Win_allocate_shared(mtest_rank == 0 ? (MPI_Aint)sizeof *all : 0, 1, MPI_INFO_NULL,
                                     MPI_COMM_WORLD, &all, &window));
    MTEST_OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &all));
    if (!HAVE_COLLECTIVES) {
        mtest_skip("this MPI has no persistent collectives");
    } else if (argc > 1 && strcmp(argv[1], "graph") == 0 && !gpu_graph_open()) {
        mtest_skip("no GPU in MTEST_STREAM, or it has no graphs");
    } else {
        MTEST_CHECK(mtest_size <= MAX_RANKS);
        run(argc, argv, is_mixed);
    }
    MTEST_OK(MPI_Win_free(&window));
    freezer_end();
    return mtest_end();
}
