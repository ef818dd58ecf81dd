/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * queue_told.c - what a queue makes of it when the peer of a request says that it has failed: a
 * request is the queue's from its start to the end of its wait, and no longer
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "mpix_queue.h"

#include "match/match_internal.h"
#include "core/queue.h"
#include "stream/stream.h"
#include "request.h"

/* Of a link from this process to itself, which is served by the channel self. */
enum { SEND, RECEIVE, ENDS };
enum { FIRST, SECOND, LINKS };

static MPIXQ_Queue queue;
static MPI_Request ends[LINKS][ENDS];
static int out[LINKS], in[LINKS];

static void make(int i)
{
    MPI_Request *r = ends[i];

    (void)MPI_Send_init(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[SEND]);
    (void)MPI_Recv_init(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[RECEIVE]);
    assert_int_equal(MPIXQ_Matchall(ENDS, r), MPI_SUCCESS);
}

static void unmake(int i)
{
    for (int k = 0; k < ENDS; k++) {
        assert_int_equal(MPI_Request_free(&ends[i][k]), MPI_SUCCESS);
    }
}

static void open_queue(void)
{
    assert_int_equal(MPIXQ_Queue_init(&queue, MPIXQ_QUEUE_AUTO, NULL), MPI_SUCCESS);
}

static int set_up(void **state)
{
    (void)state;
    open_queue();
    make(FIRST);
    make(SECOND);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(MPIXQ_Queue_free(&queue), MPI_SUCCESS);
    unmake(FIRST);
    unmake(SECOND);
    return 0;
}

static void transfer(int i)
{
    out[i]++;
    assert_int_equal(MPIXQ_Enqueue_startall(queue, ENDS, ends[i]), MPI_SUCCESS);
    assert_int_equal(MPIXQ_Enqueue_waitall(queue, ENDS, ends[i]), MPI_SUCCESS);
    assert_int_equal(MPIXQ_Queue_wait(queue), MPI_SUCCESS);
    assert_int_equal(in[i], out[i]);
}

static void tell(uint64_t id)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_FAILURE, .u.failure.id = id};

    mpixq_match_enter();
    mpixq_match_record_failure(&record, 0);
    mpixq_match_leave();
}

static uint64_t id_of(MPI_Request request)
{
    return mpixq_request_find(request)->pair.id;
}

static void assert_comm(int rc)
{
    int kind;

    assert_int_equal(MPIXQ_Error_kind(rc, &kind), MPI_SUCCESS);
    assert_int_equal(kind, MPIXQ_ERR_COMM);
}

static void complete_is_not_the_queues(void **state)
{
    MPI_Request some[] = {ends[SECOND][SEND], ends[FIRST][RECEIVE], ends[SECOND][RECEIVE]};

    (void)state;
    transfer(FIRST);
    transfer(SECOND);
    tell(id_of(ends[FIRST][RECEIVE]));
    assert_int_equal(MPIXQ_Queue_wait(queue), MPI_SUCCESS);
    /* The call that would start it fails, each time, and starts nothing; all others do not. */
    for (int times = 0; times < 2; times++) {
        assert_comm(MPIXQ_Enqueue_startall(queue, 3, some));
        transfer(SECOND);
    }
    assert_comm(MPI_Start(&ends[FIRST][RECEIVE]));
    tell(id_of(ends[FIRST][SEND]));
    transfer(SECOND);
    assert_comm(MPIXQ_Enqueue_start(queue, &ends[FIRST][SEND]));
    assert_int_equal(MPIXQ_Queue_wait(queue), MPI_SUCCESS);
}

static void pending_is_the_queues(void **state)
{
    MPI_Request *receive = &ends[FIRST][RECEIVE];

    (void)state;
    transfer(FIRST);
    assert_int_equal(MPIXQ_Enqueue_start(queue, receive), MPI_SUCCESS);
    assert_int_equal(MPIXQ_Enqueue_wait(queue, receive), MPI_SUCCESS);
    tell(id_of(*receive));
    assert_comm(MPIXQ_Queue_wait(queue));
}

/* No wait is enqueued for it: so it is still the queue's, though there is nothing left to do. */
static void started_is_the_queues(void **state)
{
    (void)state;
    assert_int_equal(MPIXQ_Enqueue_startall(queue, ENDS, ends[FIRST]), MPI_SUCCESS);
    assert_int_equal(MPIXQ_Queue_wait(queue), MPI_SUCCESS);
    tell(id_of(ends[FIRST][SEND]));
    assert_comm(MPIXQ_Queue_wait(queue));
}

/* What MPI says becomes an error of ours that names the peer, also where nothing is logged. */
static void error_of_mpi_names_the_peer(void **state)
{
    struct mpixq_pair *pair = &mpixq_request_find(ends[FIRST][RECEIVE])->pair;
    char text[MPI_MAX_ERROR_STRING];
    int rc, length;

    (void)state;
    mpixq_queue_fail((struct mpixq_queue *)queue, pair, MPI_ERR_TRUNCATE, "MPI_Start");
    rc = MPIXQ_Queue_wait(queue);
    assert_comm(rc);
    assert_int_equal(MPI_Error_string(rc, text, &length), MPI_SUCCESS);
    if (strstr(text, "MPI_Start failed (rank 0 of MPI_COMM_WORLD): ") == NULL) {
        fail_msg("%s", text);
    }
}

