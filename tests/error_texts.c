/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What errors say: the function, the index of the request, and what it was made from. A text stays
 * when another error of its kind is made.
 */
#include <stdio.h>
#include <string.h>

#include "mtest.h"

enum { TAG = 7, INTS = 16, SHORT_INTS = 4, BIG = 100000, TEXTS = 5 };

static MPI_Comm halo; /* a duplicate of MPI_COMM_WORLD with this name */
static int peer;
static int buffer[BIG], in[BIG + INTS];

static void says_at(int line, int code, const char *expected)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    (void)MPI_Error_string(code, text, &length);
    if (strcmp(text, expected) != 0) {
        mtest_fail(__FILE__, line, "the text is \"%s\", expected \"%s\"", text, expected);
    }
}

/* The call fails with a kind and says this; error handlers were invoked once. */
#define SAYS(call, kind, ...)                                                                      \
    do {                                                                                           \
        char expected_[512];                                                                       \
        int code_;                                                                                 \
        (void)snprintf(expected_, sizeof expected_, __VA_ARGS__);                                  \
        MTEST_KIND((code_ = (call)), kind);                                                        \
        says_at(__LINE__, code_, expected_);                                                       \
    } while (0)

static MPI_Request make_send(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Send_init(buffer, INTS, MPI_INT, peer, TAG, comm, &r));
    return r;
}

static void test_enqueue(MPIX_Queue queue)
{
    MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, make_send(halo)};

    SAYS(MPIX_Enqueue_startall(queue, 3, r), MPIXQ_ERR_STATE,
         "MPIX_Enqueue_startall: requests[2] (send to %d tag 7 on halo, 64 bytes): the request is "
         "not matched: call MPIX_Match first",
         peer);
    SAYS(MPIX_Enqueue_start(queue, &r[2]), MPIXQ_ERR_STATE,
         "MPIX_Enqueue_start: request (send to %d tag 7 on halo, 64 bytes): the request is not "
         "matched: call MPIX_Match first",
         peer);
    SAYS(MPIX_Enqueue_wait(queue, &r[2]), MPIXQ_ERR_STATE,
         "MPIX_Enqueue_wait: request (send to %d tag 7 on halo, 64 bytes): the request is not "
         "matched: call MPIX_Match first",
         peer);
    SAYS(MPIX_Enqueue_waitall(queue, -7, r), MPIXQ_ERR_ARG,
         "MPIX_Enqueue_waitall: argument count: negative");
    SAYS(MPIX_Enqueue_start(queue, NULL), MPIXQ_ERR_ARG,
         "MPIX_Enqueue_start: argument request: the address is NULL");
    SAYS(MPIX_Enqueue_startall(queue, 1, NULL), MPIXQ_ERR_ARG,
         "MPIX_Enqueue_startall: argument requests: the array is NULL");
    SAYS(MPIX_Enqueue_startwaitall(queue, 3, r), MPIXQ_ERR_STATE,
         "MPIX_Enqueue_startwaitall: requests[2] (send to %d tag 7 on halo, 64 bytes): the request "
         "is not matched: call MPIX_Match first",
         peer);
    SAYS(MPIX_Enqueue_startwaitall(queue, MPIX_ALL_STARTED, r), MPIXQ_ERR_ARG,
         "MPIX_Enqueue_startwaitall: argument count: negative");
    SAYS(MPIX_Queue_wait(MPIX_QUEUE_NULL), MPIXQ_ERR_ARG,
         "MPIX_Queue_wait: argument queue: null, freed, or not a queue");
    SAYS(MPIX_Queue_test(queue, NULL), MPIXQ_ERR_ARG,
         "MPIX_Queue_test: argument flag: the address is NULL");
    SAYS(MPIX_Host_stream_launch(MPIX_HOST_STREAM_NULL, NULL, NULL), MPIXQ_ERR_ARG,
         "MPIX_Host_stream_launch: argument stream: null, destroyed, or not a host stream");
    MTEST_OK(MPI_Request_free(&r[2]));
}

