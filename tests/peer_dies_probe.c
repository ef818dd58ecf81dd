/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What peer_dies.sh runs: rank 1 kills itself while rank 0 waits for it. Rank 0 writes what it got
 * into a file and leaves without MPI_Finalize, which cannot end without rank 1.
 *
 *     peer_dies_probe HOW FILE
 *
 * HOW  receive, send: a start on a queue waits; host: MPI_Wait does; match: a second match
 *      signal, signal-queue, signal-flush: puts with signals: the host waits for a signal, a stream
 *      does, or the host waits until a large put is complete
 *      signal-get: gets from rank 1, until the signal of one fails
 *      signal-held, signal-rung: a put was enqueued before, and the stream comes to it when that is
 *      known, or before
 *      partitions, partitions-queue: MPI_Wait waits for partitioned requests, or a queue does
 *      first-receive, first-send: the same as receive and send, but rank 1 has started by then
 *      open-receive, open-send: a match, while rank 1 opens memory of rank 0, for which its GPU
 *      is to be idle (on the double of HIP's runtime)
 *      loopN: rank 1 dies in the midst of exchanges, sooner or later as N says
 *      close-HOW, with the double of the cxi provider: rank 1 is not killed, but frees the request,
 *      and its provider ends it since it cannot have the NIC forget the region
 *      replay-HOW, of those on a queue: rank 0 launches a graph in which start and wait are
 *      captured, or the wait for the signal, and with replay-loopN rank 1 does as well
 *      kernel-HOW, likewise: a kernel starts and waits, and rank 0 writes what the wait returns
 *      eager-HOW: the message is small, and its send does not wait for the receive
 *
 * The queue is on a stream of a GPU if MTEST_STREAM says so, and the buffers are where MTEST_BUFFER
 * does (mtest_gpu.h).
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpix_queue.h>
#include <mpix_queue_device_rma.h>
#include <mpix_queue_partitions.h>

#include "device/device_code.h"
#include "gpu_graph.h"
#include "mtest_gpu.h"

/* More than MPI takes into buffers of its own. */
enum { TAG = 7, BYTES = 8 << 20, PAIRS = 3, FEW = 100 };

static int rank, drained, size = BYTES;
static int replays; /* of a graph, in place of plain exchanges */
static int by_kernel;
static int closes;
static char *buffer;
static MPI_Request others[2 * PAIRS]; /* of exchange_until_death */
static FILE *file;

static char *take(size_t bytes)
{
    return mtest_gpu_kind() != NULL ? mtest_gpu_alloc(mtest_gpu_memory(), bytes) : calloc(1, bytes);
}

static void say(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, kind = MPIXQ_ERR_NONE;

    MPI_Error_string(code, text, &length);
    MPIX_Error_kind(code, &kind);
    fprintf(file, "%s: kind %d: %s\n", what, kind, text);
}

/* Receives at rank 0, or sends. */
static void make(int sends, int tag, MPI_Request *request)
{
    if (sends == (rank == 0)) {
        MPI_Send_init(buffer, size, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, request);
    } else {
        MPI_Recv_init(buffer, size, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, request);
    }
}

static void die(MPI_Request *request)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && closes) {
        MPI_Request_free(request);
        sleep(60); /* alive, which rank 0 is not told */
    }
    if (rank == 1) {
        kill(getpid(), SIGKILL);
    }
}

/* Before MPI_Init, in which some libraries open the provider. */
static void let_rank_1_abort(void)
{
    const char *mine = getenv("PMI_RANK");

    mine = mine != NULL ? mine : getenv("OMPI_COMM_WORLD_RANK");
    if (mine != NULL && strcmp(mine, "1") == 0) {
        setenv("CXI_DOUBLE_REGION_CLOSE", "abort", 1);
    }
}

static void drain(void *arg)
{
    *(int *)arg = 1;
}

/* Its end is the first to come. */
static void start_and_die(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request *request)
{
    if (rank == 1) {
        MPIX_Enqueue_start(queue, request);
        MPIX_Host_stream_launch(stream, drain, &drained);
        MPIX_Host_stream_synchronize(stream);
    }
    die(request);
}

