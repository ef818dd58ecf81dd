/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pairing.c - which offer goes with which receive: random programs against plain lists, searched
 * from their beginning as MPI's order rules are worded
 */
#include "unit.h"

#include <mpi.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "match/pairing.h"

enum { MAX_STEPS = 6000 };

/* Everything that one program posts and offers. The element's place in the array is its name; the
 * lists of the model hold those that are not paired, in order. */
struct program {
    struct mpixq_pairing pairing;
    struct mpixq_posted posted[MAX_STEPS];
    struct mpixq_offered offered[MAX_STEPS];
    int n_posted, n_offered;
    int waiting_receives[MAX_STEPS], waiting_offers[MAX_STEPS];
    int n_receives, n_offers;
};

/* How a program is made. */
struct shape {
    int comms, sources, tags, steps;
    int wild_percent; /* receives of any source, and as many of any tag */
    int post_percent;
    int drop_percent;
    bool fail; /* let allocations fail */
};

static struct program *program_new(void)
{
    struct program *p = calloc(1, sizeof *p);

    assert_non_null(p);
    return p;
}

static bool model_fits(const struct mpixq_posted *r, const struct mpixq_offered *o)
{
    return mpixq_ident_equal(r->ident, o->ident) &&
           (r->source == MPI_ANY_SOURCE || r->source == o->source) &&
           (r->tag == MPI_ANY_TAG || r->tag == o->tag);
}

static void list_remove(int *list, int *n_p, int at)
{
    for (int i = at; i + 1 < *n_p; i++) {
        list[i] = list[i + 1];
    }
    --*n_p;
}

/* The offer that a receive takes, or -1; it leaves the list. */
static int model_post(struct program *p, int receive)
{
    for (int i = 0; i < p->n_offers; i++) {
        int offer = p->waiting_offers[i];

        if (model_fits(&p->posted[receive], &p->offered[offer])) {
            list_remove(p->waiting_offers, &p->n_offers, i);
            return offer;
        }
    }
    p->waiting_receives[p->n_receives++] = receive;
    return -1;
}

static int model_offer(struct program *p, int offer)
{
    for (int i = 0; i < p->n_receives; i++) {
        int receive = p->waiting_receives[i];

        if (model_fits(&p->posted[receive], &p->offered[offer])) {
            list_remove(p->waiting_receives, &p->n_receives, i);
            return receive;
        }
    }
    p->waiting_offers[p->n_offers++] = offer;
    return -1;
}

/* The two steps, with the first allocations failing one after the other until the step is done.
 * What a failed step changed would show in what later steps pair. */
static struct mpixq_offered *post(struct program *p, struct mpixq_posted *r, bool fail)
{
    struct mpixq_offered *offered = NULL;

    for (long n = 1;; n++) {
        long live = unit_live_blocks();
        bool done;

        atomic_store(&mpixq_allocs.fail_in, fail ? n : 0);
        done = mpixq_pairing_post(&p->pairing, r, &offered);
        if (done) {
            atomic_store(&mpixq_allocs.fail_in, 0);
            return offered;
        }
        assert_true(fail);
        assert_int_equal(unit_live_blocks(), live);
        assert_null(offered);
    }
}

static struct mpixq_posted *offer(struct program *p, struct mpixq_offered *o, bool fail)
{
    struct mpixq_posted *posted = NULL;

    for (long n = 1;; n++) {
        long live = unit_live_blocks();
        bool done;

        atomic_store(&mpixq_allocs.fail_in, fail ? n : 0);
        done = mpixq_pairing_offer(&p->pairing, o, &posted);
        if (done) {
            atomic_store(&mpixq_allocs.fail_in, 0);
            return posted;
        }
        assert_true(fail);
        assert_int_equal(unit_live_blocks(), live);
        assert_null(posted);
    }
}

static struct mpixq_ident comm_name(int i)
{
    /* Alike in all but one bit. */
    return (struct mpixq_ident){.high = 7, .low = (uint64_t)i << 40};
}