static const struct mpixq_stream_ops *real_ops;
static int n_late;

static bool passed_late(const struct mpixq_stream *stream, uint64_t ticket)
{
    return --n_late < 0 && real_ops->passed(stream, ticket);
}

static bool is_there(const struct mpixq_stream *stream, uint64_t ticket)
{
    (void)stream;
    (void)ticket;
    return true;
}

/* A GPU has passed all, which the program may know, and the thread that follows it comes later. */
static void failed_is_free_once_the_thread_follows(void **state)
{
    struct mpixq_stream *stream = ((struct mpixq_queue *)queue)->stream;
    struct mpixq_stream_ops ops = *stream->ops;

    (void)state;
    assert_int_equal(MPIXQ_Enqueue_start(queue, &ends[FIRST][RECEIVE]), MPI_SUCCESS);
    tell(id_of(ends[FIRST][RECEIVE]));
    assert_comm(MPIXQ_Queue_wait(queue));
    real_ops = stream->ops;
    ops.passed = passed_late;
    ops.is_ahead = is_there;
    n_late = 100;
    stream->ops = &ops;
    unmake(FIRST);
    stream->ops = real_ops;
    make(FIRST);
}

static bool ended_early;

static void halt_late(struct mpixq_stream *stream)
{
    enum { LATE_US = 20000 };

    (void)usleep(LATE_US);
    ended_early = real_ops->passed(stream, ((struct mpixq_queue *)queue)->ticket);
    real_ops->halt(stream);
}

/* A GPU would go on behind them, and ring. */
static void waits_end_once_the_stream_is_halted(void **state)
{
    struct mpixq_stream *stream = ((struct mpixq_queue *)queue)->stream;
    struct mpixq_stream_ops ops = *stream->ops;

    (void)state;
    assert_int_equal(MPIXQ_Enqueue_start(queue, &ends[FIRST][RECEIVE]), MPI_SUCCESS);
    assert_int_equal(MPIXQ_Enqueue_wait(queue, &ends[FIRST][RECEIVE]), MPI_SUCCESS);
    real_ops = stream->ops;
    ops.halt = halt_late;
    ended_early = true;
    stream->ops = &ops;
    tell(id_of(ends[FIRST][RECEIVE]));
    assert_comm(MPIXQ_Queue_wait(queue));
    stream->ops = real_ops;
    assert_false(ended_early);
}

/* One thread starts what another one hears to have failed. */
static struct {
    atomic_int round;
    uint64_t id;
    int pause;
    atomic_int told;
} other;

static void spin(int n)
{
    for (volatile int i = 0; i < n; i++) {
    }
}

static void *tell_each_round(void *arg)
{
    int rounds = *(const int *)arg;

    for (int i = 1; i <= rounds; i++) {
        while (atomic_load(&other.round) < i) {
            sched_yield();
        }
        spin(other.pause);
        tell(other.id);
        atomic_store(&other.told, i);
    }
    return NULL;
}

/* True: the start was made, and so its failure is the queue's. */
static bool race(int round, uint64_t *random)
{
    int pause = unit_pick(random, 3000), rc;

    other.id = id_of(ends[FIRST][RECEIVE]);
    other.pause = unit_pick(random, 3000);
    atomic_store(&other.round, round);
    spin(pause);
    rc = MPIXQ_Enqueue_start(queue, &ends[FIRST][RECEIVE]);
    while (atomic_load(&other.told) < round) {
        sched_yield();
    }
    if (rc != MPI_SUCCESS) {
        assert_comm(rc);
        assert_int_equal(MPIXQ_Queue_wait(queue), MPI_SUCCESS);
        return false;
    }
    assert_true(mpixq_queue_has_failed((struct mpixq_queue *)queue));
    assert_int_equal(MPIXQ_Queue_free(&queue), MPI_SUCCESS);
    open_queue();
    return true;
}

static void start_meets_failure(void **state)
{
    int rounds = (int)unit_programs(500), n_made = 0;
    uint64_t random = 1;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, tell_each_round, &rounds), 0);
    for (int i = 1; i <= rounds; i++) {
        transfer(FIRST);
        n_made += race(i, &random);
        unmake(FIRST);
        make(FIRST);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_message("%d of %d starts were made before\n", n_made, rounds);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(complete_is_not_the_queues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pending_is_the_queues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(started_is_the_queues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(error_of_mpi_names_the_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_is_free_once_the_thread_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_end_once_the_stream_is_halted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(start_meets_failure, set_up, tear_down),
    };

    mpixq_env.log = -1; /* each failure is an error */
    (void)MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return cmocka_run_group_tests(tests, NULL, all_is_gone);
}

int main(int argc, char **argv)
{
    return run_with_mpi(&argc, &argv, run);
}
