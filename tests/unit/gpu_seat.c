/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpu_seat.c - who uses a GPU, which no process ever asks another
 */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream/gpu_seat.h"

enum { SHARED = 's', ALONE = 'a', NONE = 'n' };

static char gpu[64], other_gpu[64]; /* of no other test */
static struct mpixq_gpu_seats seats = MPIXQ_GPU_SEATS_INITIALIZER;

/* Another process: it takes a seat, says what it sees, and runs until it is killed. */
struct neighbour {
    pid_t pid;
    int from, to; /* its ends of pipes */
};

static char look(const struct mpixq_gpu_seat *seat)
{
    return seat == NULL ? NONE : mpixq_gpu_seat_is_shared(seat) ? SHARED : ALONE;
}

/* For each byte that comes: N, take a seat at the GPU; O, at the other; L, leave the last. */
static void be_neighbour(int in, int out)
{
    struct mpixq_gpu_seat *seat = NULL;
    char order, seen;

    while (read(in, &order, 1) == 1) {
        if (order == 'L') {
            mpixq_gpu_seat_leave(seat);
            seat = NULL;
        } else {
            seat = mpixq_gpu_seat_take(&seats, "kind", order == 'N' ? gpu : other_gpu);
        }
        seen = look(seat);
        if (write(out, &seen, 1) != 1) {
            break;
        }
    }
    _exit(0);
}

static struct neighbour neighbour_begin(void)
{
    struct neighbour one;
    int in[2], out[2];

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    one.pid = fork();
    assert_true(one.pid >= 0);
    if (one.pid == 0) {
        close(in[1]);
        close(out[0]);
        be_neighbour(in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    one.to = in[1];
    one.from = out[0];
    return one;
}

static char tell(const struct neighbour *one, char order)
{
    char seen = 0;

    assert_int_equal(write(one->to, &order, 1), 1);
    assert_int_equal(read(one->from, &seen, 1), 1);
    return seen;
}

static void neighbour_kill(const struct neighbour *one)
{
    int status;

    assert_int_equal(kill(one->pid, SIGKILL), 0);
    assert_int_equal(waitpid(one->pid, &status, 0), one->pid);
    assert_true(WIFSIGNALED(status));
    close(one->to);
    close(one->from);
}

static void a_process_does_not_share_with_itself(void **state)
{
    struct mpixq_gpu_seat *first = mpixq_gpu_seat_take(&seats, "kind", gpu);
    struct mpixq_gpu_seat *second = mpixq_gpu_seat_take(&seats, "kind", gpu);
    struct mpixq_gpu_seat *other = mpixq_gpu_seat_take(&seats, "kind", other_gpu);

    (void)state;
    assert_int_equal(look(first), ALONE);
    assert_int_equal(look(second), ALONE);
    assert_int_equal(look(other), ALONE);
    mpixq_gpu_seat_leave(first);
    mpixq_gpu_seat_leave(other);
    assert_int_equal(look(second), ALONE);
    mpixq_gpu_seat_leave(second);
    mpixq_gpu_seat_leave(NULL);
}

static void others_come_and_go(void **state)
{
    struct neighbour one = neighbour_begin();
    struct mpixq_gpu_seat *seat, *again;

    (void)state;
    assert_int_equal(tell(&one, 'N'), ALONE);
    seat = mpixq_gpu_seat_take(&seats, "kind", gpu);
    assert_int_equal(look(seat), SHARED);
    assert_int_equal(tell(&one, 'L'), NONE);
    assert_int_equal(look(seat), ALONE);
    assert_int_equal(tell(&one, 'N'), SHARED);
    assert_int_equal(look(seat), SHARED);
    /* The second user of a seat keeps it. */
    again = mpixq_gpu_seat_take(&seats, "kind", gpu);
    mpixq_gpu_seat_leave(seat);
    assert_int_equal(look(again), SHARED);
    assert_int_equal(tell(&one, 'L'), NONE);
    assert_int_equal(tell(&one, 'N'), SHARED);
    mpixq_gpu_seat_leave(again);
    assert_int_equal(tell(&one, 'L'), NONE);
    assert_int_equal(tell(&one, 'N'), ALONE);
    neighbour_kill(&one);
}

static void only_those_at_the_same_gpu_count(void **state)
{
    struct neighbour one = neighbour_begin();
    struct mpixq_gpu_seat *seat = mpixq_gpu_seat_take(&seats, "kind", gpu);
    struct mpixq_gpu_seat *stranger = mpixq_gpu_seat_take(&seats, "other kind", gpu);

    (void)state;
    assert_int_equal(tell(&one, 'O'), ALONE);
    assert_int_equal(look(seat), ALONE);
    assert_int_equal(tell(&one, 'L'), NONE);
    assert_int_equal(tell(&one, 'N'), SHARED);
    assert_int_equal(look(seat), SHARED);
    assert_int_equal(look(stranger), ALONE);
    mpixq_gpu_seat_leave(seat);
    mpixq_gpu_seat_leave(stranger);
    neighbour_kill(&one);
}

static void a_process_that_was_killed_leaves_no_trace(void **state)
{
    struct neighbour one = neighbour_begin();
    struct mpixq_gpu_seat *seat = mpixq_gpu_seat_take(&seats, "kind", gpu);

    (void)state;
    assert_int_equal(tell(&one, 'N'), SHARED);
    assert_int_equal(look(seat), SHARED);
    neighbour_kill(&one);
    assert_int_equal(look(seat), ALONE);
    mpixq_gpu_seat_leave(seat);
}

/* As MPI libraries may, when they clear up. */
static void to_open_and_close_the_folder_changes_nothing(void **state)
{
    struct neighbour one = neighbour_begin();
    struct mpixq_gpu_seat *seat = mpixq_gpu_seat_take(&seats, "kind", gpu);
    FILE *folder = fopen("/dev/shm", "r");

    (void)state;
    assert_non_null(folder);
    (void)fclose(folder);
    assert_int_equal(tell(&one, 'N'), SHARED);
    mpixq_gpu_seat_leave(seat);
    neighbour_kill(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_does_not_share_with_itself),
        cmocka_unit_test(others_come_and_go),
        cmocka_unit_test(only_those_at_the_same_gpu_count),
        cmocka_unit_test(a_process_that_was_killed_leaves_no_trace),
        cmocka_unit_test(to_open_and_close_the_folder_changes_nothing),
    };

    (void)snprintf(gpu, sizeof gpu, "unit test %ld", (long)getpid());
    (void)snprintf(other_gpu, sizeof other_gpu, "unit test %ld too", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
