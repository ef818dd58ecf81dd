/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * No CPU of either side takes part once the stream has rung. Rounds of standard and ready sends are
 * enqueued on a stream that is held; then every thread of every rank is stopped, but the NIC (the
 * engine of the double) and the stream's executor (of a GPU, the threads of its double, but not the
 * worker that the library has for it); and only then the stream goes on. All rounds
 * must end with the right data while the threads are stopped, and the executor may have done
 * nothing to the NIC but store to doorbells, once for the shared counter and once for each standard
 * send: no completion read, no counter read, no post.
 *
 * With MTEST_BUFFER=device the NIC accesses buffers in memory of the GPU.
 *
 * Argument 1: free; kernels: the same, of kernels that start and wait by handles, for as many
 * rounds as are armed ahead, and then with requests that are freed with all of that armed, again
 * and again; or cpu: as free, in a setting where the CPU must do the work, so that this
 * program has to find that it did; kernels-cpu likewise; puts: puts with a signal are enqueued by
 * the first rank, whose threads are stopped, and the signal has to be complete at the other one
 * while they are; puts-cpu likewise; graph-puts: a graph has captured puts and a plan, to all other
 * ranks in turn, and is launched before, and again meanwhile; graph-puts-cpu likewise; gets: the
 * other one gets from the first, all of whose threads are stopped; gets-cpu likewise.
 */
#include <mpix_queue_device.h>
#include <mpix_queue_rma.h>

#include "mtest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device_code.h"
#include "cxi_frozen.h"
#include "gpu_graph.h"
#include "mtest_gpu.h"

enum {
    ROUNDS = 24,
    ROUNDS_AHEAD = 2,
    INTS = 1000,
    PUTS = 24,
    PUTS_OF_GRAPH = 8, /* each part has a counter until it is over */
    ALONE = 2,         /* of these; the others are a plan */
    MAX_RANKS = 4,
    LIMIT_S = 30,
    LIMIT_OF_CPU_S = 3
};
/* Nor is the progress thread quiet, which looks at what kernels count, or drives a window, now and
 * then, and holds no lock that a kernel takes; a stream that rings for a put takes none. */
static const char *const never_quiet_by_kernels[] = {"cxi_double", "hip_double", "mpixq-stream",
                                                     "mpixq-progress", NULL};

/* Of the standard and the ready send, for the host, and the buffers of the requests: the same, or
 * (MTEST_BUFFER=device) in memory of the GPU, to and from which the stream copies. */
static int (*in)[INTS], (*out)[INTS];
static void *sinks[2], *sources[2];
static int peer;
static uint64_t nics; /* of the queue, each with a counter to ring */
/* Of the requests, for kernels; and where those tell errors. */
static bool by_kernels, by_graph;
static MPIX_Device_request handles[4];
static unsigned *results_seen;
static atomic_long n_posts; /* of this process, since it is counted */

static int value(int rank, int kind, int round, int i)
{
    return rank * 1000003 + kind * 500009 + round * 1009 + i;
}

/* Functions on the stream. */

static void fill(void *arg)
{
    (void)arg;
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < INTS; i++) {
            out[kind][i] = value(mtest_rank, kind, round_number, i);
        }
    }
}

static void check(int kind)
{
    for (int i = 0; i < INTS; i++) {
        wrong += in[kind][i] != value(peer, kind, round_number, i);
        in[kind][i] = -1;
    }
}

static void check_ready(void *arg)
{
    (void)arg;
    check(1);
}

static void check_standard(void *arg)
{
    check(0);
    round_number++;
    fill(arg);
}

/* The main thread. */

static bool is_in_gpu(void)
{
    return mtest_gpu_memory() == MTEST_DEVICE;
}

