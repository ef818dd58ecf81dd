/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * host_free.c - requests that are freed while the host's starts of them are active: a thread whose
 * look at one of them takes long, as a GPU's library may take, keeps no other thread from its own
 */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "mpix_queue.h"

#include "core/channel.h"
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

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits),
    };

    return cmocka_run_group_tests(tests, NULL, all_is_gone);
}

int main(int argc, char **argv)
{
    return run_with_mpi(&argc, &argv, run);
}