static void *kill_later(void *how)
{
    usleep(1000 + 37000 * (unsigned)atoi(how));
    kill(getpid(), SIGKILL);
    return NULL;
}

/* By one call, or by two. */
static int enqueue(MPIX_Queue queue, MPI_Request requests[], int n, bool at_once)
{
    int rc = at_once ? MPIX_Enqueue_startwaitall(queue, n, requests)
                     : MPIX_Enqueue_startall(queue, n, requests);

    return rc != MPI_SUCCESS || at_once ? rc : MPIX_Enqueue_waitall(queue, n, requests);
}

/* Launch a graph of an exchange until that fails. Of launches a wait for the queue knows the errors
 * alone. */
static int replay(MPIX_Queue queue, void *stream, MPI_Request requests[], int n)
{
    void *executable;
    int rc;

    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    rc = enqueue(queue, requests, n, rank == 0);
    executable = gpu_graph_end_executable(stream);
    while (rc == MPI_SUCCESS) {
        for (int ahead = 0; ahead < 4; ahead++) {
            gpu_graph_launch(executable, stream);
        }
        mtest_gpu_synchronize(stream);
        rc = MPIX_Queue_wait(queue);
    }
    gpu_graph_free_executable(executable);
    return rc;
}

/* A kernel starts, and waits without a time limit, until that fails. */
static int run_kernels(MPIX_Queue queue, void *stream, MPI_Request requests[], int n)
{
    struct device_script script = {.n = 2, .n_handles = (unsigned)n};
    unsigned *seen, *results;
    int rc;

    if (!device_code_open()) {
        exit(4);
    }
    results = device_code_results(&seen);
    for (unsigned i = 0; i < 2; i++) {
        script.step[i] = (struct device_step){.todo = i == 0 ? DEVICE_STARTALL : DEVICE_WAITALL,
                                              .count = (unsigned)n,
                                              .scope = MPIX_DEVICE_BLOCK,
                                              .limit_ns = MPIX_DEVICE_FOREVER,
                                              .result = &seen[i]};
    }
    rc = MPIX_Device_request_create(n, requests, queue, script.handle);
    while (rc == MPI_SUCCESS) {
        device_code_launch(stream, 1, 64, &script);
        mtest_gpu_synchronize(stream);
        rc = MPIX_Queue_wait(queue);
    }
    fprintf(file, "kernel: %u %u\n", results[0], results[1]);
    say("handles", MPIX_Device_request_free(n, script.handle));
    return rc;
}

/* Exchange until that fails. */
static int exchange(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request requests[], int n)
{
    int rc = MPI_SUCCESS;

    if (replays) {
        return replay(queue, mtest_gpu_stream_of(stream), requests, n);
    }
    if (by_kernel) {
        return run_kernels(queue, mtest_gpu_stream_of(stream), requests, n);
    }
    while (rc == MPI_SUCCESS) {
        for (int ahead = 0; rc == MPI_SUCCESS && ahead < 4; ahead++) {
            rc = enqueue(queue, requests, n, ahead % 2 == 0);
        }
        rc = rc != MPI_SUCCESS ? rc : MPIX_Queue_wait(queue);
    }
    return rc;
}

static void exchange_until_death(MPIX_Queue queue, MPIX_Host_stream stream, const char *how)
{
    static const int bytes[PAIRS] = {100, 60000, BYTES};
    pthread_t killer;

    for (int i = 0; i < PAIRS; i++) {
        MPI_Recv_init(take(BYTES), bytes[i], MPI_BYTE, 1 - rank, TAG + 1 + i, MPI_COMM_WORLD,
                      &others[i]);
        MPI_Send_init(take(BYTES), bytes[i], MPI_BYTE, 1 - rank, TAG + 1 + i, MPI_COMM_WORLD,
                      &others[PAIRS + i]);
    }
    MPIX_Matchall(2 * PAIRS, others);
    MPI_Barrier(MPI_COMM_WORLD); /* both have opened what they need */
    if (rank == 1) {
        pthread_create(&killer, NULL, kill_later, (void *)how);
    }
    say("queue", exchange(queue, stream, others, 2 * PAIRS));
}