static void buffers_make(void)
{
    enum mtest_memory here = is_in_gpu() ? MTEST_PINNED : mtest_gpu_memory();

    in = mtest_gpu_alloc(here, 2 * sizeof *in);
    out = mtest_gpu_alloc(here, 2 * sizeof *out);
    for (int kind = 0; kind < 2; kind++) {
        sinks[kind] = is_in_gpu() ? mtest_gpu_alloc(MTEST_DEVICE, sizeof *in) : in[kind];
        sources[kind] = is_in_gpu() ? mtest_gpu_alloc(MTEST_DEVICE, sizeof *out) : out[kind];
    }
}

static void buffers_free(void)
{
    enum mtest_memory here = is_in_gpu() ? MTEST_PINNED : mtest_gpu_memory();

    for (int kind = 0; is_in_gpu() && kind < 2; kind++) {
        mtest_gpu_free(MTEST_DEVICE, sinks[kind]);
        mtest_gpu_free(MTEST_DEVICE, sources[kind]);
    }
    mtest_gpu_free(here, in);
    mtest_gpu_free(here, out);
}

static void enqueue_copy(MPIX_Host_stream stream, void *to, const void *from)
{
    if (is_in_gpu()) {
        mtest_gpu_copy(mtest_gpu_stream_of(stream), to, from, sizeof *in);
    }
}

static void enqueue_puts(MPIX_Host_stream stream)
{
    enqueue_copy(stream, sources[0], out[0]);
    enqueue_copy(stream, sources[1], out[1]);
}

/* Start requests, and wait for two. */
static void enqueue(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request r[4], int first_start,
                    int n_starts, int first_wait)
{
    struct device_script script = {.n = 2, .n_handles = 4};

    if (!by_kernels) {
        MTEST_OK(MPIX_Enqueue_startall(queue, n_starts, r + first_start));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r + first_wait));
        return;
    }
    script.step[0] = (struct device_step){
        .todo = DEVICE_STARTALL, .first = (unsigned)first_start, .count = (unsigned)n_starts};
    script.step[1] =
        (struct device_step){.todo = DEVICE_WAITALL, .first = (unsigned)first_wait, .count = 2};
    for (int i = 0; i < 2; i++) {
        script.step[i].scope = MPIX_DEVICE_BLOCK;
        script.step[i].limit_ns = MPIX_DEVICE_FOREVER;
        script.step[i].result = results_seen + i;
    }
    memcpy(script.handle, handles, sizeof handles);
    device_code_launch(mtest_gpu_stream_of(stream), 1, 64, &script);
}

static void enqueue_round(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request r[4])
{
    /* The standard send says that the data of the ready one was looked at. */
    enqueue(queue, stream, r, 0, 3, 0);
    enqueue_copy(stream, in[1], sinks[1]);
    MTEST_OK(MPIX_Host_stream_launch(stream, check_ready, NULL));
    enqueue(queue, stream, r, 3, 1, 2);
    enqueue_copy(stream, in[0], sinks[0]);
    MTEST_OK(MPIX_Host_stream_launch(stream, check_standard, NULL));
    enqueue_puts(stream);
}

static int n_rounds(void)
{
    return by_kernels ? ROUNDS_AHEAD : ROUNDS;
}

static void judge(enum freezer_state state, bool expects_cpu)
{
    if (!judge_frozen(state, 1 + n_rounds(), expects_cpu)) {
        return;
    }
    /* The standard send has a counter of its own; those that kernels ring for all have, but the
     * ready receive needs none. */
    MTEST_EQ(stores, (by_kernels ? 3 : 1 + nics) * (uint64_t)n_rounds());
}

/* Two more where senders tell, as they do if receives are in memory of a GPU, without staging
 * buffers. */
static long posts_of_round(void)
{
    return is_in_gpu() ? 9 : 7;
}

static long count_posts(MPIX_Queue queue)
{
    return by_kernels ? atomic_load(&n_posts) : mtest_queue_count(queue, "mpixq_posts");
}

static void note_post(const struct cxi_double_post *post)
{
    (void)post;
    atomic_fetch_add(&n_posts, 1);
}