static void step_post(struct program *p, const struct shape *shape, uint64_t *random)
{
    int name = p->n_posted++, expected;
    struct mpixq_posted *r = &p->posted[name];
    struct mpixq_offered *got;

    r->ident = comm_name(unit_pick(random, shape->comms));
    r->source = unit_pick(random, 100) < shape->wild_percent ? MPI_ANY_SOURCE
                                                             : unit_pick(random, shape->sources);
    r->tag =
        unit_pick(random, 100) < shape->wild_percent ? MPI_ANY_TAG : unit_pick(random, shape->tags);
    got = post(p, r, shape->fail && unit_pick(random, 2) == 0);
    expected = model_post(p, name);
    assert_ptr_equal(got, expected >= 0 ? &p->offered[expected] : NULL);
}

static void step_offer(struct program *p, const struct shape *shape, uint64_t *random)
{
    int name = p->n_offered++, expected;
    struct mpixq_offered *o = &p->offered[name];
    struct mpixq_posted *got;

    o->ident = comm_name(unit_pick(random, shape->comms));
    o->source = unit_pick(random, shape->sources);
    o->tag = unit_pick(random, shape->tags);
    got = offer(p, o, shape->fail && unit_pick(random, 2) == 0);
    expected = model_offer(p, name);
    assert_ptr_equal(got, expected >= 0 ? &p->posted[expected] : NULL);
}

/* Something that waits is given up. An offer is found by its envelope. */
static void step_drop(struct program *p, uint64_t *random)
{
    int at;

    if (p->n_receives > 0 && unit_pick(random, 2) == 0) {
        at = unit_pick(random, p->n_receives);
        mpixq_pairing_drop_posted(&p->pairing, &p->posted[p->waiting_receives[at]]);
        list_remove(p->waiting_receives, &p->n_receives, at);
    } else if (p->n_offers > 0) {
        struct mpixq_offered *o, *found;

        at = unit_pick(random, p->n_offers);
        o = &p->offered[p->waiting_offers[at]];
        found = mpixq_pairing_find_offered(&p->pairing, o->ident, o->source, o->tag);
        while (found != NULL && found != o) {
            found = mpixq_pairing_next_offered(found);
        }
        assert_ptr_equal(found, o);
        mpixq_pairing_drop_offered(&p->pairing, o);
        list_remove(p->waiting_offers, &p->n_offers, at);
    }
}

/* Offers of the source and communicator of a receive that waits: none of them fits. */
static void check_misfits(struct program *p, const struct mpixq_posted *r)
{
    const struct mpixq_offered *first = NULL, *expected = NULL;
    int n = 0;

    for (int i = 0; i < p->n_offers; i++) {
        const struct mpixq_offered *o = &p->offered[p->waiting_offers[i]];

        if (mpixq_ident_equal(o->ident, r->ident) &&
            (r->source == MPI_ANY_SOURCE || r->source == o->source)) {
            expected = n == 0 ? o : expected;
            n++;
        }
    }
    assert_int_equal(mpixq_pairing_count_misfits(&p->pairing, r, &first), n);
    assert_ptr_equal(first, expected);
}

static bool list_take(int *list, int *n_p, long name)
{
    for (int i = 0; i < *n_p; i++) {
        if (list[i] == name) {
            list_remove(list, n_p, i);
            return true;
        }
    }
    return false;
}

/* Take out what is left: each element that waits once, and nothing else. */
static void empty(struct program *p)
{
    struct mpixq_posted *r;
    struct mpixq_offered *o;

    while ((r = mpixq_pairing_take_posted(&p->pairing)) != NULL) {
        assert_true(list_take(p->waiting_receives, &p->n_receives, r - p->posted));
    }
    while ((o = mpixq_pairing_take_offered(&p->pairing)) != NULL) {
        assert_true(list_take(p->waiting_offers, &p->n_offers, o - p->offered));
    }
    assert_int_equal(p->n_receives, 0);
    assert_int_equal(p->n_offers, 0);
    assert_null(p->pairing.buckets);
    assert_null(p->pairing.contexts);
    assert_int_equal(unit_live_blocks(), 0);
}