static void wait_on_queue(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request *request,
                          const char *how)
{
    int flag = 0;

    if (strncmp(how, "loop", 4) == 0) {
        exchange_until_death(queue, stream, how + 4);
    } else if (strncmp(how, "first", 5) == 0) {
        start_and_die(queue, stream, request);
        say("queue", exchange(queue, stream, request, 1));
    } else if (replays || by_kernel || size == FEW) {
        /* A send that waits for no receive may be quicker than the death; one of the next fails. */
        die(request);
        say("queue", exchange(queue, stream, request, 1));
    } else {
        die(request);
        say("start", MPIX_Enqueue_start(queue, request));
        say("wait", MPIX_Enqueue_wait(queue, request));
        say("queue", MPIX_Queue_wait(queue));
    }
    say("again", MPIX_Enqueue_start(queue, request));
    say("test", MPIX_Queue_test(queue, &flag));
    /* What is behind on the stream runs. */
    say("launch", MPIX_Host_stream_launch(stream, drain, &drained));
    say("synchronize", MPIX_Host_stream_synchronize(stream));
    fprintf(file, "drained: %d\n", drained);
    say("free", MPIX_Queue_free(&queue));
    say("stream", MPIX_Host_stream_destroy(&stream));
    for (int i = 0; i < 2 * PAIRS && strncmp(how, "loop", 4) == 0; i++) {
        say("other", MPI_Request_free(&others[i]));
    }
    say("request", MPI_Request_free(request));
}

static void wait_by_host(MPI_Request *request)
{
    die(request);
    say("start", MPI_Start(request));
    say("host", MPI_Wait(request, MPI_STATUS_IGNORE));
    say("request", MPI_Request_free(request));
}

static void match_again(MPI_Request *matched)
{
    MPI_Request request;

    die(matched);
    make(1, TAG + 1, &request);
    say("match", MPIX_Match(&request));
    say("request", MPI_Request_free(&request));
}