static void handles_make(MPIX_Queue queue, MPI_Request r[4])
{
    if (by_kernels) {
        MTEST_CHECK(device_code_open());
        (void)device_code_results(&results_seen);
        MTEST_OK(MPIX_Device_request_create(4, r, queue, handles));
    }
}

static void run(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request r[4], bool expects_cpu)
{
    enum freezer_state state;
    unsigned tries = 0;
    long posts;

    hooks->watch(note_post, NULL);
    handles_make(queue, r);
    MTEST_OK(MPIX_Host_stream_launch(stream, say_who, NULL));
    MTEST_OK(MPIX_Host_stream_launch(stream, fill, NULL));
    enqueue_puts(stream);
    enqueue_round(queue, stream, r);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    /* What kernels start is armed ahead, whether or not anything is enqueued. */
    posts = by_kernels ? posts_of_round() : count_posts(queue);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Host_stream_launch(stream, hold, NULL));
    for (int k = 0; k < n_rounds(); k++) {
        enqueue_round(queue, stream, r);
    }
    MTEST_OK(MPIX_Host_stream_launch(stream, finish, NULL));
    if (!expects_cpu) {
        /* All of it comes into the hands of the NIC while the stream holds. */
        while (count_posts(queue) - posts < posts_of_round() * n_rounds()) {
            mtest_backoff(&tries);
        }
        MTEST_EQ(count_posts(queue) - posts, posts_of_round() * n_rounds());
    }
    /* Who was stopped while it holds a lock would stop the executor too. */
    while (!freezer_is_quiet(atomic_load(&executor),
                             by_kernels ? never_quiet_by_kernels : never_quiet)) {
    }
    state = freezer_run(atomic_load(&executor), devices, expects_cpu ? LIMIT_OF_CPU_S : LIMIT_S);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    hooks->watch(NULL, NULL);
    judge(state, expects_cpu);
}