static void run_program(const struct shape *shape, uint64_t seed)
{
    struct program *p = program_new();
    uint64_t random = seed;

    for (int i = 0; i < shape->steps; i++) {
        if (unit_pick(&random, 100) < shape->drop_percent) {
            step_drop(p, &random);
        } else if (unit_pick(&random, 100) < shape->post_percent) {
            step_post(p, shape, &random);
        } else {
            step_offer(p, shape, &random);
        }
        if (i % 16 == 0 && p->n_receives > 0) {
            check_misfits(p, &p->posted[p->waiting_receives[p->n_receives - 1]]);
        }
    }
    empty(p);
    free(p);
}

static void pairs_as_model_does(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < unit_programs(2000); seed++) {
        uint64_t random = seed;
        struct shape shape = {.comms = 1 + unit_pick(&random, 4),
                              .sources = 1 + unit_pick(&random, 4),
                              .tags = 1 + unit_pick(&random, 4),
                              .steps = 1 + unit_pick(&random, 300),
                              .wild_percent = unit_pick(&random, 3) * 25,
                              .post_percent = 20 + unit_pick(&random, 61),
                              .drop_percent = unit_pick(&random, 2) * 15};

        run_program(&shape, seed + 1000000);
    }
}

/* So many envelopes that the hash tables grow several times, and shrink to nothing. */
static void pairs_many_envelopes(void **state)
{
    struct shape shape = {.comms = 40,
                          .sources = 20,
                          .tags = 100,
                          .steps = MAX_STEPS,
                          .wild_percent = 2,
                          .post_percent = 50};

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        run_program(&shape, seed);
        shape.fail = !shape.fail;
    }
}

static void failed_allocation_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < unit_programs(500); seed++) {
        uint64_t random = seed;
        struct shape shape = {.comms = 1 + unit_pick(&random, 20),
                              .sources = 1 + unit_pick(&random, 4),
                              .tags = 1 + unit_pick(&random, 4),
                              .steps = 1 + unit_pick(&random, 200),
                              .wild_percent = unit_pick(&random, 3) * 20,
                              .post_percent = 50,
                              .fail = true};

        run_program(&shape, seed + 2000000);
    }
}

/* An older receive with a wildcard goes before a younger exact one, and the other way round. */
static void older_receive_goes_first(void **state)
{
    for (int wild_first = 0; wild_first < 2; wild_first++) {
        struct program *p = program_new();
        struct mpixq_posted *exact = &p->posted[!wild_first ? 0 : 1];
        struct mpixq_posted *wild = &p->posted[wild_first ? 0 : 1];

        (void)state;
        *exact = (struct mpixq_posted){.ident = comm_name(1), .source = 3, .tag = 4};
        *wild = (struct mpixq_posted){
            .ident = comm_name(1), .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
        assert_null(post(p, &p->posted[0], false));
        assert_null(post(p, &p->posted[1], false));
        assert_true(unit_live_blocks() > 0);
        for (int i = 0; i < 2; i++) {
            p->offered[i] = (struct mpixq_offered){.ident = comm_name(1), .source = 3, .tag = 4};
            assert_ptr_equal(offer(p, &p->offered[i], false), &p->posted[i]);
        }
        empty(p);
        free(p);
    }
}

/* Communicators do not see each other, whatever is equal otherwise. */
static void communicators_are_apart(void **state)
{
    struct program *p = program_new();

    (void)state;
    p->posted[0] =
        (struct mpixq_posted){.ident = comm_name(1), .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
    p->posted[1] = (struct mpixq_posted){.ident = comm_name(1), .source = 0, .tag = 0};
    p->offered[0] = (struct mpixq_offered){.ident = comm_name(2), .source = 0, .tag = 0};
    p->offered[1] = (struct mpixq_offered){.ident = {.high = 1, .low = 7}, .source = 0, .tag = 0};
    for (int i = 0; i < 2; i++) {
        assert_null(post(p, &p->posted[i], false));
        assert_null(offer(p, &p->offered[i], false));
        p->waiting_receives[p->n_receives++] = i;
        p->waiting_offers[p->n_offers++] = i;
    }
    empty(p);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_as_model_does),
        cmocka_unit_test(pairs_many_envelopes),
        cmocka_unit_test(failed_allocation_changes_nothing),
        cmocka_unit_test(older_receive_goes_first),
        cmocka_unit_test(communicators_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
