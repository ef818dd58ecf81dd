/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels.c - the kernels that every code object has: some for the tests of the double itself
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../benchmarks/kernels.h"
#include "../../benchmarks/kernels_cg.h"
#include "../../benchmarks/kernels_fused.h"
#include "../../benchmarks/kernels_puts.h"
#include "../device/puts.h"
#include "../device/steps.h"
#include "kernels.h"
#include "stream/pieces.h"

/* The parameter of the kernels below. */
struct hip_test_words {
    uint64_t *word;
    uint64_t value;
    unsigned char *memory; /* may be NULL */
    uint64_t bytes;
};

/* Stores value into the word. */
static void run_store(const void *parameters)
{
    const struct hip_test_words *words = parameters;
    uint64_t *word = hip_double_reach(words->word, sizeof(*word));

    __atomic_store_n(word, words->value, __ATOMIC_RELEASE);
}

/* Waits until the word is value or more. */
static void run_wait(const void *parameters)
{
    const struct hip_test_words *words = parameters;
    const uint64_t *word = hip_double_reach(words->word, sizeof(*word));
    struct timespec nap = {0, 20000};

    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < words->value) {
        nanosleep(&nap, NULL);
    }
}

/* Adds value to every byte, without asking whether it can be reached. */
static void run_add(const void *parameters)
{
    const struct hip_test_words *words = parameters;

    for (uint64_t i = 0; i < words->bytes && !hip_is_wrong("memory-kernel"); i++) {
        words->memory[i] = (unsigned char)(words->memory[i] + words->value);
    }
}

/* That of examples/exchange_gpu_hip.c, and all of its blocks. */
static void run_add_numbers(const void *parameters)
{
    enum { NUMBERS = 1 << 20 };
    const struct {
        int *mine;
        const int *theirs;
    } *p = parameters;
    int *mine = hip_double_reach(p->mine, NUMBERS * sizeof(int));
    const int *theirs = hip_double_reach(p->theirs, NUMBERS * sizeof(int));

    for (int i = 0; i < NUMBERS; i++) {
        mine[i] += theirs[i];
    }
}

/* The library's, of which src/stream/kernels_host.c is the build for the host. */
void mpixq_ring(uint64_t *word, uint64_t value) __attribute__((weak));
void mpixq_wait(const uint64_t *gate, uint64_t value, uint64_t *word, uint64_t passed)
    __attribute__((weak));
void mpixq_copy(struct mpixq_pieces all) __attribute__((weak));
void mpixq_ring_all(struct mpixq_words all) __attribute__((weak));
void mpixq_wait_all(struct mpixq_words all) __attribute__((weak));
void mpixq_wait_plain(struct mpixq_words all) __attribute__((weak));
void mpixq_wait_combine(struct mpixq_words all) __attribute__((weak));
void mpixq_move_all(struct mpixq_moves all) __attribute__((weak));
void mpixq_move_plain(struct mpixq_moves all) __attribute__((weak));
void mpixq_pass_all(struct mpixq_moves all) __attribute__((weak));
void mpixq_pass_plain(struct mpixq_moves all) __attribute__((weak));
void mpixq_pass_combine(struct mpixq_moves all) __attribute__((weak));
void mpixq_call_back(struct mpixq_recall one) __attribute__((weak));
void mpixq_try_end(mpixq_word_t *word, mpixq_word_t *outcome) __attribute__((weak));
void mpixq_put_all(struct mpixq_puts all) __attribute__((weak));
void mpixq_set_signal(struct mpixq_set one) __attribute__((weak));
void mpixq_await_signal(struct mpixq_await one) __attribute__((weak));
void mpixq_combine_all(struct mpixq_combine all) __attribute__((weak));
void mpixq_combine_wide(struct mpixq_combine all) __attribute__((weak));

static void run_mpixq_ring(const void *parameters)
{
    const struct {
        uint64_t *word;
        uint64_t value;
    } *p = parameters;

    mpixq_ring(hip_double_reach(p->word, sizeof(uint64_t)), p->value);
}

