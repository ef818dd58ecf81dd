/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Large messages that go in shares by several NICs, around the sizes at which that begins and at
 * which it changes how they are divided:
 *
 *     cxi_stripe sizes N      each start is posted as that of so many shares as both ends have NICs
 *     cxi_stripe unequal      the ends have 2 and 4; with MPIXQ_INFO both are told so, once a NIC
 *     cxi_stripe limits       the larger limit of the two ends holds; the other end is told so
 *     cxi_stripe lacking      with MPIXQ_INFO it is told that a NIC has no counter left for a share
 *     cxi_stripe fail         one share fails: so does the pair, and nothing else
 *     cxi_stripe freed        the peer has freed its end
 *     cxi_stripe flight       sends are freed while their shares are under way
 *     cxi_stripe host         started and completed by the host
 *     cxi_stripe peer         the wait names what is missing, and the watchdog ends it
 *
 * With MTEST_BUFFER=device in memory of a GPU, by its streams. MPIXQ_STRIPE_KIB is 64.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { KIB = 1024, LIMIT = 64 * KIB, TAG = 3, ROUNDS = 4, GUARD = 16 };

static int peer;

/* Bytes in the memory that MTEST_BUFFER names, with guards before and behind, and a copy of them in
 * the host's. */
struct bytes {
    unsigned char *memory, *host;
    size_t n;
};

static void copy(void *to, const void *from, size_t n)
{
    if (mtest_gpu_memory() == MTEST_DEVICE) {
        mtest_gpu_copy_now(to, from, n);
    } else {
        memcpy(to, from, n);
    }
}

static void bytes_make(struct bytes *b, size_t n)
{
    b->n = n;
    b->memory = mtest_gpu_alloc(mtest_gpu_memory(), n + 2 * GUARD);
    b->host = malloc(n + 2 * GUARD);
    MTEST_CHECK(b->memory != NULL && b->host != NULL);
}

static void bytes_free(struct bytes *b)
{
    mtest_gpu_free(mtest_gpu_memory(), b->memory);
    free(b->host);
}

static void fill(struct bytes *b, int seed)
{
    memset(b->host, 0x5a, b->n + 2 * GUARD);
    for (size_t i = 0; seed >= 0 && i < b->n; i++) {
        b->host[GUARD + i] = mtest_pattern(seed, i);
    }
    copy(b->memory, b->host, b->n + 2 * GUARD);
}

static bool is_as_filled(const struct bytes *b, size_t n, int seed, size_t i)
{
    size_t at = i - GUARD;

    return b->host[i] == (i >= GUARD && at < n ? mtest_pattern(seed, at) : 0x5a);
}

/* The first n bytes have come, and no other was touched. */
static void expect(struct bytes *b, size_t n, int seed)
{
    size_t wrong = 0, first = 0;

    copy(b->host, b->memory, b->n + 2 * GUARD);
    for (size_t i = 0; i < b->n + 2 * GUARD; i++) {
        if (!is_as_filled(b, n, seed, i)) {
            first = wrong++ == 0 ? i : first;
        }
    }
    if (wrong > 0) {
        mtest_fail(__FILE__, __LINE__, "%zu of %zu bytes are wrong, the first %zu", wrong, n,
                   first - GUARD);
    }
}

static MPI_Request init(enum mtest_mode mode, const struct bytes *b, size_t n)
{
    MPI_Request r = MPI_REQUEST_NULL;

    if (mode == MTEST_RECV) {
        MTEST_OK(MPI_Recv_init(b->memory + GUARD, (int)n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(mtest_init_raw(mode, b->memory + GUARD, (int)n, MPI_BYTE, peer, TAG,
                                MPI_COMM_WORLD, &r));
    }
    return r;
}

/* Both ways, ROUNDS times; the receive has room for some more. Shares: of each message. */
static void exchange(MPIX_Queue queue, enum mtest_mode mode, size_t n, size_t room, int shares)
{
    struct bytes in, out;
    MPI_Request r[2];
    long posts = mtest_queue_count(queue, "mpixq_posts");
    long posts_of_each = mode == MTEST_RSEND ? 3 : 4;

    bytes_make(&in, n + room);
    bytes_make(&out, n);
    r[0] = init(MTEST_RECV, &in, n + room);
    r[1] = init(mode, &out, n);
    MTEST_OK(MPIX_Matchall(2, r));
    for (int k = 0; k < ROUNDS; k++) {
        fill(&in, -1);
        fill(&out, 10 * k + mtest_rank);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        expect(&in, n, 10 * k + peer);
        expect(&out, n, 10 * k + mtest_rank);
    }
    if (shares > 0) {
        MTEST_EQ(mtest_queue_count(queue, "mpixq_posts") - posts, posts_of_each * shares * ROUNDS);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    bytes_free(&in);
    bytes_free(&out);
}

static MPIX_Queue queue_make(MPIX_Host_stream *stream_p)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Host_stream_create(stream_p));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, stream_p));
    return queue;
}

