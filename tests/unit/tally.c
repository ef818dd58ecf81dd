/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * tally.c - a request that is captured for the first time while a start of it is under way: threads
 * that look for what graphs have started call its channel once the pair has its tally, no sooner,
 * and not after its end
 */
#include "unit.h"

#include "core/channel.h"
#include "core/graphs.h"
#include "core/queue.h"
#include "core/tally.h"
#include "core/tally_words.h"

static struct mpixq_tally_words words;
static int n_calls, n_too_soon;

/* The linker puts these in place of what takes memory that a GPU sees. */
bool __wrap_mpixq_tally_words_suit(const struct mpixq_tally_slab *slab,
                                   const struct mpixq_stream *stream);
struct mpixq_tally_words *__wrap_mpixq_tally_words_take(struct mpixq_tally_slabs *slabs,
                                                        const struct mpixq_stream *stream,
                                                        char **seen_p,
                                                        const struct mpixq_tally_slab **slab_p);
void __wrap_mpixq_tally_words_give_back(struct mpixq_tally_slabs *slabs,
                                        struct mpixq_tally_words *given);
/* The first that is asked of a tally that was made: as if another thread looked just then. */
const _Atomic uint64_t *__real_mpixq_tally_mirror(const struct mpixq_tally *tally);
const _Atomic uint64_t *__wrap_mpixq_tally_mirror(const struct mpixq_tally *tally);

bool __wrap_mpixq_tally_words_suit(const struct mpixq_tally_slab *slab,
                                   const struct mpixq_stream *stream)
{
    (void)slab;
    (void)stream;
    return true;
}

struct mpixq_tally_words *__wrap_mpixq_tally_words_take(struct mpixq_tally_slabs *slabs,
                                                        const struct mpixq_stream *stream,
                                                        char **seen_p,
                                                        const struct mpixq_tally_slab **slab_p)
{
    (void)slabs;
    (void)stream;
    *seen_p = (char *)&words;
    *slab_p = NULL;
    return &words;
}

void __wrap_mpixq_tally_words_give_back(struct mpixq_tally_slabs *slabs,
                                        struct mpixq_tally_words *given)
{
    (void)slabs;
    assert_ptr_equal(given, &words);
}

const _Atomic uint64_t *__wrap_mpixq_tally_mirror(const struct mpixq_tally *tally)
{
    mpixq_tallies_drive();
    return __real_mpixq_tally_mirror(tally);
}

static void look(struct mpixq_pair *pair)
{
    n_calls++;
    n_too_soon += mpixq_tally_of(pair) == NULL;
}

static void captured_under_way(void **state)
{
    static const struct mpixq_channel_graphs graphs = {.go_on = look};
    static const struct mpixq_channel channel = {.graphs = &graphs};
    static struct mpixq_stream stream = {.rings = true};
    static struct mpixq_queue queue = {.stream = &stream};
    static struct mpixq_pair pair = {.channel = &channel};

    (void)state;
    (void)mpixq_pair_raise(&pair.started, 1);
    assert_int_equal(mpixq_graphs_count(&pair, &queue), MPIXQ_E_NONE);
    assert_int_equal(n_too_soon, 0);
    assert_int_equal(n_calls, 0);
    mpixq_tallies_drive();
    assert_int_equal(n_calls, 1);
    mpixq_tally_close(&pair);
    mpixq_tallies_drive();
    mpixq_graphs_forget(&pair);
    mpixq_tallies_drive();
    assert_int_equal(n_calls, 1);
    assert_int_equal(n_too_soon, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