static void run_mpixq_wait(const void *parameters)
{
    const struct {
        uint64_t *gate;
        uint64_t value;
        uint64_t *word;
        uint64_t passed;
    } *p = parameters;

    mpixq_wait(hip_double_reach(p->gate, sizeof(uint64_t)), p->value,
               p->word == NULL ? NULL : hip_double_reach(p->word, sizeof(uint64_t)), p->passed);
}

static void run_mpixq_copy(const void *parameters)
{
    struct mpixq_pieces all = *(const struct mpixq_pieces *)parameters;

    for (unsigned i = 0; i < all.n; i++) {
        if (all.closed[i] != NULL) {
            all.closed[i] = hip_double_reach(all.closed[i], sizeof(uint64_t));
            if (__atomic_load_n((const uint64_t *)all.closed[i], __ATOMIC_ACQUIRE) != 0) {
                continue;
            }
        }
        all.piece[i].to = hip_double_reach(all.piece[i].to, all.piece[i].bytes);
        all.piece[i].from = hip_double_reach(all.piece[i].from, all.piece[i].bytes);
    }
    all.word = all.word == NULL ? NULL : hip_double_reach(all.word, sizeof(uint64_t));
    mpixq_copy(all);
}

static void *reach_or_null(const void *address, size_t bytes)
{
    return address == NULL ? NULL : hip_double_reach(address, bytes);
}

/* Of a pair that its GPU counts: a kernel touches nothing else once it is closed. */
static int is_closed(const struct mpixq_end *own)
{
    return __atomic_load_n(&own->closed, __ATOMIC_ACQUIRE) != 0;
}

/* A slot of the host's memory, where it is copied to, and the word that says so. */
static void reach_slot(struct mpixq_words *all, unsigned i)
{
    size_t bytes = all->at[i].bytes;

    if (all->at[i].taken != NULL) {
        all->at[i].taken = hip_double_reach(all->at[i].taken, sizeof(uint64_t));
        all->at[i].slot = bytes > 0 ? hip_double_reach(all->at[i].slot, bytes) : NULL;
        all->at[i].to = bytes > 0 ? hip_double_reach(all->at[i].to, bytes) : NULL;
    }
}

