/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * window_share.c - windows that processes of a node share: two of one process, which tell each
 * other of their memory as two processes would, put, count and leave notes; what is told and is not
 * so is refused; and a window that nobody can share has memory all the same
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rma/shared.h"
#include "rma/rma.h"
#include "rma/signal_word.h"
#include "rma/window.h"
#include "util/env.h"

enum { BYTES = 10000, OFFSET = 100, LENGTH = 5000, INDEX = 3, RANK = 6 };

/* Where in what a window tells of itself a number stands. */
enum { FORM = 0, PID = 3, BIRTH = 4, FILE_NUMBER = 5, MARK = 6, SIZE = 7, WORDS = 8, NUMBERS = 9 };

static struct mpixq_window ours, theirs;
static const struct mpixq_channel_windows *ops;
static struct mpixq_nic_window *here, *there;
static unsigned char blob[MPIXQ_NIC_BLOB];
static size_t blob_bytes;

static void take(struct mpixq_window *window, uint64_t bytes)
{
    const struct mpixq_window_spec spec = {.bytes = bytes, .allocates = true};

    memset(window, 0, sizeof *window);
    window->owns_base = bytes > 0;
    mpixq_rma_memory_take(window, &spec);
    assert_non_null(window->words);
}

static int setup(void **state)
{
    (void)state;
    mpixq_env.shared_windows = MPIXQ_SHARED_WINDOWS_AUTO;
    take(&ours, BYTES);
    take(&theirs, BYTES);
    assert_non_null(ours.shared);
    assert_non_null(theirs.shared);
    ops = mpixq_rma_shared_windows();
    here = mpixq_rma_shared_open(ours.shared, RANK);
    there = mpixq_rma_shared_open(theirs.shared, RANK + 1);
    blob_bytes = ops->tell(there, blob);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ops->close(here);
    ops->close(there);
    mpixq_rma_memory_give(&ours);
    mpixq_rma_memory_give(&theirs);
    return 0;
}

static void test_memory(void **state)
{
    (void)state;
    assert_int_equal((uintptr_t)ours.base % 4096, 0);
    assert_int_equal((uintptr_t)ours.words % 4096, 0);
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(ours.base[i], 0);
    }
    assert_int_equal(atomic_load(&ours.words[MPIXQ_RMA_PLACES - 1].host), 0);
    assert_int_equal(ops->nics(here), 1);
}

static uint64_t word_of(int index)
{
    return (uint64_t)(index - 1) * sizeof(struct mpixq_signal_words) +
           offsetof(struct mpixq_signal_words, nic);
}

/* The whole of a put, or of a get, that tells a signal. */
static struct mpixq_nic_part whole(struct mpixq_nic_peer *peer, bool is_get, char *data)
{
    return (struct mpixq_nic_part){.peer = peer,
                                   .is_get = is_get,
                                   .data = data,
                                   .offset = OFFSET,
                                   .bytes = LENGTH,
                                   .tells = true,
                                   .word = word_of(INDEX),
                                   .addend = (uint64_t)mpixq_signal_addend(0, 1),
                                   .arg = &ours};
}

/* All of it arrives where it belongs, nothing beside it changes, and the word counts it. */
static void test_put(void **state)
{
    const char *why = "never asked";
    struct mpixq_nic_peer *peer = ops->meet(here, blob, blob_bytes, &why);
    struct mpixq_signal_words *words = &theirs.words[INDEX - 1];
    struct mpixq_nic_part part = whole(peer, false, ours.base);
    uint64_t piece = 0;
    void *over;

    (void)state;
    assert_non_null(peer);
    assert_null(why);
    assert_int_equal(ops->bytes(peer), BYTES);
    assert_int_equal(ops->parts(here, LENGTH, &piece), 1);
    assert_false(ops->has_lost(peer));
    memset(ours.base, 'o', BYTES);
    memset(theirs.base, 't', BYTES);
    atomic_store(&words->host, 1);
    assert_false(ops->take(here, &over, &why));
    assert_true(ops->start(&part));
    assert_false(ops->start(&part)); /* one at a time */
    assert_true(ops->take(here, &over, &why));
    assert_ptr_equal(over, &ours);
    assert_null(why);
    assert_false(ops->take(here, &over, &why));
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(theirs.base[i], i >= OFFSET && i < OFFSET + LENGTH ? 'o' : 't');
    }
    assert_int_equal(atomic_load(&words->host) + atomic_load(&words->nic[0]), 0);
    assert_int_equal(atomic_load(&words->surplus_by), 0);
    assert_int_equal(atomic_load(&theirs.words[INDEX].nic[0]), 0);

    /* One more is one too many, of which the first is told. */
    for (int i = 0; i < 2; i++) {
        part.offset = i == 0 ? OFFSET + 1 : OFFSET + 2;
        assert_true(ops->start(&part));
        assert_true(ops->take(here, &over, &why));
    }
    assert_int_equal(atomic_load(&words->surplus_by), RANK + 1);
    assert_int_equal(atomic_load(&words->surplus_at), OFFSET + 1);
}

/* The same the other way, and nothing is written but here and to the word. */
static void test_get(void **state)
{
    const char *why;
    struct mpixq_nic_peer *peer = ops->meet(here, blob, blob_bytes, &why);
    struct mpixq_signal_words *words = &theirs.words[INDEX - 1];
    struct mpixq_nic_part part = whole(peer, true, ours.base + 1);
    void *over;

    (void)state;
    assert_true(ops->has_gets);
    assert_non_null(peer);
    memset(ours.base, 'o', BYTES);
    for (int i = 0; i < BYTES; i++) {
        theirs.base[i] = (char)(i % 101);
    }
    atomic_store(&words->host, 1);
    assert_true(ops->start(&part));
    assert_true(ops->take(here, &over, &why));
    assert_ptr_equal(over, &ours);
    assert_null(why);
    for (int i = 0; i < BYTES; i++) {
        bool is_got = i >= 1 && i < 1 + LENGTH;

        assert_int_equal(ours.base[i], is_got ? (OFFSET + i - 1) % 101 : 'o');
        assert_int_equal(theirs.base[i], i % 101);
    }
    assert_int_equal(atomic_load(&words->host) + atomic_load(&words->nic[0]), 0);
}