/* Of a send and a receive in 4 partitions, which completed once: all that starts again fails. */
static void wait_for_partitions(MPIX_Queue queue, MPI_Request *request, int by_queue)
{
    enum { N = 4, EACH = BYTES / 2 / N };
    MPI_Request both[2];

    MPIX_Psend_init(buffer, N, EACH, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &both[0]);
    MPIX_Precv_init(buffer + BYTES / 2, N, EACH, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &both[1]);
    say("parts", MPIX_Matchall(2, both));
    MPI_Startall(2, both);
    MPIX_Pready_range(0, N - 1, both[0]);
    say("once", MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    die(request);
    if (by_queue) {
        say("start", MPIX_Enqueue_startall(queue, 2, both));
        MPIX_Pready_range(0, N - 1, both[0]);
        say("wait", MPIX_Enqueue_waitall(queue, 2, both));
        say("queue", MPIX_Queue_wait(queue));
    } else {
        say("start", MPI_Startall(2, both));
        MPIX_Pready_range(0, N - 1, both[0]);
        say("prepare", MPIX_Pbuf_prepare(both[0]));
        say("receive", MPI_Wait(&both[1], MPI_STATUS_IGNORE));
        say("send", MPI_Wait(&both[0], MPI_STATUS_IGNORE));
    }
    say("free", MPIX_Queue_free(&queue));
    say("request", MPI_Request_free(&both[0]));
    say("request", MPI_Request_free(&both[1]));
}

/* By a kernel, which has no time limit. */
static void wait_in_kernel(MPIX_Host_stream stream, MPIX_Signal sig)
{
    struct puts_script script = {.n = 1};
    struct puts_step *step = &script.step[0];
    unsigned *seen, *results;

    if (!device_code_open()) {
        exit(4);
    }
    results = device_code_results(&seen);
    MPIX_Device_signal_init(sig, &step->signal[0]);
    step->todo = PUTS_WAIT_RESET;
    step->scope = MPIX_DEVICE_BLOCK;
    step->limit_ns = MPIX_DEVICE_FOREVER;
    step->result = seen;
    device_code_launch_puts(mtest_gpu_stream_of(stream), 64, &script);
    mtest_gpu_synchronize(mtest_gpu_stream_of(stream));
    fprintf(file, "kernel: %u\n", results[0]);
}

/* A signal was told while both lived; then nothing comes any more. */
/* A put may be quicker than the death; one of the next is not complete. */
static int flush_until_death(MPIX_Window window, const MPIX_Blk *out, const MPIX_Blk *theirs)
{
    int rc;

    do {
        MPIX_Put(out, theirs);
        rc = MPIX_Window_flush(window);
    } while (rc == MPI_SUCCESS);
    return rc;
}

/* A get may be quicker than the death, too; but no signal is told of data that was not read. */
static int get_until_death(MPIX_Window window, char *memory, const MPIX_Blk *theirs)
{
    MPIX_Signal told;
    MPIX_Blk here;
    int rc, wrong = 0;

    MPIX_Signal_init(window, 1, &told);
    MPIX_Blk_init(window, 0, BYTES, told, &here);
    do {
        memset(memory, 1, BYTES);
        MPIX_Get(&here, theirs);
        rc = MPIX_Signal_wait(told);
        for (int i = 0; rc == MPI_SUCCESS && i < BYTES; i++) {
            wrong += memory[i] != 0;
        }
    } while (rc == MPI_SUCCESS && MPIX_Signal_reset(told) == MPI_SUCCESS);
    fprintf(file, "wrong: %d\n", wrong);
    return rc;
}

/* By a graph. */
static int replay_signal_wait(MPIX_Queue queue, void *stream, MPIX_Signal sig)
{
    void *executable;
    int rc;

    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    rc = MPIX_Enqueue_signal_wait_reset(queue, sig);
    executable = gpu_graph_end_executable(stream);
    say("enqueue", rc);
    gpu_graph_launch(executable, stream);
    mtest_gpu_synchronize(stream);
    rc = MPIX_Queue_wait(queue);
    gpu_graph_free_executable(executable);
    return rc;
}

static atomic_int gate_is_open;

static void await_gate(void *arg)
{
    (void)arg;
    while (atomic_load(&gate_is_open) == 0) {
        usleep(1000);
    }
}

static void wait_for_puts(MPIX_Queue queue, MPIX_Host_stream stream, MPI_Request *request,
                          const char *how)
{
    int holds = strcmp(how, "signal-held") == 0, rings = strcmp(how, "signal-rung") == 0;
    MPIX_Blk mine, theirs, out;
    MPIX_Signal sig;
    MPIX_Window window;
    char *memory;

    if (strncmp(how, "signal-mapped", 13) == 0) {
        memory = take(2 * (size_t)BYTES);
        MPIX_Window_create(memory, 2 * BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &window);
    } else {
        MPIX_Window_allocate(2 * BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window);
    }
    MPIX_Signal_init(window, 1, &sig);
    MPIX_Blk_init(window, 0, BYTES, MPIX_SIGNAL_NULL, &out);
    MPIX_Blk_init(window, BYTES, BYTES, sig, &mine);
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - rank, 0, &theirs, sizeof theirs, MPI_BYTE,
                 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPIX_Put(&out, &theirs);
    say("first", MPIX_Signal_wait_reset(sig));
    say("flush", MPIX_Window_flush(window));
    if (holds || rings) {
        say("gate", MPIX_Host_stream_launch(stream, await_gate, NULL));
        say("enqueue", MPIX_Enqueue_put(queue, &out, &theirs));
        usleep(100000); /* it is with the NIC by then */
    }
    die(request);
    if (rings) {
        atomic_store(&gate_is_open, 1);
        say("ring", MPIX_Host_stream_synchronize(stream));
    }
    if (strcmp(how, "signal-queue") == 0) {
        if (replays) {
            say("queue", replay_signal_wait(queue, mtest_gpu_stream_of(stream), sig));
        } else {
            say("enqueue", MPIX_Enqueue_signal_wait_reset(queue, sig));
            say("queue", MPIX_Queue_wait(queue));
        }
        say("launch", MPIX_Host_stream_launch(stream, drain, &drained));
        say("synchronize", MPIX_Host_stream_synchronize(stream));
        fprintf(file, "drained: %d\n", drained);
    } else if (strcmp(how, "signal-mapped-kernel") == 0) {
        wait_in_kernel(stream, sig);
    } else if (strcmp(how, "signal-flush") == 0) {
        say("late", flush_until_death(window, &out, &theirs));
    } else if (strcmp(how, "signal-get") == 0) {
        say("got", get_until_death(window, memory, &theirs));
    }
    say("signal", MPIX_Signal_wait(sig));
    if (holds) {
        atomic_store(&gate_is_open, 1);
        say("queue", MPIX_Queue_wait(queue));
    }
    say("put", MPIX_Put(&out, &theirs));
    say("end", MPIX_Window_flush(window));
    say("window", MPIX_Window_free(&window));
    fprintf(file, "gone: %d\n", window == MPIX_WINDOW_NULL);
    say("free", MPIX_Queue_free(&queue));
}

static void work(void *arg)
{
    (void)arg;
    sleep(5);
}

/* Rank 1 has matched, and cannot go on before its GPU has ended its work. */
static void match_opening(MPIX_Host_stream stream, int sends)
{
    static char one_second[] = "27";
    pthread_t killer;
    MPI_Request request;

    buffer = take(BYTES); /* not open at the peer yet */
    make(sends, TAG + 1, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPIX_Host_stream_launch(stream, work, NULL);
        pthread_create(&killer, NULL, kill_later, one_second);
    }
    say("match", MPIX_Match(&request));
    say("request", MPI_Request_free(&request));
}

int main(int argc, char *argv[])
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue;
    MPI_Request request;
    char channels[64] = "", posts[64] = "";
    const char *how = argc == 3 ? argv[1] : "";
    MPI_Info info;
    int flag;

    /* MPICH's launcher tells of a process that has ended by the first, and then ends itself. */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (strncmp(how, "close-", 6) == 0) {
        how += 6;
        closes = 1;
        let_rank_1_abort();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (mtest_gpu_kind() != NULL) {
        mtest_gpu_set_device(rank % mtest_gpu_devices());
    }
    buffer = take(BYTES);
    file = argc == 3 && rank == 0 ? fopen(argv[2], "w") : stderr;
    if (argc != 3 || buffer == NULL || file == NULL) {
        return 2;
    }
    if (strncmp(how, "replay-", 7) == 0) {
        how += 7;
        replays = 1;
    }
    if (strncmp(how, "kernel-", 7) == 0) {
        how += 7;
        by_kernel = 1;
    }
    if (strncmp(how, "eager-", 6) == 0) {
        how += 6;
        size = FEW;
    }
    if ((replays || by_kernel) && !gpu_graph_open()) {
        return 3;
    }
    setvbuf(file, NULL, _IOLBF, 0);
    fprintf(file, "pid: %ld\n", (long)getpid());
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    make(strstr(how, "receive") == NULL, TAG, &request);
    MPIX_Match(&request);
    /* Once while both live. */
    MPIX_Enqueue_start(queue, &request);
    MPIX_Enqueue_wait(queue, &request);
    MPIX_Queue_wait(queue);
    MPIX_Queue_get_info(queue, &info);
    MPI_Info_get(info, "mpixq_channels", sizeof channels - 1, channels, &flag);
    MPI_Info_get(info, "mpixq_posts", sizeof posts - 1, posts, &flag);
    fprintf(file, "posts: %s\n", posts);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(how, "host") == 0) {
        wait_by_host(&request);
    } else if (strcmp(how, "match") == 0) {
        match_again(&request);
    } else if (strncmp(how, "open", 4) == 0) {
        match_opening(stream, strcmp(how, "open-send") == 0);
    } else if (strncmp(how, "partitions", 10) == 0) {
        wait_for_partitions(queue, &request, strcmp(how, "partitions-queue") == 0);
    } else if (strncmp(how, "signal", 6) == 0) {
        wait_for_puts(queue, stream, &request, how);
    } else {
        wait_on_queue(queue, stream, &request, how);
    }
    fprintf(file, "channel: %s\n", channels);
    fclose(file);
    _exit(0);
}