/* What was freed may be gone, and is not touched then. */
static void reach_combine(struct mpixq_combine *all)
{
    all->closed = reach_or_null(all->closed, sizeof(uint64_t));
    if (all->closed != NULL &&
        __atomic_load_n((const uint64_t *)all->closed, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    for (unsigned i = 0; i < all->n; i++) {
        all->from[i] = hip_double_reach((void *)(uintptr_t)all->from[i], all->bytes);
    }
    all->to = all->n > 0 ? hip_double_reach(all->to, all->bytes) : NULL;
    all->go = reach_or_null(all->go, sizeof(uint64_t));
}

static void reach_until(struct mpixq_until *until)
{
    until->gate = hip_double_reach(until->gate, sizeof(uint64_t));
    until->halt = reach_or_null(until->halt, sizeof(uint64_t));
}

static struct mpixq_words words_of(const void *parameters)
{
    struct mpixq_words all = *(const struct mpixq_words *)parameters;

    for (unsigned i = 0; i < all.n; i++) {
        int counted = all.at[i].counted != NULL;

        all.at[i].address = hip_double_reach(all.at[i].address,
                                             counted ? sizeof(struct mpixq_end) : sizeof(uint64_t));
        all.at[i].counted = reach_or_null(all.at[i].counted, sizeof(*all.at[i].counted));
        if (!counted || !is_closed(all.at[i].address)) {
            all.at[i].state = reach_or_null(all.at[i].state, sizeof(uint64_t));
        }
        all.at[i].go = reach_or_null(all.at[i].go, sizeof(uint64_t));
        reach_slot(&all, i);
    }
    reach_until(&all.until);
    all.word = reach_or_null(all.word, sizeof(uint64_t));
    reach_combine(&all.combine);
    return all;
}

/* A kernel whose parameters are reached so. */
#define RUN(kernel, reach)                                                                         \
    static void run_##kernel(const void *parameters)                                               \
    {                                                                                              \
        kernel(reach(parameters));                                                                 \
    }

RUN(mpixq_ring_all, words_of)
RUN(mpixq_wait_all, words_of)
RUN(mpixq_wait_plain, words_of)
RUN(mpixq_wait_combine, words_of)

static struct mpixq_moves moves_of(const void *parameters)
{
    struct mpixq_moves all = *(const struct mpixq_moves *)parameters;

    for (unsigned i = 0; i < all.n; i++) {
        struct mpixq_move *move = &all.move[i];

        move->own = hip_double_reach(move->own, sizeof(*move->own));
        move->own_told = hip_double_reach(move->own_told, sizeof(*move->own_told));
        if (move->is_counted && is_closed(move->own)) {
            continue;
        }
        move->to = move->is_host      ? reach_or_null(move->to, sizeof(uint64_t))
                   : move->bytes == 0 ? NULL
                                      : hip_double_reach(move->to, move->bytes);
        move->from = move->bytes == 0 ? NULL : hip_double_reach(move->from, move->bytes);
        move->peer = hip_double_reach(move->peer, sizeof(*move->peer));
        move->told = hip_double_reach(move->told, sizeof(move->told->done));
        move->after = reach_or_null((void *)(uintptr_t)move->after, sizeof(uint64_t));
    }
    all.word = reach_or_null(all.word, sizeof(uint64_t));
    return all;
}

RUN(mpixq_move_all, moves_of)
RUN(mpixq_move_plain, moves_of)

static struct mpixq_moves passes_of(const void *parameters)
{
    struct mpixq_moves all = moves_of(parameters);

    reach_until(&all.until);
    all.came = reach_or_null(all.came, sizeof(uint64_t));
    return all;
}

RUN(mpixq_pass_all, passes_of)
RUN(mpixq_pass_plain, passes_of)

static void run_mpixq_pass_combine(const void *parameters)
{
    struct mpixq_moves all = passes_of(parameters);

    reach_combine(&all.combine);
    mpixq_pass_combine(all);
}

static void run_mpixq_call_back(const void *parameters)
{
    struct mpixq_recall one = *(const struct mpixq_recall *)parameters;

    one.state = hip_double_reach(one.state, sizeof(*one.state));
    one.own = hip_double_reach(one.own, sizeof(*one.own));
    one.outcome = hip_double_reach(one.outcome, sizeof(uint64_t));
    mpixq_call_back(one);
}

/* What it does to memory whose atomic operations are lost, nobody sees. */
static void run_mpixq_try_end(const void *parameters)
{
    const struct {
        uint64_t *word, *outcome;
    } *p = parameters;
    uint64_t *word = hip_double_reach(p->word, sizeof(*word)), copy = 0;

    if (hip_is_plain(p->word)) {
        copy = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        word = &copy;
    }
    mpixq_try_end(word, hip_double_reach(p->outcome, sizeof(uint64_t)));
}

static struct mpixq_combine reached(const void *parameters)
{
    struct mpixq_combine all = *(const struct mpixq_combine *)parameters;

    reach_combine(&all);
    all.word = reach_or_null(all.word, sizeof(uint64_t));
    return all;
}

static void run_mpixq_combine_all(const void *parameters)
{
    mpixq_combine_all(reached(parameters));
}

static void run_mpixq_combine_wide(const void *parameters)
{
    mpixq_combine_wide(reached(parameters));
}

static void reach_behind(struct mpixq_behind *behind)
{
    behind->word = reach_or_null(behind->word, sizeof(uint64_t));
    behind->halt = reach_or_null(behind->halt, sizeof(uint64_t));
    behind->lane = reach_or_null(behind->lane, sizeof(*behind->lane));
    behind->fault = reach_or_null(behind->fault, sizeof(*behind->fault));
}

static void run_mpixq_put_all(const void *parameters)
{
    struct mpixq_puts all = *(const struct mpixq_puts *)parameters;

    for (unsigned i = 0; i < all.n; i++) {
        struct mpixq_put *put = &all.put[i];

        put->to = put->bytes == 0 ? NULL : hip_double_reach(put->to, put->bytes);
        put->from = put->bytes == 0 ? NULL : hip_double_reach(put->from, put->bytes);
        put->local = reach_or_null(put->local, sizeof(*put->local));
        put->remote = reach_or_null(put->remote, sizeof(*put->remote));
        put->told = hip_double_reach(put->told, sizeof(uint64_t));
    }
    reach_behind(&all.behind);
    mpixq_put_all(all);
}

static void run_mpixq_set_signal(const void *parameters)
{
    struct mpixq_set one = *(const struct mpixq_set *)parameters;

    one.signal = hip_double_reach(one.signal, sizeof(*one.signal));
    one.told = reach_or_null(one.told, sizeof(uint64_t));
    reach_behind(&one.behind);
    mpixq_set_signal(one);
}

static void run_mpixq_await_signal(const void *parameters)
{
    struct mpixq_await one = *(const struct mpixq_await *)parameters;

    one.signal = hip_double_reach(one.signal, sizeof(*one.signal));
    one.failed = hip_double_reach(one.failed, sizeof(uint64_t));
    reach_behind(&one.behind);
    mpixq_await_signal(one);
}

/* Those of the benchmarks, likewise: one call does what a grid of any size does. */
void bench_words(const uint64_t *from, uint64_t *to, uint64_t add, uint64_t words, uint64_t stride,
                 uint64_t messages) __attribute__((weak));
void bench_strips(struct bench_strips all) __attribute__((weak));
void bench_life(struct bench_board board) __attribute__((weak));
void bench_bounce(struct bench_bounce all) __attribute__((weak));
void bench_delay(uint64_t nanoseconds) __attribute__((weak));
void bench_product(const float *a, const float *b, float *c, uint64_t side) __attribute__((weak));

static void run_bench_words(const void *parameters)
{
    const struct {
        uint64_t *from, *to;
        uint64_t add, words, stride, messages;
    } *p = parameters;
    size_t bytes = ((p->messages - 1) * p->stride + p->words) * sizeof(uint64_t);

    bench_words(hip_double_reach(p->from, bytes), hip_double_reach(p->to, bytes), p->add, p->words,
                p->stride, p->messages);
}

static void run_bench_strips(const void *parameters)
{
    struct bench_strips all = *(const struct bench_strips *)parameters;

    for (int i = 0; i < BENCH_STRIPS; i++) {
        struct bench_strip *strip = &all.strip[i];

        strip->to = hip_double_reach(strip->to, (strip->count - 1) * strip->to_step + 1);
        strip->from = hip_double_reach(strip->from, (strip->count - 1) * strip->from_step + 1);
    }
    bench_strips(all);
}

static void run_bench_life(const void *parameters)
{
    struct bench_board board = *(const struct bench_board *)parameters;
    size_t bytes = (board.height + 2) * board.stride;

    board.from = hip_double_reach(board.from, bytes);
    board.to = hip_double_reach(board.to, bytes);
    bench_life(board);
}

static void run_bench_bounce(const void *parameters)
{
    struct bench_bounce all = *(const struct bench_bounce *)parameters;

    all.from = hip_double_reach(all.from, all.words * sizeof(uint64_t));
    all.to = hip_double_reach(all.to, all.words * sizeof(uint64_t));
    all.here = hip_double_reach(all.here, sizeof(uint64_t));
    all.there = hip_double_reach(all.there, sizeof(uint64_t));
    bench_bounce(all);
}

static void run_bench_delay(const void *parameters)
{
    bench_delay(*(const uint64_t *)parameters);
}

static void run_bench_product(const void *parameters)
{
    const struct {
        const float *a, *b;
        float *c;
        uint64_t side;
    } *p = parameters;
    size_t bytes = p->side * p->side * sizeof(float);

    bench_product(hip_double_reach(p->a, bytes), hip_double_reach(p->b, bytes),
                  hip_double_reach(p->c, bytes), p->side);
}

/* That of the tests of mpix_queue_device.h. */
void mpixq_test_device(struct device_script all) __attribute__((weak));

void hip_reach_handle(struct mpixq_device_request *r)
{
    if (r->own == NULL) {
        return; /* of a request to MPI_PROC_NULL */
    }
    r->own = hip_double_reach(r->own, sizeof(*r->own));
    r->own_told = hip_double_reach(r->own_told, sizeof(*r->own_told));
    if (__atomic_load_n(&r->own->closed, __ATOMIC_ACQUIRE) != 0) {
        return; /* nothing else is touched */
    }
    if (r->is_host) { /* what it copies, if it does, and rings, and no more */
        r->to = reach_or_null(r->to, r->bytes);
        r->from = reach_or_null(r->from, r->bytes);
        r->bell = reach_or_null(r->bell, sizeof(*r->bell));
        return;
    }
    r->to = r->bytes == 0 ? NULL : hip_double_reach(r->to, r->bytes);
    r->from = r->bytes == 0 ? NULL : hip_double_reach(r->from, r->bytes);
    r->peer = hip_double_reach(r->peer, sizeof(*r->peer));
    r->told = hip_double_reach(r->told, sizeof(r->told->done));
    r->state = reach_or_null(r->state, sizeof(*r->state));
    r->slots = reach_or_null(r->slots, 3 * (r->bytes + 3) / 4 * sizeof(*r->slots));
}

static void run_device(const void *parameters)
{
    struct device_script all = *(const struct device_script *)parameters;

    for (unsigned i = 0; i < all.n_handles; i++) {
        hip_reach_handle(&all.handle[i]);
    }
    for (unsigned i = 0; i < all.n; i++) {
        struct device_step *step = &all.step[i];

        step->data = reach_or_null(step->data, all.handle[step->first].bytes);
        step->result = hip_double_reach(step->result, sizeof(*step->result));
    }
    mpixq_test_device(all);
}

void mpixq_test_puts(struct puts_script all) __attribute__((weak));

void hip_reach_transfer(struct mpixq_device_transfer *transfer)
{
    if (transfer->abi != 0 && transfer->bytes > 0) {
        transfer->to = hip_double_reach(transfer->to, transfer->bytes);
        transfer->from = hip_double_reach(transfer->from, transfer->bytes);
    }
    transfer->local = reach_or_null(transfer->local, sizeof(*transfer->local));
    transfer->remote = reach_or_null(transfer->remote, sizeof(*transfer->remote));
}

static void run_puts(const void *parameters)
{
    struct puts_script all = *(const struct puts_script *)parameters;

    for (unsigned i = 0; i < all.n; i++) {
        struct puts_step *step = &all.step[i];

        for (int k = 0; k < 2; k++) {
            hip_reach_transfer(&step->transfer[k]);
            step->signal[k].word = reach_or_null(step->signal[k].word, sizeof(uint64_t));
            step->signal[k].failed = reach_or_null(step->signal[k].failed, sizeof(uint64_t));
            step->data[k] = reach_or_null(step->data[k], step->words * sizeof(unsigned));
            step->got[k] = reach_or_null(step->got[k], step->words * sizeof(unsigned));
        }
        step->result = hip_double_reach(step->result, 2 * sizeof(*step->result));
    }
    mpixq_test_puts(all);
}

void bench_fused(struct bench_fused all) __attribute__((weak));

static void run_bench_fused(const void *parameters)
{
    struct bench_fused all = *(const struct bench_fused *)parameters;
    size_t words = (all.messages - 1) * all.stride + all.words;

    for (unsigned long long i = 0; i < all.messages; i++) {
        hip_reach_handle(&all.send[i]);
        hip_reach_handle(&all.recv[i]);
    }
    all.data = hip_double_reach(all.data, words * sizeof(*all.data));
    bench_fused(all);
}

void bench_halo(struct bench_halo all) __attribute__((weak));

static void run_bench_halo(const void *parameters)
{
    struct bench_halo all = *(const struct bench_halo *)parameters;
    size_t bytes = (all.board.height + 2) * all.board.stride;

    for (int i = 0; i < BENCH_BORDERS; i++) {
        hip_reach_handle(&all.send[i]);
        hip_reach_handle(&all.recv[i]);
    }
    all.board.from = all.ghosts = hip_double_reach(all.ghosts, bytes);
    all.board.to = hip_double_reach(all.board.to, bytes);
    bench_halo(all);
}

void bench_cg_start(struct bench_cg all) __attribute__((weak));
void bench_cg_pack(struct bench_cg all) __attribute__((weak));
void bench_cg_multiply(struct bench_cg all) __attribute__((weak));
void bench_cg_step(struct bench_cg all) __attribute__((weak));
void bench_cg_turn(struct bench_cg all) __attribute__((weak));
void bench_cg_pipe(struct bench_cg all) __attribute__((weak));
void bench_cg_sum(struct bench_cg all, uint64_t of) __attribute__((weak));

static void *reach_some(const volatile void *address, size_t bytes)
{
    return bytes == 0 ? NULL : hip_double_reach(address, bytes);
}

/* All but the numbers. The halo may be received while a kernel touches the elements before it. */
static struct bench_cg cg_of(const void *parameters)
{
    struct bench_cg all = *(const struct bench_cg *)parameters;
    size_t bytes = all.rows * sizeof(double), halo = all.halo * sizeof(double);

    all.begin = hip_double_reach(all.begin, (all.slices + 1) * sizeof(*all.begin));
    all.columns = reach_some(all.columns, all.entries * sizeof(*all.columns));
    all.values = reach_some(all.values, all.entries * sizeof(*all.values));
    all.in = reach_some(all.in, bytes + halo);
    all.x = reach_some(all.x, bytes);
    all.r = reach_some(all.r, bytes);
    all.p = reach_some(all.p, bytes);
    all.q = reach_some(all.q, bytes);
    all.w = reach_some(all.w, bytes);
    all.s = reach_some(all.s, bytes);
    all.z = reach_some(all.z, bytes);
    all.b = reach_some(all.b, bytes);
    all.image = reach_some(all.image, bytes);
    all.index = reach_some(all.index, all.sends * sizeof(*all.index));
    all.send = reach_some(all.send, all.sends * sizeof(double));
    all.partials = hip_double_reach(all.partials, 2 * all.blocks * sizeof(double));
    all.scalars = hip_double_reach(all.scalars, sizeof(*all.scalars));
    return all;
}

static void run_cg_start(const void *parameters)
{
    bench_cg_start(cg_of(parameters));
}

static void run_cg_pack(const void *parameters)
{
    bench_cg_pack(cg_of(parameters));
}

static void run_cg_multiply(const void *parameters)
{
    bench_cg_multiply(cg_of(parameters));
}

static void run_cg_step(const void *parameters)
{
    bench_cg_step(cg_of(parameters));
}

static void run_cg_turn(const void *parameters)
{
    bench_cg_turn(cg_of(parameters));
}

static void run_cg_pipe(const void *parameters)
{
    bench_cg_pipe(cg_of(parameters));
}

static void run_cg_sum(const void *parameters)
{
    const struct {
        struct bench_cg all;
        uint64_t of;
    } *p = parameters;

    bench_cg_sum(cg_of(parameters), p->of);
}

/* Blocks wait for other processes. */
#define MEET(type, fn) {sizeof(struct type)}, .grid = true, .waits = true, .run = (fn)

static const struct hip_kernel kernels[] = {
    {"bench_fused", MEET(bench_fused, run_bench_fused)},
    {"bench_puts", MEET(bench_device_puts, hip_run_bench_puts)},
    {"bench_halo", MEET(bench_halo, run_bench_halo)},
    {"mpixq_test_device", MEET(device_script, run_device)},
    {"mpixq_test_puts", MEET(puts_script, run_puts)},
    {"mpixq_ring", {8, 8}, .run = run_mpixq_ring},
    {"mpixq_wait", {8, 8, 8, 8}, .waits = true, .run = run_mpixq_wait},
    {"mpixq_copy", {sizeof(struct mpixq_pieces)}, .run = run_mpixq_copy},
    {"mpixq_ring_all", {sizeof(struct mpixq_words)}, .run = run_mpixq_ring_all},
    {"mpixq_wait_all", MEET(mpixq_words, run_mpixq_wait_all)},
    {"mpixq_wait_plain", MEET(mpixq_words, run_mpixq_wait_plain)},
    {"mpixq_wait_combine", MEET(mpixq_words, run_mpixq_wait_combine)},
    {"mpixq_move_all", {sizeof(struct mpixq_moves)}, .grid = true, .run = run_mpixq_move_all},
    {"mpixq_move_plain", {sizeof(struct mpixq_moves)}, .grid = true, .run = run_mpixq_move_plain},
    {"mpixq_pass_all", MEET(mpixq_moves, run_mpixq_pass_all)},
    {"mpixq_pass_plain", MEET(mpixq_moves, run_mpixq_pass_plain)},
    {"mpixq_pass_combine", MEET(mpixq_moves, run_mpixq_pass_combine)},
    {"mpixq_call_back", {sizeof(struct mpixq_recall)}, .waits = true, .run = run_mpixq_call_back},
    {"mpixq_try_end", {8, 8}, .run = run_mpixq_try_end},
    {"mpixq_put_all", {sizeof(struct mpixq_puts)}, .grid = true, .run = run_mpixq_put_all},
    {"mpixq_await_signal",
     {sizeof(struct mpixq_await)},
     .waits = true,
     .run = run_mpixq_await_signal},
    {"mpixq_set_signal", {sizeof(struct mpixq_set)}, .run = run_mpixq_set_signal},
    {"mpixq_combine_all",
     {sizeof(struct mpixq_combine)},
     .grid = true,
     .run = run_mpixq_combine_all},
    {"mpixq_combine_wide",
     {sizeof(struct mpixq_combine)},
     .grid = true,
     .run = run_mpixq_combine_wide},
    {"bench_words", {8, 8, 8, 8, 8, 8}, .grid = true, .run = run_bench_words},
    {"bench_strips", {sizeof(struct bench_strips)}, .grid = true, .run = run_bench_strips},
    {"bench_life", {sizeof(struct bench_board)}, .grid = true, .run = run_bench_life},
    {"bench_bounce", {sizeof(struct bench_bounce)}, .waits = true, .run = run_bench_bounce},
    {"bench_loop", {sizeof(struct bench_loop)}, .waits = true, .run = hip_run_bench_loop},
    {"bench_put_loop",
     {sizeof(struct bench_put_loop)},
     .waits = true,
     .run = hip_run_bench_put_loop},
    {"bench_delay", {8}, .run = run_bench_delay},
    {"bench_product", {8, 8, 8, 8}, .grid = true, .run = run_bench_product},
    {"bench_cg_start", {sizeof(struct bench_cg)}, .grid = true, .run = run_cg_start},
    {"bench_cg_pack", {sizeof(struct bench_cg)}, .grid = true, .run = run_cg_pack},
    {"bench_cg_multiply", {sizeof(struct bench_cg)}, .grid = true, .run = run_cg_multiply},
    {"bench_cg_step", {sizeof(struct bench_cg)}, .grid = true, .run = run_cg_step},
    {"bench_cg_turn", {sizeof(struct bench_cg)}, .grid = true, .run = run_cg_turn},
    {"bench_cg_pipe", {sizeof(struct bench_cg)}, .grid = true, .run = run_cg_pipe},
    {"bench_jacobi_start",
     {sizeof(struct bench_jacobi_start)},
     .grid = true,
     .run = hip_run_jacobi_start},
    {"bench_jacobi_step",
     {sizeof(struct bench_jacobi), 8},
     .grid = true,
     .run = hip_run_jacobi_step},
    {"bench_jacobi_open", MEET(bench_jacobi_fused, hip_run_jacobi_open)},
    {"bench_jacobi_fused", MEET(bench_jacobi_fused, hip_run_jacobi_fused)},
    {"bench_cg_sum", {sizeof(struct bench_cg), 8}, .run = run_cg_sum},
    {"add_numbers", {8, 8}, .grid = true, .run = run_add_numbers},
    {"hip_test_store", {sizeof(struct hip_test_words)}, .run = run_store},
    {"hip_test_wait", {sizeof(struct hip_test_words)}, .waits = true, .run = run_wait},
    {"hip_test_add", {sizeof(struct hip_test_words)}, .run = run_add},
};

const char *hip_kernel_name(int i)
{
    return (size_t)i < sizeof(kernels) / sizeof(kernels[0]) ? kernels[i].name : NULL;
}

const struct hip_kernel *hip_kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            return &kernels[i];
        }
    }
    return NULL;
}
