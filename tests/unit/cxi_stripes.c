/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_stripes.c - a start of a message in shares is under way until the last of its shares is over,
 * however many there are
 */
#include "unit.h"

#include <string.h>

#include "cxi/nic.h"

enum { SHARES = 4 };

static struct cxi_nic nic;
static struct cxi_quirks quirks;
static struct mpixq_pair pairs[SHARES];
static struct cxi_end ends[SHARES];
static struct cxi_word words[SHARES];

/* No completions. */
static ssize_t read_nothing(struct fid_cq *cq, void *buffer, size_t count)
{
    (void)cq;
    (void)buffer;
    (void)count;
    return -FI_EAGAIN;
}

static struct fi_ops_cq cq_ops = {.read = read_nothing};
static struct fid_cq cq = {.ops = &cq_ops};

/* All of one NIC, of which only the first is looked at. */
static int set_up(void **state)
{
    (void)state;
    memset(&nic, 0, sizeof nic);
    memset(ends, 0, sizeof ends);
    memset(pairs, 0, sizeof pairs);
    memset(words, 0, sizeof words);
    mpixq_lock_init(&nic.lock, MPIXQ_RANK_CXI_NIC);
    mpixq_lock_init(&nic.drive_lock, MPIXQ_RANK_CXI_DRIVE);
    nic.quirks = &quirks;
    nic.cq = &cq;
    for (int i = 0; i < SHARES; i++) {
        ends[i].nic = &nic;
        ends[i].pair = &pairs[i];
        ends[i].own_pair = i > 0 ? &pairs[i] : NULL;
        ends[i].next_share = i + 1 < SHARES ? &ends[i + 1] : NULL;
        ends[i].word = &words[i];
        atomic_store(&pairs[i].started, 1);
        atomic_store(&pairs[i].executed, 1);
    }
    mpixq_cxi_set_live(&ends[0], true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mpixq_cxi_set_live(&ends[0], false);
    mpixq_lock_destroy(&nic.lock);
    mpixq_lock_destroy(&nic.drive_lock);
    return 0;
}

/* What is over is seen at the second look. */
static void look(void)
{
    mpixq_cxi_drive(&nic, true);
    mpixq_cxi_drive(&nic, true);
}

static void test_last_share(void **state)
{
    (void)state;
    for (int last = 0; last < SHARES; last++) {
        for (int i = 0; i < SHARES; i++) {
            atomic_store(&words[i].value, i != last);
        }
        look();
        assert_true(ends[0].is_live);
    }
    for (int i = 0; i < SHARES; i++) {
        atomic_store(&words[i].value, 1);
    }
    look();
    assert_false(ends[0].is_live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_last_share, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