/* Between pieces of a large put others get the lock. */
static void test_pieces(void **state)
{
    enum { LARGE = 3 << 20 };
    struct mpixq_nic_peer *peer;
    struct mpixq_nic_part part;
    uint64_t piece = 0, parts;
    const char *why;
    void *over;

    (void)state;
    teardown(NULL);
    take(&ours, LARGE);
    take(&theirs, LARGE);
    here = mpixq_rma_shared_open(ours.shared, RANK);
    there = mpixq_rma_shared_open(theirs.shared, RANK + 1);
    blob_bytes = ops->tell(there, blob);
    peer = ops->meet(here, blob, blob_bytes, &why);
    assert_non_null(peer);
    parts = ops->parts(here, LARGE, &piece);
    assert_int_equal(parts, 3);
    assert_int_equal(piece, 1 << 20);
    part = (struct mpixq_nic_part){.peer = peer, .data = ours.base, .bytes = piece, .arg = &ours};
    assert_true(ops->start(&part));
    assert_true(ops->take(here, &over, &why));
    assert_false(ops->start(&part)); /* for now */
    assert_false(ops->take(here, &over, &why));
    assert_true(ops->start(&part));
    parts = ops->parts(here, UINT64_MAX, &piece);
    assert_int_equal(parts, (UINT64_MAX - 1) / piece + 1);
    assert_true(parts <= MPIXQ_SIGNAL_PARTS);
}

static void refuse(int number, uint64_t change, const char *begin)
{
    uint64_t told[NUMBERS];
    const char *why = NULL;

    assert_int_equal(blob_bytes, sizeof told);
    memcpy(told, blob, sizeof told);
    told[number] += change;
    assert_null(ops->meet(here, told, sizeof told, &why));
    assert_non_null(why);
    if (strncmp(why, begin, strlen(begin)) != 0) {
        fail_msg("number %d: \"%s\" does not begin with \"%s\"", number, why, begin);
    }
}

static void test_refuses(void **state)
{
    const char *why = NULL;

    (void)state;
    assert_null(ops->meet(here, blob, blob_bytes - 1, &why));
    assert_non_null(why);
    refuse(FORM, 1, "what it says");
    refuse(WORDS, 8, "what it says");
    refuse(SIZE, (uint64_t)1 << 61, "what it says");
    refuse(PID, 1u << 29, "it is on another node");
    refuse(FILE_NUMBER, 1u << 20, "its memory cannot be opened");
    refuse(MARK, 2, "its memory is another one by now");
    refuse(SIZE, 1 << 20, "its memory is another one by now"); /* of another length */
    refuse(SIZE, 1, "its memory is another one by now");
    assert_non_null(ops->meet(here, blob, blob_bytes, &why));
    /* Its window has ended. */
    ops->close(there);
    mpixq_rma_memory_give(&theirs);
    assert_null(ops->meet(here, blob, blob_bytes, &why));
    take(&theirs, BYTES);
    assert_null(ops->meet(here, blob, blob_bytes, &why));
    there = mpixq_rma_shared_open(theirs.shared, RANK + 1);
}

/* What was mapped stays so: late puts reach nobody. */
static void test_late_put(void **state)
{
    const char *why;
    struct mpixq_nic_peer *peer = ops->meet(here, blob, blob_bytes, &why);
    struct mpixq_nic_part part = {.peer = peer,
                                  .data = ours.base,
                                  .bytes = BYTES,
                                  .tells = true,
                                  .word = word_of(1),
                                  .addend = 5,
                                  .arg = &ours};

    (void)state;
    assert_non_null(peer);
    mpixq_rma_memory_give(&theirs);
    take(&theirs, BYTES);
    memset(ours.base, 'o', BYTES);
    assert_true(ops->start(&part));
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(theirs.base[i], 0);
    }
    assert_int_equal(atomic_load(&theirs.words[0].nic[0]), 0);
    there = mpixq_rma_shared_open(theirs.shared, RANK + 1);
}

/* Nothing to share, or not to be shared, or no file left for it. */
static void test_alone(void **state)
{
    struct rlimit limit, none = {0, 0};
    struct mpixq_window window;

    (void)state;
    take(&window, 0);
    assert_null(window.shared);
    assert_null(window.base);
    mpixq_rma_memory_give(&window);

    mpixq_env.shared_windows = MPIXQ_SHARED_WINDOWS_NO;
    take(&window, BYTES);
    assert_null(window.shared);
    assert_non_null(window.base);
    mpixq_rma_memory_give(&window);
    mpixq_env.shared_windows = MPIXQ_SHARED_WINDOWS_AUTO;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none.rlim_max = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    take(&window, BYTES);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_null(window.shared);
    assert_non_null(window.base);
    memset(window.base, 'w', BYTES);
    mpixq_rma_memory_give(&window);

    /* Nor is one made that is too long for this process, which would end by that. */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){4 * BYTES, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    take(&window, BYTES);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_null(window.shared);
    assert_non_null(window.base);
    mpixq_rma_memory_give(&window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_put, setup, teardown),
        cmocka_unit_test_setup_teardown(test_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_put, setup, teardown),
        cmocka_unit_test(test_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
