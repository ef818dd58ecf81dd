/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * transpose_data.c - the matrix of a rank, its blocks, and whether it is right
 */
#include "transpose.h"

#include <stdlib.h>
#include <string.h>

static const struct element guard = {-1.5, 0.25}, poison = {-2.5, 0.75};

static struct element *make_elements(size_t count)
{
    return bench_alloc((count + 1) * sizeof(struct element));
}

/* Blocks of as many rows as each rank has, of each of so many others. */
static struct span *make_spans(const struct transpose *tr, size_t length, size_t others)
{
    struct span *spans = bench_alloc((size_t)tr->ranks * sizeof *spans);

    for (int rank = 0; rank < tr->ranks; rank++) {
        struct span part = transpose_part(tr, length, rank);

        spans[rank] = (struct span){.begin = part.begin * others, .count = part.count * others};
    }
    return spans;
}

static struct bench_part *make_parts(const struct transpose *tr, const struct span spans[],
                                     bool sends)
{
    struct bench_part *parts = bench_alloc((size_t)tr->ranks * sizeof *parts);

    for (int rank = 0; rank < tr->ranks; rank++) {
        parts[rank] = (struct bench_part){.peer = rank,
                                          .tag = sends ? tr->rank : rank,
                                          .offset = spans[rank].begin * sizeof(struct element),
                                          .bytes = spans[rank].count * sizeof(struct element)};
    }
    return parts;
}

static void make_way(struct transpose *tr, int number)
{
    struct transpose_way *way = &tr->ways[number];

    way->tr = tr;
    way->rows = number == 0 ? tr->rows : tr->cols;
    way->cols = number == 0 ? tr->cols : tr->rows;
    way->from = tr->matrix[number];
    way->to = tr->matrix[1 - number];
    way->mine = transpose_part(tr, way->rows, tr->rank);
    way->gets = transpose_part(tr, way->cols, tr->rank);
    way->sends = make_spans(tr, way->cols, way->mine.count);
    way->recvs = make_spans(tr, way->rows, way->gets.count);
    way->send_parts = make_parts(tr, way->sends, true);
    way->recv_parts = make_parts(tr, way->recvs, false);
    way->own_send = make_elements(transpose_elements(way->sends, tr->ranks));
    way->own_recv = make_elements(transpose_elements(way->recvs, tr->ranks));
}

void transpose_create(struct transpose *tr)
{
    for (int number = 0; number < WAYS; number++) {
        size_t rows = number == 0 ? tr->rows : tr->cols, cols = number == 0 ? tr->cols : tr->rows;

        tr->matrix[number] = make_elements(transpose_part(tr, rows, tr->rank).count * cols);
    }
    for (int number = 0; number < WAYS; number++) {
        make_way(tr, number);
    }
}

void transpose_destroy(struct transpose *tr)
{
    for (int number = 0; number < WAYS; number++) {
        struct transpose_way *way = &tr->ways[number];

        free(way->sends);
        free(way->recvs);
        free(way->send_parts);
        free(way->recv_parts);
        free(way->own_send);
        free(way->own_recv);
        free(tr->matrix[number]);
    }
}

static void pack(void *arg)
{
    const struct transpose_way *way = arg;

    for (int rank = 0; rank < way->tr->ranks; rank++) {
        struct span cols = transpose_part(way->tr, way->cols, rank);
        struct element *block = way->send + way->sends[rank].begin;

        for (size_t c = 0; c < cols.count; c++) {
            for (size_t r = 0; r < way->mine.count; r++) {
                const struct element *from = &way->from[r * way->cols + cols.begin + c];

                *block++ = (struct element){from->real + 1, from->imag + 1};
            }
        }
    }
}

static void unpack(void *arg)
{
    const struct transpose_way *way = arg;

    for (int rank = 0; rank < way->tr->ranks; rank++) {
        struct span rows = transpose_part(way->tr, way->rows, rank);
        const struct element *block = way->recv + way->recvs[rank].begin;

        for (size_t c = 0; c < way->gets.count && rows.count > 0; c++) {
            memcpy(&way->to[c * way->rows + rows.begin], block + c * rows.count,
                   rows.count * sizeof *block);
        }
    }
}