static void queue_end(MPIX_Queue *queue, MPIX_Host_stream *stream)
{
    MTEST_OK(MPIX_Queue_free(queue));
    MTEST_OK(MPIX_Host_stream_destroy(stream));
}

/* Where senders tell, that is a post more of each share; and where entries are few, some are not
 * posted but done by the host. */
static int counted(int shares)
{
    bool tells = getenv("MPIXQ_CXI_DATA") != NULL || mtest_gpu_memory() == MTEST_DEVICE;

    return tells || getenv("MPIXQ_TRIGGERED_OPS") != NULL ? 0 : shares;
}

static void test_sizes(int shares)
{
    static const size_t near[] = {0, 1, 63, 64, 65, 127, 4095, 4096, 70001};
    MPIX_Host_stream stream;
    MPIX_Queue queue = queue_make(&stream);

    exchange(queue, MTEST_SEND, LIMIT - 1, 0, counted(1));
    exchange(queue, MTEST_SEND, 1, LIMIT, counted(1));
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        exchange(queue, MTEST_SEND, LIMIT + near[i], i % 2 * 1000, counted(shares));
        exchange(queue, MTEST_RSEND, LIMIT + near[i], 0, counted(shares));
    }
    exchange(queue, MTEST_SSEND, 3 * KIB * KIB + 5, 7, counted(shares));
    queue_end(&queue, &stream);
}

/* How often MPIXQ_INFO has told why messages are not divided as they could be: for this reason, and
 * for any. */
static void count_told(const char *text, const char *reason, int *n_p, int *all_p)
{
    static const char about[] = "is not divided among all NICs: ";

    *n_p = *all_p = 0;
    for (const char *at = strstr(text, about); at != NULL; at = strstr(at, about)) {
        at += sizeof about - 1;
        *n_p += strncmp(at, reason, strlen(reason)) == 0;
        ++*all_p;
    }
}

/* Rank 0 has less NICs than rank 1, or another limit than it, which is larger. */
static void test_told(bool by_limit)
{
    static char text[1 << 16];
    bool is_last = mtest_rank == 1;
    int n, all;

    mtest_capture();
    test_sizes(2);
    mtest_captured(text, sizeof text);
    count_told(text, is_last || by_limit ? "its peer has less for it" : "its peer has more for it",
               &n, &all);
    MTEST_EQ(n, all);
    if (is_last && by_limit) {
        MTEST_EQ(all, 0);
    } else {
        MTEST_CHECK(all >= 1 && all <= 4); /* NICs of the double */
    }
}

/* A start of either request, by rank 0, after rank 1 has freed its end. */
static void test_freed(void)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue = queue_make(&stream);

    for (int sends = 0; sends < 2; sends++) {
        struct bytes b;
        MPI_Request r;

        bytes_make(&b, 2 * LIMIT);
        fill(&b, 1);
        r = init((mtest_rank == 0) == (sends == 1) ? MTEST_RSEND : MTEST_RECV, &b, b.n);
        MTEST_OK(MPIX_Match(&r));
        if (mtest_rank != 0) {
            MTEST_OK(MPI_Request_free(&r));
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (mtest_rank == 0) {
            MTEST_KIND_TEXT(mtest_transfer(queue, &r), MPIXQ_ERR_COMM, NULL);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        queue_end(&queue, &stream);
        if (mtest_rank == 0) {
            MTEST_OK(MPI_Request_free(&r));
        }
        bytes_free(&b);
        queue = queue_make(&stream);
        exchange(queue, MTEST_SEND, LIMIT, 0, 0);
    }
    queue_end(&queue, &stream);
}

/* The double has the first write of rank 0 fail, or its second: so one share of its first send. */
static void test_fail(void)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue = queue_make(&stream);
    struct bytes b;
    MPI_Request r;

    bytes_make(&b, 2 * LIMIT);
    fill(&b, mtest_rank == 0 ? 5 : -1);
    r = init(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &b, b.n);
    MTEST_OK(MPIX_Match(&r));
    /* The receiver hears of it from its peer. */
    MTEST_KIND_TEXT(mtest_transfer(queue, &r), MPIXQ_ERR_COMM,
                    mtest_rank == 0 ? "write failed (rank 1" : "rank 0");
    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &r), MPIXQ_ERR_COMM, NULL);
    queue_end(&queue, &stream);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    bytes_free(&b);
    queue = queue_make(&stream);
    for (int i = 0; i < 3; i++) {
        exchange(queue, MTEST_SEND, 2 * LIMIT, 0, 0);
    }
    queue_end(&queue, &stream);
}

/* The send is freed as soon as the host has started it, and arrives. */
static void test_flight(void)
{
    for (int k = 0; k < 8; k++) {
        struct bytes in, out;
        MPI_Request r[2];

        bytes_make(&in, 4 * LIMIT);
        bytes_make(&out, 4 * LIMIT);
        fill(&in, -1);
        fill(&out, 10 * k + mtest_rank);
        r[0] = init(MTEST_RECV, &in, in.n);
        r[1] = init(MTEST_SEND, &out, out.n);
        MTEST_OK(MPIX_Matchall(2, r));
        MTEST_OK(MPI_Start(&r[1]));
        MTEST_OK(MPI_Request_free(&r[1]));
        MTEST_OK(MPI_Start(&r[0]));
        MTEST_OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        expect(&in, in.n, 10 * k + peer);
        MTEST_OK(MPI_Request_free(&r[0]));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* until the peer has received */
        bytes_free(&in);
        bytes_free(&out);
    }
}

