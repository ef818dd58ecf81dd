/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_beside.c - what a wait that waits costs other work of the GPU: a matrix product on another
 * stream is timed alone, and while even ranks wait for odd ones, which do not start
 */
#include "bench_queue.h"

#include <stdlib.h>

enum { ROUNDS = 9 };

struct product {
    size_t side;
    float *a, *b, *c; /* in memory of the device */
    float *image;
    long wrong; /* elements of all products */
};

/* Small whole numbers, so that sums are exact. */
static float element(size_t row, size_t column, size_t period)
{
    return (float)((row + 3 * column) % period);
}

static void fill(const struct product *product, float *matrix, size_t period)
{
    for (size_t i = 0; i < product->side * product->side; i++) {
        product->image[i] = element(i / product->side, i % product->side, period);
    }
    bench_memory_copy(matrix, product->image, product->side * product->side * sizeof(float));
}

static void open_product(struct product *product)
{
    size_t bytes = product->side * product->side * sizeof(float);

    product->a = bench_memory(bytes);
    product->b = bench_memory(bytes);
    product->c = bench_memory(bytes);
    product->image = bench_alloc(bytes);
    fill(product, product->a, 5);
    fill(product, product->b, 7);
}

static void close_product(struct product *product)
{
    bench_memory_free(product->a);
    bench_memory_free(product->b);
    bench_memory_free(product->c);
    free(product->image);
}

/* The last row stands for the others. */
static void spoil(const struct product *product)
{
    size_t side = product->side;

    for (size_t column = 0; column < side; column++) {
        product->image[column] = -1;
    }
    bench_memory_copy(product->c + (side - 1) * side, product->image, side * sizeof(float));
}

static void check(struct product *product)
{
    size_t side = product->side;

    bench_memory_copy(product->image, product->c + (side - 1) * side, side * sizeof(float));
    for (size_t column = 0; column < side; column++) {
        float sum = 0;

        for (size_t k = 0; k < side; k++) {
            sum += element(side - 1, k, 5) * element(k, column, 7);
        }
        product->wrong += product->image[column] != sum;
    }
}

/* On the other stream. */
static double multiply(struct product *product)
{
    uint64_t side = product->side;
    void *parameters[] = {(void *)&product->a, (void *)&product->b, (void *)&product->c, &side};
    double before;

    bench_device_turn();
    spoil(product);
    before = MPI_Wtime();
    bench_device_launch(BENCH_KERNEL_PRODUCT, product->side / 4, product->side, parameters);
    bench_device_synchronize();
    before = MPI_Wtime() - before;
    check(product);
    bench_device_turn();
    return before;
}

/* One round of a mode; alone[] and beside[] are of this rank. */
static void one_round(struct product *product, const struct bench_beside *what,
                      enum bench_mode mode, double *alone, double *beside)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    what->begin(what->ctx, mode);
    MPI_Barrier(MPI_COMM_WORLD);
    *alone = multiply(product);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 0) {
        what->enqueue(what->ctx, mode, 1);
        *beside = multiply(product);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 1) {
        what->enqueue(what->ctx, mode, 1);
    }
    bench_queue_wait(what->bq);
}

static long measure(struct product *product, const struct bench_options *opts,
                    const struct bench_beside *what, FILE *out)
{
    double alone[ROUNDS], beside[ROUNDS] = {0};
    const char *before = " milliseconds:";
    long wrong = 0;

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (!opts->use_mode[mode] || !bench_mode_is_enqueued((enum bench_mode)mode) ||
            bench_mode_is_graph((enum bench_mode)mode)) {
            continue;
        }
        for (int i = 0; i < ROUNDS; i++) {
            one_round(product, what, (enum bench_mode)mode, &alone[i], &beside[i]);
            wrong += what->errors(what->ctx, (enum bench_mode)mode, 1);
        }
        if (out != NULL) {
            double first = bench_summarise(alone, ROUNDS).median;
            double second = bench_summarise(beside, ROUNDS).median;

            fprintf(out, "%s alone %.3f, beside %s %.3f (%.2f)", before, first * 1e3,
                    bench_mode_names[mode], second * 1e3, second / first);
            before = ";";
        }
    }
    return wrong + product->wrong;
}

void bench_beside(struct bench_report *report, const struct bench_options *opts, size_t side,
                  const struct bench_beside *what)
{
    struct product product = {.side = side};
    long wrong;

    open_product(&product);
    (void)multiply(&product); /* loads what there is to load */
    if (report->table != NULL) {
        fprintf(report->table, "%9s a product of %zu x %zu and a wait that waits,", "", side, side);
    }
    wrong = measure(&product, opts, what, report->table);
    if (report->table != NULL) {
        fputc('\n', report->table);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    report->errors += wrong;
    close_product(&product);
}