const struct bench_work transpose_packing = {pack, NULL};
const struct bench_work transpose_unpacking = {unpack, NULL};

/* As it is before iteration number k: each has added 1. */
static struct element value(const struct transpose_way *way, size_t row, size_t col, long k)
{
    const struct transpose *tr = way->tr;
    size_t first = way == &tr->ways[0] ? row * tr->cols + col : col * tr->cols + row;

    return (struct element){(double)first + (double)k, (double)k - 2 * (double)first};
}

static void fill(const struct transpose_way *way, struct element *rows, long k)
{
    for (size_t r = 0; r < way->mine.count; r++) {
        for (size_t c = 0; c < way->cols; c++) {
            rows[r * way->cols + c] = value(way, way->mine.begin + r, c, k);
        }
    }
}

static void poison_all(struct element *elements, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        elements[i] = poison;
    }
    elements[count] = guard;
}

static bool differs(const struct element *a, const struct element *b)
{
    return memcmp(a, b, sizeof *a) != 0;
}

void transpose_begin(void *ctx, enum bench_mode mode)
{
    struct transpose *tr = ctx;

    for (int number = 0; number < WAYS; number++) {
        struct transpose_way *way = &tr->ways[number];
        bool linked = bench_mode_is_baseline(mode);

        way->send = linked ? (struct element *)(void *)way->links[mode].send : way->own_send;
        way->recv = linked ? (struct element *)(void *)way->links[mode].recv : way->own_recv;
        poison_all(way->recv, transpose_elements(way->recvs, tr->ranks));
        poison_all(tr->matrix[number], way->mine.count * way->cols);
    }
    fill(&tr->ways[0], tr->matrix[0], 0);
}

void transpose_alltoallv(const struct transpose_way *way)
{
    int ranks = way->tr->ranks, *all = bench_alloc(4 * (size_t)ranks * sizeof *all);

    /* In pairs of doubles: the counts of large matrices fit. */
    for (int rank = 0; rank < ranks; rank++) {
        all[rank] = (int)way->sends[rank].count;
        all[ranks + rank] = (int)way->sends[rank].begin;
        all[2 * ranks + rank] = (int)way->recvs[rank].count;
        all[3 * ranks + rank] = (int)way->recvs[rank].begin;
    }
    PMPI_Alltoallv(way->send, all, all + ranks, MPI_C_DOUBLE_COMPLEX, way->recv, all + 2 * ranks,
                   all + 3 * ranks, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    free(all);
}

/* The last iteration once more, in memory of its own. */
static long count_wrong(const struct transpose_way *way, long iterations)
{
    struct transpose_way again = *way;
    size_t count = way->gets.count * way->rows;
    struct element *from = make_elements(way->mine.count * way->cols), *to = make_elements(count);
    long wrong = differs(&way->to[count], &guard);

    again.send = make_elements(transpose_elements(way->sends, way->tr->ranks));
    again.recv = make_elements(transpose_elements(way->recvs, way->tr->ranks));
    again.from = from;
    again.to = to;
    fill(way, from, iterations - 1);
    pack(&again);
    transpose_alltoallv(&again);
    unpack(&again);
    for (size_t i = 0; i < count; i++) {
        wrong += differs(&way->to[i], &to[i]);
    }
    free(again.send);
    free(again.recv);
    free(from);
    free(to);
    return wrong;
}

long transpose_errors(void *ctx, enum bench_mode mode, long iterations)
{
    const struct transpose *tr = ctx;
    long wrong = count_wrong(&tr->ways[(iterations - 1) % WAYS], iterations);

    (void)mode;
    for (int number = 0; number < WAYS; number++) {
        const struct transpose_way *way = &tr->ways[number];

        wrong += differs(&way->recv[transpose_elements(way->recvs, tr->ranks)], &guard);
    }
    return wrong;
}