static void test_host(void)
{
    struct bytes in, out;
    MPI_Request r[2];

    bytes_make(&in, 2 * LIMIT + 9);
    bytes_make(&out, 2 * LIMIT + 9);
    r[0] = init(MTEST_RECV, &in, in.n);
    r[1] = init(MTEST_SEND, &out, out.n);
    MTEST_OK(MPIX_Matchall(2, r));
    for (int k = 0; k < 3 * ROUNDS; k++) {
        MPI_Status status[2];
        int count = 0;

        fill(&in, -1);
        fill(&out, 10 * k + mtest_rank);
        MTEST_OK(MPI_Startall(2, r));
        MTEST_OK(MPI_Waitall(2, r, status));
        MTEST_OK(MPI_Get_count(&status[0], MPI_BYTE, &count));
        MTEST_EQ(count, in.n);
        expect(&in, in.n, 10 * k + peer);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    bytes_free(&in);
    bytes_free(&out);
}

/* The double has few counters on its second NIC. Messages whose shares lack one are whole, and all
 * of them arrive. */
static void test_lacking(void)
{
    enum { PAIRS = 24 };
    static char text[1 << 16];
    MPIX_Host_stream stream;
    MPIX_Queue queue = queue_make(&stream);
    struct bytes in[PAIRS], out[PAIRS];
    MPI_Request r[2 * PAIRS];
    int n, all;

    mtest_capture();
    for (int i = 0; i < PAIRS; i++) {
        bytes_make(&in[i], LIMIT);
        bytes_make(&out[i], LIMIT);
        fill(&in[i], -1);
        fill(&out[i], 10 * i + mtest_rank);
        r[2 * i] = init(MTEST_RECV, &in[i], LIMIT);
        r[2 * i + 1] = init(MTEST_SEND, &out[i], LIMIT);
        MTEST_OK(MPIX_Matchall(2, &r[2 * i]));
    }
    mtest_captured(text, sizeof text);
    count_told(text, "there is no end on another: ", &n, &all);
    MTEST_CHECK(n >= 1 && n <= 2); /* once a NIC */
    MTEST_OK(MPI_Startall(2 * PAIRS, r));
    MTEST_OK(MPI_Waitall(2 * PAIRS, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < PAIRS; i++) {
        expect(&in[i], LIMIT, 10 * i + peer);
        MTEST_OK(MPI_Request_free(&r[2 * i]));
        MTEST_OK(MPI_Request_free(&r[2 * i + 1]));
        bytes_free(&in[i]);
        bytes_free(&out[i]);
    }
    queue_end(&queue, &stream);
}

/* The sender never starts; with the watchdog, which gives up, the receive's wait is an error. */
static void test_peer(void)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue = queue_make(&stream);
    struct bytes b;
    MPI_Request r;

    bytes_make(&b, 2 * LIMIT);
    fill(&b, -1);
    r = init(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &b, b.n);
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 1) {
        char text[8192];

        mtest_capture();
        MTEST_KIND_TEXT(mtest_transfer(queue, &r), MPIXQ_ERR_TIMEOUT, NULL);
        mtest_captured(text, sizeof text);
        MTEST_CHECK(strstr(text, "it is started here and lacks the data") != NULL);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    queue_end(&queue, &stream);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    expect(&b, 0, 0);
    bytes_free(&b);
}

/* What the ends differ in. Returns how many shares a message above the limit has. */
static int differ(const char *what, int shares)
{
    if (strcmp(what, "unequal") == 0) {
        (void)setenv("MPIXQ_NICS", mtest_early_rank() == 0 ? "2" : "4", 1);
        return 2;
    }
    if (strcmp(what, "limits") == 0 && mtest_early_rank() == 0) {
        (void)setenv("MPIXQ_STRIPE_KIB", "16", 1);
    }
    if (strcmp(what, "fail") == 0 && mtest_early_rank() != 0) {
        (void)unsetenv("CXI_DOUBLE_FAULT");
    }
    return shares;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int shares = differ(what, argc > 2 ? atoi(argv[2]) : 2);

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (strcmp(what, "freed") == 0) {
        test_freed();
    } else if (strcmp(what, "fail") == 0) {
        test_fail();
    } else if (strcmp(what, "flight") == 0) {
        test_flight();
    } else if (strcmp(what, "host") == 0) {
        test_host();
    } else if (strcmp(what, "peer") == 0) {
        test_peer();
    } else if (strcmp(what, "lacking") == 0) {
        test_lacking();
    } else if (strcmp(what, "unequal") == 0 || strcmp(what, "limits") == 0) {
        test_told(strcmp(what, "limits") == 0);
    } else {
        test_sizes(shares);
    }
    return mtest_end();
}
