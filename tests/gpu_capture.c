/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Streams that are captured into a graph, and the library beside them: it refuses what would wait
 * for the graph, and a start that cannot be put into it, answers the rest, and leaves the capture
 * valid, the one of the queue's own stream, of another stream and of another thread. A request
 * whose wait is pending meanwhile goes on.
 */
#include <pthread.h>
#include <string.h>

#include "gpu_pair.h"

enum { TAG = 60, BYTES = 3000, TIMES = 130, ROUNDS = 2 };
enum { GLOBAL, THREAD_LOCAL, RELAXED };

#define PER_THREAD ((void *)2)

static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*status)(void *stream, int *status);
    int (*exchange)(int *mode);
    int (*destroy)(void *graph);
    int (*create)(void **stream, unsigned flags);
    long (*calls)(const char *function); /* of the double only */
} api;

static int peer;

static bool find_api(void)
{
    bool hip = strcmp(mtest_gpu_kind(), "hipStream_t") == 0;

    *(void **)&api.begin =
        mtest_gpu_symbol(hip ? "hipStreamBeginCapture" : "cuStreamBeginCapture_v2");
    *(void **)&api.end = mtest_gpu_symbol(hip ? "hipStreamEndCapture" : "cuStreamEndCapture");
    *(void **)&api.status = mtest_gpu_symbol(hip ? "hipStreamIsCapturing" : "cuStreamIsCapturing");
    *(void **)&api.exchange = mtest_gpu_symbol(hip ? "hipThreadExchangeStreamCaptureMode"
                                                   : "cuThreadExchangeStreamCaptureMode");
    *(void **)&api.destroy = mtest_gpu_symbol(hip ? "hipGraphDestroy" : "cuGraphDestroy");
    *(void **)&api.create = mtest_gpu_symbol(hip ? "hipStreamCreateWithFlags" : "cuStreamCreate");
    *(void **)&api.calls = mtest_gpu_symbol("hip_double_calls");
    return api.begin != NULL && api.end != NULL && api.status != NULL && api.exchange != NULL &&
           api.destroy != NULL && api.create != NULL;
}

static void begin(void *stream, int mode)
{
    MTEST_EQ(api.begin(stream, mode), 0);
}

static void check_active(void *stream, const char *file, int line)
{
    int status = 0;

    if (api.status(stream, &status) != 0 || status != 1) {
        mtest_fail(file, line, "the capture is not valid any more (status %d)", status);
    }
}
#define ACTIVE(stream) check_active(stream, __FILE__, __LINE__)

static void end(void *stream)
{
    void *graph = NULL;

    MTEST_EQ(api.end(stream, &graph), 0);
    if (graph != NULL) {
        MTEST_EQ(api.destroy(graph), 0);
    }
}

/* The thread's mode is what the program has made it. */
static void check_mode(int expected)
{
    int mode = RELAXED;

    MTEST_EQ(api.exchange(&mode), 0);
    MTEST_EQ(mode, expected);
    MTEST_EQ(api.exchange(&mode), 0);
}

static void *blocking_stream(void)
{
    void *stream = NULL;

    MTEST_EQ(api.create(&stream, 0), 0);
    return stream;
}

static MPIX_Queue queue_on(void *stream)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    return queue;
}

/* A pair whose wait is in the stream of a queue, and whose other end is started by another one. */
struct half {
    struct gpu_pair pair;
    void *stream, *other;
    MPIX_Queue queue, sender;
};

static void half_begin(struct half *h, void *stream)
{
    h->stream = stream;
    h->other = mtest_gpu_stream();
    h->queue = queue_on(stream);
    h->sender = queue_on(h->other);
    gpu_pair_make(&h->pair, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, h->pair.r));
    MTEST_OK(MPIX_Enqueue_start(h->queue, &h->pair.r[0]));
    MTEST_OK(MPIX_Enqueue_wait(h->queue, &h->pair.r[0]));
    gpu_pair_get(&h->pair, h->stream, 0);
    gpu_pair_put(&h->pair, h->other, 0);
    mtest_gpu_synchronize(h->other);
}

static void half_send(struct half *h)
{
    MTEST_OK(MPIX_Enqueue_start(h->sender, &h->pair.r[1]));
    MTEST_OK(MPIX_Enqueue_wait(h->sender, &h->pair.r[1]));
    MTEST_OK(MPIX_Queue_wait(h->sender));
}

static void half_end(struct half *h, const char *what)
{
    MTEST_OK(MPIX_Queue_wait(h->queue));
    gpu_pair_exchange(&h->pair, h->queue, h->stream, 1);
    MTEST_OK(MPIX_Queue_wait(h->queue));
    mtest_gpu_synchronize(h->stream);
    gpu_pair_check(&h->pair, ROUNDS, what);
    gpu_pair_free(&h->pair);
    MTEST_OK(MPIX_Queue_free(&h->queue));
    MTEST_OK(MPIX_Queue_free(&h->sender));
    mtest_gpu_stream_end(h->other);
}

/* While the queue's stream cannot be used. */
static void ask(MPIX_Queue queue, int expected)
{
    MPIX_Queue same = queue;
    int flag = -1;

    for (int i = 0; i < TIMES; i++) {
        MTEST_OK(MPIX_Queue_test(queue, &flag));
        MTEST_EQ(flag, expected);
    }
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "captured");
    MTEST_KIND_TEXT(MPIX_Queue_free(&same), MPIXQ_ERR_STATE, "captured");
    MTEST_CHECK(same == queue);
}

static void *ask_pending(void *arg)
{
    ask(((struct half *)arg)->queue, 0);
    return NULL;
}