static void test_match(void)
{
    MPI_Request r[2], other = MPI_REQUEST_NULL, match;
    MPI_Comm same;

    MTEST_OK(MPI_Ibarrier(halo, &other));
    r[0] = make_send(MPI_COMM_WORLD);
    r[1] = other;
    SAYS(MPIX_Matchall(2, r), MPIXQ_ERR_REQUEST,
         "MPIX_Matchall: requests[1]: not a persistent request of messages or of a collective that "
         "can be matched, or it was made by a call that did not come by libmpix_queue (PMPI, "
         "partitioned, before MPI_Init)");
    MTEST_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    r[1] = r[0];
    SAYS(MPIX_Imatchall(2, r, &match), MPIXQ_ERR_STATE,
         "MPIX_Imatchall: requests[1] (send to %d tag 7 on MPI_COMM_WORLD, 64 bytes): the request "
         "stands twice in the array",
         peer);
    MTEST_OK(MPI_Request_free(&r[0]));
    /* The communicator is gone, or has no name. */
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &same));
    MTEST_OK(MPI_Comm_set_name(same, ""));
    MTEST_OK(MPI_Recv_init(buffer, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, same, &r[0]));
    r[1] = r[0];
    SAYS(MPIX_Matchall(2, r), MPIXQ_ERR_STATE,
         "MPIX_Matchall: requests[1] (receive from any source any tag on a communicator of %d, 8 "
         "bytes): the request stands twice in the array",
         mtest_size);
    MTEST_OK(MPI_Comm_free(&same));
    SAYS(MPIX_Matchall(2, r), MPIXQ_ERR_STATE,
         "MPIX_Matchall: requests[1] (receive from any source any tag on a freed communicator of "
         "%d, 8 bytes): the request stands twice in the array",
         mtest_size);
    MTEST_OK(MPI_Request_free(&r[0]));
}