static void requests_make(MPI_Request r[4])
{
    MTEST_OK(MPI_Recv_init(sinks[1], INTS, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Rsend_init(sources[1], INTS, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Recv_init(sinks[0], INTS, MPI_INT, peer, 0, MPI_COMM_WORLD, &r[2]));
    MTEST_OK(MPI_Send_init(sources[0], INTS, MPI_INT, peer, 0, MPI_COMM_WORLD, &r[3]));
    MTEST_OK(MPIX_Matchall(4, r));
}

static void requests_free(MPI_Request r[4])
{
    if (by_kernels) {
        MTEST_OK(MPIX_Device_request_free(4, handles));
    }
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* Entries that were armed for nobody come back, or there would soon be none to be armed. Of sends
 * that tell when the data is there, as they do with memory of a GPU, not all do. */
static void free_unstarted(MPIX_Queue queue)
{
    int times = is_in_gpu() ? 4 : 40;
    MPI_Request r[4];

    hooks->watch(note_post, NULL);
    for (int k = 0; k < times; k++) {
        unsigned tries = 0;

        atomic_store(&n_posts, 0);
        requests_make(r);
        MTEST_OK(MPIX_Device_request_create(4, r, queue, handles));
        while (atomic_load(&n_posts) < posts_of_round() * ROUNDS_AHEAD) {
            mtest_backoff(&tries);
        }
        requests_free(r);
    }
    hooks->watch(NULL, NULL);
}

static void run_pairs(MPIX_Host_stream stream, bool expects_cpu)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[4];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    nics = (uint64_t)mtest_queue_count(queue, "mpixq_nics");
    hooks = cxi_hooks();
    buffers_make();
    requests_make(r);
    if (hooks != NULL) {
        run(queue, stream, r, expects_cpu);
    }
    requests_free(r);
    if (by_kernels && !expects_cpu && hooks != NULL) {
        free_unstarted(queue);
    }
    buffers_free();
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* ---- Puts ---- */

/* Of the first rank alone. */
static void hold_alone(void *arg)
{
    unsigned tries = 0;

    (void)arg;
    while (freezer_state() < FREEZER_FROZEN) {
        mtest_backoff(&tries);
    }
    calls = hooks->calls();
    stores = hooks->stores();
}

/* The others have seen their signals; or it took too long. */
static void finish_alone(void *arg)
{
    unsigned tries = 0;

    (void)arg;
    for (int rank = 1; rank < mtest_size && freezer_state() < FREEZER_THAWED;) {
        if (atomic_load(&all->done[rank]) != 0) {
            rank++;
        } else {
            mtest_backoff(&tries);
        }
    }
    calls = hooks->calls() - calls;
    stores = hooks->stores() - stores;
    freezer_let_go();
}

static int n_puts(void)
{
    return by_graph ? PUTS_OF_GRAPH : PUTS;
}

/* Of the block with this number; gets are from the first rank. */
static int owner_of(int i, bool gets)
{
    return gets ? 0 : 1 + i % (mtest_size - 1);
}

static void put_all(MPIX_Queue queue, MPIX_Window win, const MPIX_Blk theirs[PUTS])
{
    MPIX_Blk mine[PUTS];
    MPIX_Plan plan;

    for (int i = 0; i < n_puts(); i++) {
        MTEST_OK(
            MPIX_Blk_init(win, i * (MPI_Aint)sizeof *in, sizeof *in, MPIX_SIGNAL_NULL, &mine[i]));
        if (!by_graph || i < ALONE) {
            MTEST_OK(MPIX_Enqueue_put(queue, &mine[i], &theirs[i]));
        }
    }
    if (by_graph) {
        MTEST_OK(MPIX_Plan_create(n_puts() - ALONE, mine + ALONE, theirs + ALONE, &plan));
        MTEST_OK(MPIX_Enqueue_plan_start(queue, plan));
        MTEST_OK(MPIX_Plan_free(&plan));
    }
}

/* Of a put. */
static int n_parts(void)
{
    return getenv("MPIXQ_STRIPE_KIB") != NULL ? (int)nics : 1;
}

/* Each part has its counter; what is captured by one call has one of each NIC. */
static int n_stores(void)
{
    int of_plan = (PUTS_OF_GRAPH - ALONE) * n_parts();

    return !by_graph ? PUTS : ALONE * n_parts() + (of_plan < (int)nics ? of_plan : (int)nics);
}

static void await_posts(int n)
{
    unsigned tries = 0;

    while (atomic_load(&n_posts) < n) {
        mtest_backoff(&tries);
    }
}

/* It is launched once, so that there is something to be held for the next launch. */
static void *capture_puts(MPIX_Queue queue, MPIX_Window win, void *stream,
                          const MPIX_Blk theirs[PUTS], bool expects_cpu)
{
    void *graph;

    MTEST_CHECK(gpu_graph_open());
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    put_all(queue, win, theirs);
    graph = gpu_graph_end_executable(stream);
    await_posts(expects_cpu ? 0 : 2 * n_parts() * n_puts());
    gpu_graph_launch(graph, stream);
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Window_flush(win));
    return graph;
}

static void judge_puts(enum freezer_state state, bool expects_cpu)
{
    if (state == FREEZER_REFUSED) {
        mtest_skip("this system does not let a process trace its parent");
    } else if (expects_cpu) {
        MTEST_CHECK(state == FREEZER_TIMED_OUT || calls > 0);
    } else {
        MTEST_EQ(state, FREEZER_THAWED);
        MTEST_EQ(calls, 0);
        MTEST_EQ(stores, n_stores());
    }
}

/* All are with the NIC when the threads are stopped; then the stream goes on. */
static void put_without_cpu(MPIX_Window win, MPIX_Host_stream stream, const MPIX_Blk theirs[PUTS],
                            bool expects_cpu)
{
    void *gpu_stream = by_graph ? mtest_gpu_stream_of(stream) : NULL, *graph = NULL;
    enum freezer_state state;
    MPIX_Queue queue;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    nics = (uint64_t)mtest_queue_count(queue, "mpixq_nics");
    MTEST_OK(MPIX_Host_stream_launch(stream, say_who, NULL));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    hooks->watch(note_post, NULL);
    if (by_graph) {
        graph = capture_puts(queue, win, gpu_stream, theirs, expects_cpu);
    }
    MTEST_OK(MPIX_Host_stream_launch(stream, hold_alone, NULL));
    if (by_graph) {
        gpu_graph_launch(graph, gpu_stream);
    } else {
        put_all(queue, win, theirs);
    }
    MTEST_OK(MPIX_Host_stream_launch(stream, finish_alone, NULL));
    await_posts(expects_cpu ? 0 : (by_graph ? 4 * n_parts() : 2) * n_puts());
    while (!freezer_is_quiet(atomic_load(&executor), never_quiet_by_kernels)) {
    }
    state = freezer_run(atomic_load(&executor), devices, expects_cpu ? LIMIT_OF_CPU_S : LIMIT_S);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    hooks->watch(NULL, NULL);
    judge_puts(state, expects_cpu);
    MTEST_OK(MPIX_Window_flush(win));
    if (by_graph) {
        gpu_graph_free_executable(graph);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
}

static void await_data(const int *memory, MPIX_Signal signal, bool gets)
{
    MTEST_OK(MPIX_Signal_wait(signal));
    for (int i = 0; i < n_puts() * INTS; i++) {
        if ((gets || owner_of(i / INTS, gets) == mtest_rank) &&
            memory[i] != value(0, 0, i / INTS, i)) {
            mtest_fail(__FILE__, __LINE__, "element %d is %d", i, memory[i]);
            break;
        }
    }
    atomic_store(&all->done[mtest_rank], 1);
}

/* ---- Gets ---- */

/* Of the owner, which takes no part but by its memory. */
static void hold_owner(void *arg)
{
    hold_alone(arg);
    atomic_store(&all->frozen[0], 1);
}

static void own_without_cpu(MPIX_Host_stream stream, bool expects_cpu)
{
    enum freezer_state state;

    MTEST_OK(MPIX_Host_stream_launch(stream, say_who, NULL));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_OK(MPIX_Host_stream_launch(stream, hold_owner, NULL));
    MTEST_OK(MPIX_Host_stream_launch(stream, finish_alone, NULL));
    while (!freezer_is_quiet(atomic_load(&executor), never_quiet_by_kernels)) {
    }
    state = freezer_run(atomic_load(&executor), devices, expects_cpu ? LIMIT_OF_CPU_S : LIMIT_S);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    if (state == FREEZER_REFUSED) {
        mtest_skip("this system does not let a process trace its parent");
    } else if (expects_cpu) {
        MTEST_EQ(state, FREEZER_TIMED_OUT);
    } else {
        MTEST_EQ(state, FREEZER_THAWED);
        MTEST_EQ(calls + stores, 0);
    }
}

/* Every second one tells a signal here. */
static void get_all(MPIX_Window win, const MPIX_Blk theirs[PUTS], const int *memory)
{
    MPIX_Signal signal;
    unsigned tries = 0;
    MPIX_Blk mine;

    MTEST_OK(MPIX_Signal_init(win, PUTS / 2, &signal));
    while (atomic_load(&all->frozen[0]) == 0) {
        mtest_backoff(&tries);
    }
    for (int i = 0; i < PUTS; i++) {
        MTEST_OK(MPIX_Blk_init(win, i * (MPI_Aint)sizeof *in, sizeof *in,
                               i % 2 == 0 ? signal : MPIX_SIGNAL_NULL, &mine));
        MTEST_OK(MPIX_Get(&mine, &theirs[i]));
    }
    MTEST_OK(MPIX_Window_flush(win));
    await_data(memory, signal, true);
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* Of all ranks; those whose blocks they are give the right to the others. */
static void share_blocks(MPIX_Window win, MPIX_Signal signal, bool gets, MPIX_Blk theirs[PUTS])
{
    MPIX_Blk mine[1 + PUTS], blocks[MAX_RANKS][1 + PUTS], nothing;
    int used = gets ? PUTS : n_puts();

    MTEST_OK(MPIX_Blk_init(win, 0, 0, MPIX_SIGNAL_NULL, &nothing));
    MTEST_OK(MPIX_Blk_init(win, 0, 0, signal, &mine[PUTS]));
    for (int i = 0; i < PUTS; i++) {
        MTEST_OK(MPIX_Blk_init(win, i * (MPI_Aint)sizeof *in, sizeof *in, signal, &mine[i]));
    }
    MPI_Allgather(mine, sizeof mine, MPI_BYTE, blocks, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < used; i++) {
        theirs[i] = blocks[owner_of(i, gets)][i];
    }
    for (int rank = 0; rank < mtest_size; rank++) {
        if (mtest_rank == (gets ? 1 : 0) && (rank == 0) == gets) {
            MTEST_OK(gets ? MPIX_Get(&nothing, &blocks[rank][PUTS])
                          : MPIX_Put(&nothing, &blocks[rank][PUTS]));
        }
    }
    MTEST_OK(MPIX_Window_flush(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static int count_events(bool gets)
{
    int n = 0;

    for (int i = 0; i < n_puts(); i++) {
        n += owner_of(i, gets) == mtest_rank;
    }
    return (by_graph ? 2 : 1) * n + 1;
}

static void run_windows(MPIX_Host_stream stream, bool expects_cpu, bool gets)
{
    MPIX_Blk theirs[PUTS];
    MPIX_Signal signal;
    MPIX_Window win;
    int *memory;

    MTEST_OK(MPIX_Window_allocate((MPI_Aint)(PUTS * sizeof *in), MPI_COMM_WORLD, MPI_INFO_NULL,
                                  &memory, &win));
    hooks = cxi_hooks();
    for (int i = 0; i < PUTS * INTS; i++) {
        memory[i] = mtest_rank == 0 ? value(0, 0, i / INTS, i) : -1;
    }
    MTEST_OK(MPIX_Signal_init(win, count_events(gets), &signal));
    share_blocks(win, signal, gets, theirs);
    if (hooks != NULL && gets && mtest_rank == 0) {
        own_without_cpu(stream, expects_cpu);
        MTEST_OK(MPIX_Signal_wait(signal));
    } else if (hooks != NULL && gets) {
        get_all(win, theirs, memory);
    } else if (hooks != NULL && mtest_rank == 0) {
        put_without_cpu(win, stream, theirs, expects_cpu);
    } else if (hooks != NULL) {
        await_data(memory, signal, false);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&signal));
    MTEST_OK(MPIX_Window_free(&win));
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPI_Win window;
    MPI_Aint bytes;
    int unit;

    bool expects_cpu = argc > 1 && strstr(argv[1], "cpu") != NULL;

    freezer_begin();
    by_kernels = argc > 1 && strncmp(argv[1], "kernels", 7) == 0;
    by_graph = argc > 1 && strncmp(argv[1], "graph", 5) == 0;
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPI_Win_allocate_shared(mtest_rank == 0 ? (MPI_Aint)sizeof *all : 0, 1, MPI_INFO_NULL,
                                     MPI_COMM_WORLD, &all, &window));
    MTEST_OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &all));
    MTEST_CHECK(mtest_size == 2 || (by_graph && mtest_size <= MAX_RANKS));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    if (argc > 1 && (strstr(argv[1], "puts") != NULL || strncmp(argv[1], "gets", 4) == 0)) {
        run_windows(stream, expects_cpu, strncmp(argv[1], "gets", 4) == 0);
    } else {
        run_pairs(stream, expects_cpu);
    }
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_OK(MPI_Win_free(&window));
    freezer_end();
    return mtest_end();
}