/* Can starts of its pair be captured: by kernels, on another channel than cxi? */
static bool is_captured(MPIX_Queue queue)
{
    char value[64] = "";
    bool by_cxi, by_kernels;
    MPI_Info info;
    int flag;

    MTEST_OK(MPIX_Queue_get_info(queue, &info));
    MTEST_OK(MPI_Info_get(info, "mpixq_channels", sizeof(value) - 1, value, &flag));
    by_cxi = flag && strstr(value, "cxi") != NULL;
    MTEST_OK(MPI_Info_get(info, "mpixq_stream_by", sizeof(value) - 1, value, &flag));
    by_kernels = flag && strcmp(value, "kernels") == 0;
    MTEST_OK(MPI_Info_free(&info));
    return !by_cxi && by_kernels;
}

/* A start is captured, once, or refused; nothing runs in either case. */
static void put_in(struct half *h, bool captured)
{
    MPI_Request *r = &h->pair.r[1];

    if (captured) {
        MTEST_OK(MPIX_Enqueue_start(h->queue, r));
        MTEST_KIND_TEXT(MPIX_Enqueue_startall(h->queue, 1, r), MPIXQ_ERR_STATE, "capture");
    } else {
        MTEST_KIND_TEXT(MPIX_Enqueue_start(h->queue, r), MPIXQ_ERR_UNSUPPORTED, "captured");
        MTEST_KIND_TEXT(MPIX_Enqueue_startall(h->queue, 1, r), MPIXQ_ERR_UNSUPPORTED, "captured");
    }
}

/* A queue on stream while captured is: the same, or one that keeps it from being used. */
static void test_asked(void *stream, void *captured, const char *what)
{
    struct half h;
    pthread_t thread;
    int flag = 0;
    bool takes;

    half_begin(&h, stream);
    takes = captured == stream && is_captured(h.queue);
    begin(captured, GLOBAL);
    (void)ask_pending(&h);
    put_in(&h, takes);
    ACTIVE(captured);
    if (stream != PER_THREAD) { /* another one in each thread */
        pthread_create(&thread, NULL, ask_pending, &h);
        pthread_join(thread, NULL);
        ACTIVE(captured);
    }
    /* Other queues do as ever, and what is pending comes; not before all have asked. */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    half_send(&h);
    for (unsigned tries = 0; flag == 0;) {
        MTEST_OK(MPIX_Queue_test(h.queue, &flag));
        mtest_backoff(&tries);
    }
    ask(h.queue, 1);
    ACTIVE(captured);
    end(captured);
    half_end(&h, what);
    check_mode(GLOBAL);
}

/* Everything that calls the GPU's library, with memory that was not used before. */
static void *do_all(void *arg)
{
    size_t bytes = *(size_t *)arg;
    MPIX_Queue queue;
    struct gpu_pair p;
    void *stream;
    int mode = RELAXED;

    /* The test's own allocations may not end the capture. */
    MTEST_EQ(api.exchange(&mode), 0);
    stream = mtest_gpu_stream();
    gpu_pair_make(&p, MTEST_DEVICE, bytes, peer, TAG + 1, ROUNDS);
    MTEST_EQ(api.exchange(&mode), 0);
    queue = queue_on(stream);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&p, queue, stream, round);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    check_mode(GLOBAL);
    MTEST_EQ(api.exchange(&mode), 0);
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&p, ROUNDS, "during a capture elsewhere");
    gpu_pair_free(&p);
    mtest_gpu_stream_end(stream);
    MTEST_EQ(api.exchange(&mode), 0);
    return NULL;
}

static void test_elsewhere(bool other_thread, size_t bytes)
{
    void *stream = mtest_gpu_stream();
    pthread_t thread;

    begin(stream, GLOBAL);
    if (other_thread) {
        pthread_create(&thread, NULL, do_all, &bytes);
        pthread_join(thread, NULL);
    } else {
        (void)do_all(&bytes);
    }
    ACTIVE(stream);
    end(stream);
    mtest_gpu_stream_end(stream);
}

static void test_refused(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    void *stream = mtest_gpu_stream();

    begin(stream, THREAD_LOCAL);
    MTEST_KIND_TEXT(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream), MPIXQ_ERR_UNSUPPORTED,
                    "captured");
    MTEST_CHECK(queue == MPIX_QUEUE_NULL);
    ACTIVE(stream);
    end(stream);
    mtest_gpu_stream_end(stream);
}

/* A start costs two calls for it, and so does a wait, of however many requests. */
static void test_calls(void)
{
    static const char name[] = "hipThreadExchangeStreamCaptureMode";
    void *stream = mtest_gpu_stream();
    MPIX_Queue queue = queue_on(stream);
    struct gpu_pair p;
    long before;

    gpu_pair_make(&p, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        before = api.calls != NULL ? api.calls(name) : 0;
        gpu_pair_exchange(&p, queue, stream, round);
        MTEST_EQ(api.calls != NULL ? api.calls(name) - before : 4, 4);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&p, ROUNDS, "counted");
    gpu_pair_free(&p);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

int main(int argc, char **argv)
{
    void *stream, *blocking;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || !find_api()) {
        mtest_skip("no GPU is asked for (MTEST_STREAM), or its library captures no streams");
        return mtest_end();
    }
    peer = mtest_size - 1 - mtest_rank;
    stream = mtest_gpu_stream();
    blocking = blocking_stream();
    test_asked(stream, stream, "a stream of the program");
    test_asked(blocking, blocking, "a stream that waits for the default stream");
    test_asked(NULL, blocking, "the default stream");
    test_asked(PER_THREAD, PER_THREAD, "the default stream of a thread");
    test_elsewhere(true, 20000);
    test_elsewhere(false, 40000);
    test_refused();
    test_calls();
    mtest_gpu_stream_end(stream);
    mtest_gpu_stream_end(blocking);
    return mtest_end();
}