/* The other functions of MPI that refuse a request, here one that a queue owns. */
static void test_interposed(MPIX_Queue queue)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, mine, receive;
    int flag, index, count;

    MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, TAG, halo, &r[0]));
    MTEST_OK(MPI_Send_init(buffer, 1, MPI_INT, peer, TAG, halo, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
#define OWNED(function, which)                                                                     \
    function ": " which " (send to %d tag 7 on halo, 4 bytes): the request belongs to a queue "    \
             "until its enqueued wait has completed",                                              \
        peer
    receive = r[0];
    mine = r[1];
    r[0] = MPI_REQUEST_NULL;
    SAYS(MPI_Wait(&r[1], MPI_STATUS_IGNORE), MPIXQ_ERR_STATE, OWNED("MPI_Wait", "request"));
    SAYS(MPI_Waitall(2, r, MPI_STATUSES_IGNORE), MPIXQ_ERR_STATE,
         OWNED("MPI_Waitall", "requests[1]"));
    SAYS(MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE), MPIXQ_ERR_STATE,
         OWNED("MPI_Waitany", "requests[1]"));
    SAYS(MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE), MPIXQ_ERR_STATE, OWNED("MPI_Test", "request"));
    SAYS(MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE), MPIXQ_ERR_STATE,
         OWNED("MPI_Testall", "requests[1]"));
    SAYS(MPI_Testsome(2, r, &count, &index, MPI_STATUSES_IGNORE), MPIXQ_ERR_STATE,
         OWNED("MPI_Testsome", "requests[1]"));
    SAYS(MPI_Startall(1, &r[1]), MPIXQ_ERR_STATE, OWNED("MPI_Startall", "requests[0]"));
    SAYS(MPI_Start(&r[1]), MPIXQ_ERR_STATE, OWNED("MPI_Start", "request"));
    SAYS(MPI_Cancel(&r[1]), MPIXQ_ERR_STATE, OWNED("MPI_Cancel", "request"));
    SAYS(MPI_Request_free(&r[1]), MPIXQ_ERR_STATE, OWNED("MPI_Request_free", "request"));
    MTEST_CHECK(r[1] == mine);
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_free(&receive));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* Errors of one kind, one after the other: each keeps its text. */
static void test_texts_stay(MPIX_Queue queue)
{
    MPI_Request r[TEXTS];
    int codes[TEXTS];

    for (int i = 0; i < TEXTS; i++) {
        MTEST_OK(MPI_Send_init(buffer, i, MPI_INT, peer, i, halo, &r[i]));
        MTEST_KIND((codes[i] = MPIX_Enqueue_start(queue, &r[i])), MPIXQ_ERR_STATE);
    }
    for (int i = 0; i < TEXTS; i++) {
        char expected[256];

        (void)snprintf(expected, sizeof expected,
                       "MPIX_Enqueue_start: request (send to %d tag %d on halo, %d bytes): the "
                       "request is not matched: call MPIX_Match first",
                       peer, i, 4 * i);
        says_at(__LINE__, codes[i], expected);
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* The code's text begins so, or, where MPI keeps no texts of codes in its own class, MPI's is all
 * there is. */
static void begins_at(int line, int code, bool may_be_mpi, const char *expected)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    (void)MPI_Error_string(code, text, &length);
    if (strncmp(text, expected, strlen(expected)) != 0 &&
        !(may_be_mpi && strstr(text, "on halo") == NULL)) {
        mtest_fail(__FILE__, line, "the text is \"%s\", expected \"%s\" first", text, expected);
    }
}

#define BEGINS(call, kind, ...)                                                                    \
    do {                                                                                           \
        char expected_[512];                                                                       \
        int code_;                                                                                 \
        (void)snprintf(expected_, sizeof expected_, __VA_ARGS__);                                  \
        MTEST_KIND((code_ = (call)), kind);                                                        \
        begins_at(__LINE__, code_, false, expected_);                                              \
    } while (0)

/* A buffered send without a buffer, which MPI takes if it is small. */
static void make_bad(MPI_Request r[2])
{
    MTEST_OK(MPI_Bsend_init(buffer, BIG, MPI_INT, peer, TAG, halo, &r[0]));
    MTEST_OK(MPI_Recv_init(in, BIG + INTS, MPI_INT, peer, TAG, halo, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
}

/* What fails in a stream names the request that failed there in each call that hears of it. */
static void test_later(void)
{
    MPIX_Queue queues[2];
    MPI_Request r[2];
    int flag;

    make_bad(r);
    for (int i = 1; i >= 0; i--) {
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPIX_Enqueue_start(queues[i], &r[i]));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the receives have begun */
    }
#define SEND_FAILED                                                                                \
    ": queue failed at buffered send to %d tag 7 on halo, 400000 bytes: start failed (rank %d of " \
    "MPI_COMM_WORLD): ",                                                                           \
        peer, peer
#define RECEIVE_FAILED                                                                             \
    ": queue failed at receive from %d tag 7 on halo, 400000 bytes: the peer (rank %d of "         \
    "MPI_COMM_WORLD) reported a failure",                                                          \
        peer, peer
    for (int i = 0; i < 2; i++) {
        BEGINS(MPIX_Queue_wait(queues[0]), MPIXQ_ERR_COMM, "MPIX_Queue_wait" SEND_FAILED);
        BEGINS(MPIX_Queue_test(queues[0], &flag), MPIXQ_ERR_COMM, "MPIX_Queue_test" SEND_FAILED);
        BEGINS(MPIX_Enqueue_start(queues[0], &r[0]), MPIXQ_ERR_COMM,
               "MPIX_Enqueue_start" SEND_FAILED);
        BEGINS(MPIX_Enqueue_waitall(queues[0], 1, r), MPIXQ_ERR_COMM,
               "MPIX_Enqueue_waitall" SEND_FAILED);
        SAYS(MPIX_Queue_wait(queues[1]), MPIXQ_ERR_COMM, "MPIX_Queue_wait" RECEIVE_FAILED);
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Queue_free(&queues[i]));
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* The same where the host starts. */
static void test_later_by_host(void)
{
    MPI_Request r[2];
    struct mtest_errors before;
    int code = MPI_SUCCESS, flag = 0;
    char expected[256];

    make_bad(r);
    MTEST_OK(MPI_Start(&r[1]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_CLASS((code = MPI_Start(&r[0])), MPI_ERR_BUFFER);
    (void)snprintf(expected, sizeof expected,
                   "MPI_Start: request (buffered send to %d tag 7 on halo, 400000 bytes): ", peer);
    begins_at(__LINE__, code, true, expected);
#define PEER_FAILED                                                                                \
    " (receive from %d tag 7 on halo, 400064 bytes): the peer (rank %d of MPI_COMM_WORLD) "        \
    "reported "                                                                                    \
    "a "                                                                                           \
    "failure",                                                                                     \
        peer, peer
    do { /* until the news has come */
        before = mtest_errors();
        code = MPI_Request_get_status(r[1], &flag, MPI_STATUS_IGNORE);
    } while (code == MPI_SUCCESS && !flag);
    mtest_kind(__FILE__, __LINE__, "MPI_Request_get_status", code, MPIXQ_ERR_COMM, NULL, before);
    (void)snprintf(expected, sizeof expected, "MPI_Request_get_status: request" PEER_FAILED);
    says_at(__LINE__, code, expected);
    SAYS(MPI_Wait(&r[1], MPI_STATUS_IGNORE), MPIXQ_ERR_COMM, "MPI_Wait: request" PEER_FAILED);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* A queue that cannot be made: the text says what there is of the channel. */
static void test_init(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    BEGINS(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL), MPIXQ_ERR_UNSUPPORTED,
           "MPIX_Queue_init: argument type: MPIX_QUEUE_CXI cannot be used here, as the channel cxi "
           "is ");
}

/* The text, or what the library has written where MPI keeps no texts of codes in its own class. */
static void expect_truncated(int code, const char *written, const char *function, const char *which,
                             int here, int there)
{
    char text[MPI_MAX_ERROR_STRING] = "", expected[256];
    int length;

    (void)MPI_Error_string(code, text, &length);
    (void)snprintf(expected, sizeof expected,
                   "%s: requests[1] (%s %d tag 7 on halo, %d bytes): the receive is smaller than "
                   "the send: %d bytes here, at rank %d, and %d at the peer",
                   function, which, peer, here, here, mtest_rank, there);
    if (strcmp(text, expected) != 0 && strstr(written, expected) == NULL) {
        mtest_fail(__FILE__, __LINE__, "the text is \"%s\" and \"%s\", expected \"%s\"", text,
                   written, expected);
    }
}

/* Both ends hear of both sizes. */
static void test_truncated(void)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, match;
    char written[2048];
    int code = MPI_SUCCESS;

    mtest_capture();
    if (mtest_rank == 0) {
        r[1] = make_send(halo);
        MTEST_CLASS((code = MPIX_Matchall(2, r)), MPI_ERR_TRUNCATE);
    } else {
        MTEST_OK(MPI_Recv_init(buffer, SHORT_INTS, MPI_INT, peer, TAG, halo, &r[1]));
        MTEST_OK(MPIX_Imatchall(2, r, &match));
        MTEST_CLASS((code = MPI_Wait(&match, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
    }
    mtest_captured(written, sizeof written);
    if (mtest_rank == 0) {
        expect_truncated(code, written, "MPIX_Matchall", "send to", 4 * INTS, 4 * SHORT_INTS);
    } else {
        expect_truncated(code, written, "MPIX_Imatchall", "receive from", 4 * SHORT_INTS, 4 * INTS);
    }
    MTEST_OK(MPI_Request_free(&r[1]));
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &halo));
    MTEST_OK(MPI_Comm_set_name(halo, "halo"));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    test_enqueue(queue);
    test_match();
    test_interposed(queue);
    test_texts_stay(queue);
    test_truncated();
    test_later();
    test_later_by_host();
    test_init();
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_OK(MPI_Comm_free(&halo));
    return mtest_end();
}
