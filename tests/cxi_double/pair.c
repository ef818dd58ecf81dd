/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pair.c - two processes that exchange data by deferred work only, round after round
 *
 *     pair ROUNDS      each round in both directions: a clear-to-send and a store let a write go,
 *                      its end and its arrival change words that are polled; data is compared
 *     pair death       one process dies; the other's write to it must fail, and what the dead one
 *                      held of the NIC must be there again for the next process
 *
 * As in mpixq_nic_check, only public libfabric calls are used.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/nic_check/check.h"

enum { WORDS = 700, GUARD = 8, KEY_DATA = 200, KEY_CTS = 201, KEY_WORDS = 202 };

const char *rig_provider = "cxi";

static uint64_t outgoing[WORDS], incoming[WORDS + 2 * GUARD];
static uint64_t cts_word, sent_word;
static const uint64_t one = 1;

void found(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    exit(EXIT_FAILURE);
}

void must(long rc, const char *what)
{
    if (rc < 0) {
        found("%s failed: %s", what, fi_strerror((int)-rc));
    }
}

/* Addresses by the two pipes; rig.self stays our own. */
static fi_addr_t exchange(int from, int to)
{
    char name[64] = {0};
    size_t length = sizeof(name);
    fi_addr_t peer = FI_ADDR_NOTAVAIL;

    must(fi_getname(&rig.ep->fid, name, &length), "fi_getname");
    if (write(to, name, sizeof(name)) != sizeof(name) ||
        read(from, name, sizeof(name)) != sizeof(name)) {
        found("no address from the other process");
    }
    if (fi_av_insert(rig.av, name, 1, &peer, 0, NULL) != 1) {
        found("fi_av_insert failed");
    }
    return peer;
}

static void barrier(int from, int to)
{
    char byte = 0;

    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) {
        found("the other process is gone");
    }
}

struct side {
    fi_addr_t self, peer;
    struct fid_cntr *bell, *cts, *written, *arrived, *words;
    struct fid_mr *regions[3];
};

static void side_open(struct side *side, int from, int to)
{
    rig_open();
    side->self = rig.self;
    side->peer = exchange(from, to);
    side->bell = cntr_open();
    side->cts = cntr_open();
    side->written = cntr_open();
    side->arrived = cntr_open();
    side->words = cntr_open();
    side->regions[0] = mr_open(incoming + GUARD, WORDS * sizeof(uint64_t), KEY_DATA, side->arrived);
    side->regions[1] = mr_open(&cts_word, sizeof(cts_word), KEY_CTS, side->bell);
    side->regions[2] = mr_open(&sent_word, sizeof(sent_word), KEY_WORDS, NULL);
    barrier(from, to);
}

/* With the counters, which may not be closed before the endpoint is. */
static void rig_close(struct fid_cntr **cntrs, int count)
{
    must(fi_close(&rig.ep->fid), "fi_close of the endpoint");
    for (int i = 0; i < count; i++) {
        must(fi_close(&cntrs[i]->fid), "fi_close of a counter");
    }
    must(fi_close(&rig.bound->fid), "fi_close of a counter");
    must(fi_close(&rig.av->fid), "fi_close of the address vector");
    must(fi_close(&rig.cq->fid), "fi_close of the completion queue");
    must(fi_close(&rig.domain->fid), "fi_close of the domain");
    must(fi_close(&rig.fabric->fid), "fi_close of the fabric");
    fi_freeinfo(rig.info);
}

static void side_close(struct side *side)
{
    struct fid_cntr *cntrs[] = {side->bell, side->cts, side->written, side->arrived, side->words};

    for (int i = 0; i < 3; i++) {
        must(fi_close(&side->regions[i]->fid), "fi_close of a region");
    }
    rig_close(cntrs, 5);
}

static void queue(int rc)
{
    must(rc, "FI_QUEUE_WORK");
}

/* The bell counts our store and the peer's clear-to-send: the write goes at an even number. */
static void queue_round(const struct side *side, uint64_t round)
{
    struct work work = {.trigger = side->bell,
                        .threshold = 2 * round,
                        .counted = side->written,
                        .source = outgoing,
                        .length = sizeof(outgoing),
                        .key = KEY_DATA};

    rig.self = side->peer;
    queue(queue_write(&work));
    work = (struct work){.trigger = side->cts,
                         .threshold = round,
                         .source = (void *)(uintptr_t)&one,
                         .key = KEY_CTS};
    queue(queue_atomic(&work, FI_SUM));
    rig.self = side->self;
    work = (struct work){.trigger = side->written,
                         .threshold = round,
                         .counted = side->words,
                         .source = (void *)(uintptr_t)&one,
                         .key = KEY_WORDS};
    queue(queue_atomic(&work, FI_SUM));
}

