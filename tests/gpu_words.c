/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a stream of a GPU does by itself: it rings doorbells, each once and all before it says that
 * it has come there, unless it was halted; and it waits for words, or for the worker to open the
 * gate. Words of memory stand for doorbells, and the worker is given other words than the GPU, so
 * that it is seen who of the two waits. Waits can be held back.
 */
#include "mtest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "mtest_gpu.h"
#include "stream/gpu_stream.h"
#include "stream/stream.h"

enum { N = 70, BYTES = 4096, WORDS = BYTES / 8, FIRST = 3 };

struct bench {
    const struct mpixq_stream_kind *kind;
    const struct mpixq_stream_ops *ops; /* of it */
    struct mpixq_stream *stream;
    void *handle;
    atomic_int failed;
    _Atomic uint64_t *words; /* a page that the GPU sees at seen */
    char *seen;
    _Atomic uint64_t done, worker_waits_for;
    struct mpixq_exposed exposed[N]; /* the words from the FIRST on; for waits, the worker's */
    int called, called_on_gpu;       /* by the worker, for starts */
};

static void pause_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};

    (void)nanosleep(&t, NULL);
}

static void open_stream(struct bench *b)
{
    struct mpixq_refusal refusal = {0};

    b->handle = mtest_gpu_stream();
    atomic_store(&b->failed, 0);
    b->stream = b->ops->open(b->kind, b->handle, &b->failed, &refusal);
    MTEST_EQ(refusal.error, 0);
}

static void close_stream(struct bench *b)
{
    b->ops->close(b->stream);
    mtest_gpu_stream_end(b->handle);
}

static void clear(struct bench *b)
{
    for (int i = 0; i < WORDS; i++) {
        atomic_store(&b->words[i], 7);
    }
    atomic_store(&b->done, 0);
    atomic_store(&b->worker_waits_for, 0);
}

/* The word i after the FIRST, seen where the GPU sees it, stands for this memory. */
static const struct mpixq_exposed *expose(struct bench *b, int i, void *memory)
{
    b->exposed[i] = (struct mpixq_exposed){.memory = memory, .by = b->kind};
    atomic_store(&b->exposed[i].seen, b->seen + 8 * (FIRST + i));
    return &b->exposed[i];
}

static void count_calls(void *const args[], int n, bool on_gpu)
{
    struct bench *b = args[0];

    b->called += n;
    b->called_on_gpu += on_gpu ? n : 0;
}

/* Ring for n words, and store done. */
static void submit_starts(struct bench *b, int n)
{
    struct mpixq_op list[N + 1];

    for (int i = 0; i < n; i++) {
        mpixq_op_call(&list[i], MPIXQ_OP_RING, count_calls, b);
        list[i].gpu.exposed = expose(b, i, &b->words[FIRST + i]);
        list[i].copy = NULL;
    }
    mpixq_op_store(&list[n], &b->done, 1);
    b->called = b->called_on_gpu = 0;
    b->ops->synchronize(b->stream, b->ops->submit(b->stream, list, n + 1, NULL), NULL);
    MTEST_EQ(atomic_load(&b->done), 1);
    MTEST_EQ(b->called, n);
    MTEST_EQ(b->called_on_gpu, n);
}

/* Three times the same doorbell, of another kind of stream, of none, and a call. */
static void rings_what_it_sees(struct bench *b)
{
    struct mpixq_op list[6];

    clear(b);
    for (int i = 0; i < 6; i++) {
        mpixq_op_call(&list[i], i < 5 ? MPIXQ_OP_RING : MPIXQ_OP_CALL, count_calls, b);
        list[i].gpu.exposed = i < 4 ? expose(b, i == 3 ? 1 : 0, NULL) : NULL;
        list[i].copy = NULL;
    }
    b->exposed[1].by = NULL;
    b->called = b->called_on_gpu = 0;
    b->ops->synchronize(b->stream, b->ops->submit(b->stream, list, 6, NULL), NULL);
    MTEST_EQ(atomic_load(&b->words[FIRST]), 3);
    MTEST_EQ(atomic_load(&b->words[FIRST + 1]), 7);
    MTEST_EQ(b->called, 6);
    MTEST_EQ(b->called_on_gpu, 3);
}

/* Of all words, n are as rung and the others as before. */
static void check_words(struct bench *b, int n)
{
    for (int i = 0; i < WORDS; i++) {
        bool rung = i >= FIRST && i < FIRST + n;

        MTEST_EQ(atomic_load(&b->words[i]), rung ? 1 : 7);
    }
}

/* What it does by itself: as MPIXQ_GPU_OPS says. */
static bool is_as_asked(const struct bench *b)
{
    const char *asked = getenv("MPIXQ_GPU_OPS");
    bool by_values = asked != NULL && strcmp(asked, "values") == 0;

    if (!by_values && !b->stream->rings) {
        return false;
    }
    MTEST_EQ(b->stream->rings, !by_values);
    MTEST_EQ(b->stream->watches, strcmp(b->ops->how(b->stream), "kernels") == 0);
    return true;
}

