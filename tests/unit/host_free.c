/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * host_free.c - requests that are freed while the host's starts of them are active: a thread whose
 * look at one of them takes long, as a GPU's library may take, keeps no other thread from its own;
 * and requests that a replay has started, of whose end the host is told late, or of which nobody
 * has seen that they were started when their graph is gone
 */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <utlist.h>

#include "mpix_queue.h"

#include "core/channel.h"
#include "core/graphs_made.h"
#include "request.h"

enum { PAIRS = 2 };

static int in[PAIRS] = {-1, -1}, out[PAIRS] = {7, 8};
static MPI_Request receives[PAIRS], sends[PAIRS];
static const struct mpixq_channel *real;
static struct mpixq_channel slow;
static atomic_bool is_looking, may_go_on, gave_up;

static void pause_ms(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* The first look lasts until it is told to end. */
static bool poll_slowly(struct mpixq_pair *pair)
{
    enum { LONG = 20000 };

    if (!atomic_exchange(&is_looking, true)) {
        for (int ms = 0; !atomic_load(&may_go_on) && ms < LONG; ms++) {
            pause_ms(1);
        }
        atomic_store(&gave_up, !atomic_load(&may_go_on));
    }
    return real->poll(pair);
}

static void *free_first(void *arg)
{
    (void)arg;
    return MPI_Request_free(&receives[0]) == MPI_SUCCESS ? NULL : &gave_up;
}

static void start(int i)
{
    (void)MPI_Recv_init(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &receives[i]);
    (void)MPI_Send_init(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &sends[i]);
    assert_int_equal(MPIXQ_Matchall(2, (MPI_Request[]){receives[i], sends[i]}), MPI_SUCCESS);
    assert_int_equal(MPI_Start(&receives[i]), MPI_SUCCESS);
}

static void nobody_waits(void **state)
{
    struct mpixq_request *req;
    pthread_t thread;
    void *wrong;

    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        start(i);
    }
    req = mpixq_request_find(receives[0]);
    real = req->pair.channel;
    slow = *real;
    slow.poll = poll_slowly;
    req->pair.channel = &slow;
    assert_int_equal(pthread_create(&thread, NULL, free_first, NULL), 0);
    while (!atomic_load(&is_looking)) {
        pause_ms(1);
    }
    assert_int_equal(MPI_Request_free(&receives[1]), MPI_SUCCESS);
    atomic_store(&may_go_on, true);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    assert_false(atomic_load(&gave_up));
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(MPI_Start(&sends[i]), MPI_SUCCESS);
        assert_int_equal(MPI_Wait(&sends[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
        assert_int_equal(MPI_Request_free(&sends[i]), MPI_SUCCESS);
        assert_int_equal(in[i], out[i]);
    }
}

/* What the GPU says: one start, whose end shows from the third look of the program on. Threads of
 * the library look too. */
static pthread_t program;
static atomic_int looks;

static enum mpixq_error refresh_late(struct mpixq_pair *pair)
{
    if (pthread_equal(pthread_self(), program) && atomic_fetch_add(&looks, 1) + 1 == 3) {
        mpixq_pair_raise_done(pair, mpixq_pair_started(pair));
        atomic_store(&atomic_load(&pair->counted)->n_graphs, 0);
    }
    return MPIXQ_E_NONE;
}

static void do_nothing(struct mpixq_pair *pair)
{
    (void)pair;
}

static const struct mpixq_channel_graphs told_late = {
    .begin = do_nothing, .refresh = refresh_late, .halt = do_nothing, .close = do_nothing};

/* As if a graph had started it, which has ended; so many graphs are there still. */
static void replay(MPI_Request request, struct mpixq_channel *channel,
                   const struct mpixq_channel_graphs *graphs, unsigned n_graphs)
{
    struct mpixq_pair *pair = &mpixq_request_find(request)->pair;
    struct mpixq_counted *counted = mpixq_alloc(sizeof *counted); /* the library frees it */

    assert_non_null(counted);
    *channel = *pair->channel;
    channel->graphs = graphs;
    pair->channel = channel;
    counted->pair = pair;
    counted->n_graphs = n_graphs;
    program = pthread_self();
    atomic_store(&looks, 0);
    atomic_store(&pair->counted, counted);
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_APPEND(mpixq_graphs_made.counted, counted);
    mpixq_lock_release(&mpixq_graphs_made.lock);
    atomic_fetch_add(&mpixq_graphs_made.n_counted, 1);
}

/* A receive and a send of this process, matched. */
static void make_pair(MPI_Request pair[2])
{
    (void)MPI_Recv_init(&in[0], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &pair[0]);
    (void)MPI_Send_init(&out[0], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &pair[1]);
    assert_int_equal(MPIXQ_Matchall(2, pair), MPI_SUCCESS);
}

static void host_is_told_late(void **state)
{
    static struct mpixq_channel channels[2];
    MPI_Request pair[2];

    (void)state;
    make_pair(pair);
    for (int i = 0; i < 2; i++) {
        struct mpixq_pair *one = &mpixq_request_find(pair[i])->pair;

        replay(pair[i], &channels[i], &told_late, 1);
        mpixq_pair_raise_started(one, mpixq_pair_started(one) + 1);
        assert_int_equal(MPI_Request_free(&pair[i]), MPI_SUCCESS);
        assert_true(atomic_load(&looks) >= 3);
    }
}

/* What the GPU says: two starts, which have completed. No thread of the library has looked. */
enum { REPLAYS = 2 };

static enum mpixq_error refresh_all(struct mpixq_pair *pair)
{
    if (pthread_equal(pthread_self(), program)) {
        mpixq_pair_raise_started(pair, REPLAYS);
        mpixq_pair_raise_done(pair, REPLAYS);
    }
    return MPIXQ_E_NONE;
}

static const struct mpixq_channel_graphs told_at_once = {
    .begin = do_nothing, .refresh = refresh_all, .halt = do_nothing, .close = do_nothing};

/* What a channel goes by when it gives words, slots and tags to the next pair: at the free of the
 * request, and once the peer has told of its own. */
static struct seen {
    uint64_t started, done, peer;
} released[2], retired[2];
static int n_released, n_retired;
static const struct mpixq_channel *real_end;

static struct seen look_at(const struct mpixq_pair *pair)
{
    return (struct seen){.started = mpixq_pair_started(pair),
                         .done = mpixq_pair_done(pair),
                         .peer = mpixq_pair_peer_starts(pair)};
}

static void note_release(struct mpixq_pair *pair)
{
    released[n_released++ % 2] = look_at(pair);
    real_end->release(pair);
}

static bool note_retire(struct mpixq_pair *pair)
{
    retired[n_retired++ % 2] = look_at(pair);
    return real_end->retire(pair);
}

static void nobody_has_looked(void **state)
{
    static struct mpixq_channel channels[2];
    MPI_Request pair[2];

    (void)state;
    make_pair(pair);
    for (int i = 0; i < 2; i++) {
        real_end = mpixq_request_find(pair[i])->pair.channel;
        replay(pair[i], &channels[i], &told_at_once, 0);
        channels[i].release = note_release;
        channels[i].retire = note_retire;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(MPI_Request_free(&pair[i]), MPI_SUCCESS);
    }
    assert_int_equal(n_released, 2);
    assert_int_equal(n_retired, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(released[i].started, REPLAYS);
        assert_int_equal(released[i].done, REPLAYS);
        assert_int_equal(retired[i].started, REPLAYS);
        assert_int_equal(retired[i].done, REPLAYS);
        assert_int_equal(retired[i].peer, REPLAYS);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits),
        cmocka_unit_test(host_is_told_late),
        cmocka_unit_test(nobody_has_looked),
    };

    return cmocka_run_group_tests(tests, NULL, all_is_gone);
}

int main(int argc, char **argv)
{
    return run_with_mpi(&argc, &argv, run);
}