static uint64_t value_of(int who, uint64_t round, int i)
{
    return (uint64_t)who << 56 | round << 16 | (uint64_t)i;
}

static void check_data(int who, uint64_t round)
{
    for (int i = 0; i < WORDS + 2 * GUARD; i++) {
        bool inside = i >= GUARD && i < GUARD + WORDS;
        uint64_t wanted = inside ? value_of(1 - who, round, i - GUARD) : 0;

        if (incoming[i] != wanted) {
            found("round %llu: word %d is %llx, not %llx", (unsigned long long)round, i - GUARD,
                  (unsigned long long)incoming[i], (unsigned long long)wanted);
        }
    }
}

static int run_rounds(int who, int from, int to, uint64_t rounds)
{
    struct side side;
    volatile uint64_t *bell, *cts;

    side_open(&side, from, to);
    bell = cntr_bell(side.bell);
    cts = cntr_bell(side.cts);
    for (uint64_t round = 1; round <= rounds; round++) {
        for (int i = 0; i < WORDS; i++) {
            outgoing[i] = value_of(who, round, i);
        }
        queue_round(&side, round);
        *bell = 1;
        *cts = 1;
        if (!await_word(&sent_word, round)) {
            found("round %llu: the write does not end", (unsigned long long)round);
        }
        if (!await(side.arrived, round)) {
            found("round %llu: nothing arrives", (unsigned long long)round);
        }
        check_data(who, round);
        if (!await(side.words, round)) {
            found("round %llu: an atomic does not end", (unsigned long long)round);
        }
    }
    barrier(from, to);
    side_close(&side);
    return EXIT_SUCCESS;
}

/* The dying one takes entries with it, which wait for ever at its counter. */
static int run_death(int who, int from, int to)
{
    struct side side;
    struct fid_cntr *cntrs[2];
    struct work work = {.source = outgoing, .length = sizeof(outgoing), .key = KEY_DATA};

    side_open(&side, from, to);
    work.trigger = side.bell;
    work.counted = side.written;
    rig.self = side.peer;
    if (who == 1) {
        work.threshold = 1000;
        for (int i = 0; i < 3; i++) {
            queue(queue_write(&work));
        }
        pause_ms(100);
        barrier(from, to);
        raise(SIGKILL);
    }
    barrier(from, to);
    pause_ms(200);
    queue(queue_write(&work));
    if (!await_failure(side.written)) {
        found("a write to a dead process does not fail");
    }
    rig.self = side.self;
    side_close(&side);
    /* A new start takes back what the dead one held; with few entries this would stand still. */
    rig_open();
    cntrs[0] = cntr_open();
    cntrs[1] = cntr_open();
    for (int i = 0; i < 12; i++) {
        queue(queue_change(cntrs[0], 1, FI_OP_CNTR_ADD, cntrs[1], 1, NULL));
    }
    pause_ms(50);
    must(fi_cntr_add(cntrs[0], 1), "fi_cntr_add");
    if (!await(cntrs[1], 12)) {
        found("entries of the dead process are lost");
    }
    rig_close(cntrs, 2);
    return EXIT_SUCCESS;
}

static int run(int who, int from, int to, const char *what)
{
    if (strcmp(what, "death") == 0) {
        return run_death(who, from, to);
    }
    return run_rounds(who, from, to, strtoull(what, NULL, 10));
}

int main(int argc, char **argv)
{
    int ab[2], ba[2], status, bad = 0;
    pid_t children[2];

    if (argc != 2 || pipe(ab) != 0 || pipe(ba) != 0) {
        fprintf(stderr, "usage: pair ROUNDS|death\n");
        return 99;
    }
    for (int who = 0; who < 2; who++) {
        children[who] = fork();
        if (children[who] < 0) {
            return 99;
        }
        if (children[who] == 0) {
            exit(run(who, who == 0 ? ba[0] : ab[0], who == 0 ? ab[1] : ba[1], argv[1]));
        }
    }
    for (int who = 0; who < 2; who++) {
        bool dies = who == 1 && strcmp(argv[1], "death") == 0;

        if (waitpid(children[who], &status, 0) != children[who] ||
            (dies ? !WIFSIGNALED(status) : status != 0)) {
            printf("process %d ends with %x\n", who, (unsigned)status);
            bad = 1;
        }
    }
    return bad;
}