static void rings(struct bench *b)
{
    static const int numbers[] = {1, 2, 31, 32, 33, 64, N};

    open_stream(b);
    if (b->stream->rings) {
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            clear(b);
            submit_starts(b, numbers[i]);
            check_words(b, numbers[i]);
        }
        rings_what_it_sees(b);
        /* None is left for the next start. */
        clear(b);
        submit_starts(b, 0);
        check_words(b, 0);
        b->ops->halt(b->stream);
        submit_starts(b, N);
        check_words(b, 0);
    }
    close_stream(b);
}

enum { LAST = 1000 + N }; /* no word is waited for until it is more */

/* A wait for n words, by the GPU, and for another one each by the worker; and an event behind it.
 */
static void *submit_wait(struct bench *b, int n, uint64_t *ticket_p)
{
    struct mpixq_op list[N];

    clear(b);
    for (int i = 0; i < n; i++) {
        mpixq_op_wait(&list[i], MPIXQ_OP_WAIT, NULL, &b->worker_waits_for, 1000 + (uint64_t)i,
                      &b->failed);
        list[i].gpu.exposed = expose(b, i, &b->worker_waits_for);
    }
    *ticket_p = b->ops->submit(b->stream, list, n, NULL);
    return mtest_gpu_event(b->handle);
}

/* The last of the words comes late, then the GPU goes on, though the worker does not. */
static void waits_for_words(struct bench *b, int n)
{
    uint64_t ticket;
    void *event = submit_wait(b, n, &ticket);

    for (int i = 1; i < n; i++) {
        atomic_store(&b->words[FIRST + i], 2000);
    }
    pause_ms(5);
    MTEST_CHECK(!mtest_gpu_event_fired(event));
    MTEST_CHECK(mpixq_gpu_any_waits());
    atomic_store(&b->words[FIRST], 1000);
    mtest_gpu_event_synchronize(event);
    MTEST_CHECK(!b->ops->passed(b->stream, ticket));
    MTEST_CHECK(!mpixq_gpu_any_waits());
    atomic_store(&b->worker_waits_for, LAST);
    b->ops->synchronize(b->stream, ticket, NULL);
    mtest_gpu_event_end(event);
}

/* The words never come; the worker's wait ends, or fails, and that opens the gate. */
static void passes_the_gate(struct bench *b, int n, bool fails)
{
    uint64_t ticket;
    void *event = submit_wait(b, n, &ticket);

    pause_ms(5);
    MTEST_CHECK(!mtest_gpu_event_fired(event));
    if (fails) {
        atomic_store(&b->failed, 1);
    } else {
        atomic_store(&b->worker_waits_for, LAST);
    }
    mtest_gpu_event_synchronize(event);
    b->ops->synchronize(b->stream, ticket, NULL);
    mtest_gpu_event_end(event);
}

static void waits(struct bench *b)
{
    open_stream(b);
    if (b->stream->watches) {
        waits_for_words(b, 1);
        waits_for_words(b, 32);
        waits_for_words(b, N);
        passes_the_gate(b, 1, false);
        passes_the_gate(b, N, false);
        passes_the_gate(b, N, true);
    }
    close_stream(b);
}

struct enqueuer {
    struct bench *bench;
    void *event;
    uint64_t ticket;
    atomic_int returned;
};

static void *enqueue_wait(void *arg)
{
    struct enqueuer *e = arg;

    e->event = submit_wait(e->bench, 1, &e->ticket);
    atomic_store(&e->returned, 1);
    return NULL;
}

/* While waits are held back none gets into the stream; while one is there, none is held back. */
static void holds_waits_back(struct bench *b)
{
    struct enqueuer e = {.bench = b};
    pthread_t thread;

    open_stream(b);
    MTEST_CHECK(mpixq_streams_pause_waits());
    MTEST_EQ(pthread_create(&thread, NULL, enqueue_wait, &e), 0);
    pause_ms(50);
    MTEST_EQ(atomic_load(&e.returned), 0);
    mpixq_streams_resume_waits();
    pthread_join(thread, NULL);
    MTEST_CHECK(!mpixq_streams_pause_waits());
    atomic_store(&b->words[FIRST], 1000);
    atomic_store(&b->worker_waits_for, LAST);
    b->ops->synchronize(b->stream, e.ticket, NULL);
    MTEST_CHECK(mpixq_streams_pause_waits());
    mpixq_streams_resume_waits();
    mtest_gpu_event_end(e.event);
    close_stream(b);
}

int main(int argc, char **argv)
{
    struct bench b = {.ops = NULL};
    void *page;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("no GPU is asked for (MTEST_STREAM)");
        return mtest_end();
    }
    b.kind = mpixq_stream_kind(mtest_gpu_kind());
    b.ops = b.kind->ops;
    open_stream(&b); /* which finds the vendor's library */
    page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MTEST_CHECK(page != MAP_FAILED);
    b.words = page;
    b.seen = b.ops->map(b.kind, page, BYTES, false);
    MTEST_CHECK(b.seen != NULL);
    if (!is_as_asked(&b)) {
        mtest_skip("this build has no kernels for this GPU");
    }
    close_stream(&b);
    if (b.seen != NULL) {
        rings(&b);
        waits(&b);
        holds_waits_back(&b);
        b.ops->unmap(b.kind, page);
    }
    (void)munmap(page, BYTES);
    return mtest_end();
}
