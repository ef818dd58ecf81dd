/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pull.c - memory of another process is read if it is that of a live window of it: not where it
 * cannot be read, nor behind the end of the window, nor of a process that is gone or another one
 */
#include "unit.h"

#include "rma/pull.h"
#include "util/env.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, BYTES = 3 * PAGE, GUARD = 64 };

static struct mpixq_window *window;
static char *memory; /* of which the last page cannot be read */

/* The other process has this window and this memory, but what is in it. */
static struct {
    pid_t pid;
    int to, from;
} other;

/* It obeys one letter each. */
static void serve(int from, int to)
{
    char order;

    memset(memory, 2, BYTES - PAGE);
    while (read(from, &order, 1) == 1) {
        if (order == 'e') {
            mpixq_rma_pull_end(window);
        }
        (void)!write(to, &order, 1);
    }
    _exit(0);
}

static void obey(char order)
{
    char answer = 0;

    assert_int_equal(write(other.to, &order, 1), 1);
    assert_int_equal(read(other.from, &answer, 1), 1);
    assert_int_equal(answer, order);
}

static int begin(void **state)
{
    int there[2], back[2];

    (void)state;
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    window = mpixq_rma_object_new(MPIXQ_RMA_WINDOW, sizeof *window);
    if (memory == MAP_FAILED || window == NULL || pipe(there) != 0 || pipe(back) != 0 ||
        mprotect(memory + BYTES - PAGE, PAGE, PROT_NONE) != 0) {
        return -1;
    }
    memset(memory, 1, BYTES - PAGE);
    mpixq_env.cma = MPIXQ_CMA_AUTO;
    mpixq_rma_pull_open(window);
    other.pid = fork();
    if (other.pid == 0) {
        (void)close(there[1]);
        (void)close(back[0]);
        serve(there[0], back[1]);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    other.to = there[1];
    other.from = back[0];
    return other.pid > 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    (void)close(other.to);
    (void)close(other.from);
    (void)waitpid(other.pid, NULL, 0); /* it may have been waited for */
    (void)munmap(memory, BYTES);
    memset(window, 0, sizeof *window);
    return 0;
}

/* As it tells others when the window is made. */
static struct mpixq_rma_neighbour neighbour_of(void)
{
    struct mpixq_rma_neighbour neighbour = {.process.pid = (uint64_t)other.pid,
                                            .mark = atomic_load(&window->mark),
                                            .mark_at = (uint64_t)(uintptr_t)&window->mark};
    char byte;
    const struct iovec here = {&byte, 1}, there = {memory, 1};

    obey('.');
    if (process_vm_readv(other.pid, &here, 1, &there, 1, 0) < 0 &&
        (errno == EPERM || errno == ENOSYS)) {
        print_message("skipped: no process may read another one here\n");
        skip();
    }
    neighbour.can_read = mpixq_rma_pull_can(window, &neighbour);
    assert_true(neighbour.can_read);
    return neighbour;
}

static bool pull(const struct mpixq_rma_neighbour *neighbour, char *to, const char *from, size_t n)
{
    return mpixq_rma_pull(neighbour, to, (uint64_t)(uintptr_t)from, n);
}

static void reads_the_other(void **state)
{
    struct mpixq_rma_neighbour neighbour = neighbour_of();
    char got[GUARD + BYTES];

    (void)state;
    for (size_t n = 1; n <= BYTES - PAGE; n = 3 * n + 1) {
        memset(got, 7, sizeof got);
        assert_true(pull(&neighbour, got + GUARD, memory + BYTES - PAGE - n, n));
        for (size_t i = 0; i < sizeof got; i++) {
            assert_int_equal(got[i], i >= GUARD && i < GUARD + n ? 2 : 7);
        }
    }
    assert_int_equal(memory[0], 1);
}

static void not_what_cannot_be_read(void **state)
{
    struct mpixq_rma_neighbour neighbour = neighbour_of();
    char got[BYTES];

    (void)state;
    assert_false(pull(&neighbour, got, memory, BYTES));
    assert_false(pull(&neighbour, got, memory + BYTES - PAGE, 1));
    assert_false(pull(&neighbour, got, NULL, 1));
    assert_false(pull(NULL, got, memory, 1));
    assert_true(pull(&neighbour, got, memory, 1));
}

static void not_behind_the_end(void **state)
{
    struct mpixq_rma_neighbour neighbour = neighbour_of();
    char got[1];

    (void)state;
    assert_true(pull(&neighbour, got, memory, 1));
    obey('e');
    assert_false(pull(&neighbour, got, memory, 1));
    assert_false(mpixq_rma_pull_can(window, &neighbour));
}

static void not_another_one(void **state)
{
    struct mpixq_rma_neighbour neighbour = neighbour_of();
    char got[1];

    (void)state;
    neighbour.mark += 2; /* as if the number were that of a later process */
    assert_false(pull(&neighbour, got, memory, 1));
    neighbour.mark -= 2;
    (void)close(other.to);
    assert_int_equal(waitpid(other.pid, NULL, 0), other.pid);
    assert_false(pull(&neighbour, got, memory, 1));
}

static void not_where_one_does_not_want_to(void **state)
{
    struct mpixq_rma_neighbour neighbour = neighbour_of();

    (void)state;
    neighbour.mark = 0; /* the other one */
    assert_false(mpixq_rma_pull_can(window, &neighbour));
    neighbour.mark = atomic_load(&window->mark);
    mpixq_env.cma = MPIXQ_CMA_NO;
    mpixq_rma_pull_open(window);
    assert_int_equal(atomic_load(&window->mark), 0);
    assert_false(mpixq_rma_pull_can(window, &neighbour));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_the_other, begin, end),
        cmocka_unit_test_setup_teardown(not_what_cannot_be_read, begin, end),
        cmocka_unit_test_setup_teardown(not_behind_the_end, begin, end),
        cmocka_unit_test_setup_teardown(not_another_one, begin, end),
        cmocka_unit_test_setup_teardown(not_where_one_does_not_want_to, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
