/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Many captured requests, of which the progress thread finds most at rest: those that are replayed
 * after a while, beside others that are not, get their data. Two ranks, with MTEST_STREAM and
 * MTEST_BUFFER.
 *
 *     graph_many [sets [ms]]   so many sets of 126 requests, 2 unless told otherwise; at rest for
 *                              so long, 30 ms unless told otherwise
 */
#include <stdlib.h>
#include <unistd.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, LANES = 63, MOST = 8, ROUNDS = 3 };

static struct gpu_lanes lanes[MOST];
static void *executables[MOST];
static struct gpu_lanes_side side;

static void make(int sets)
{
    size_t sizes[LANES];

    for (int i = 0; i < LANES; i++) {
        sizes[i] = i % 2 == 0 ? 16 : 5000;
    }
    for (int i = 0; i < sets; i++) {
        gpu_lanes_make(&lanes[i], MTEST_SEND, LANES, sizes, 1 - mtest_rank, TAG + i * LANES,
                       mtest_rank == 0);
        gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
        gpu_lanes_exchange(&lanes[i], side.queue, side.stream);
        executables[i] = gpu_graph_end_executable(side.stream);
    }
}

int main(int argc, char **argv)
{
    int sets = argc > 1 ? atoi(argv[1]) : 2;
    long ms = argc > 2 ? atol(argv[2]) : 30, made[MOST] = {0};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    sets = sets < 1 || sets > MOST ? MOST : sets;
    gpu_lanes_side_make(&side);
    make(sets);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = round % 2; i < sets; i += 2) {
            gpu_graph_launch(executables[i], side.stream);
            made[i]++;
        }
        gpu_lanes_side_finish(&side);
        usleep((useconds_t)ms * 1000);
    }
    for (int i = 0; i < sets; i++) {
        gpu_lanes_check(&lanes[i], made[i], "one of many sets");
        gpu_graph_free_executable(executables[i]);
        gpu_lanes_free(&lanes[i]);
    }
    gpu_lanes_side_free(&side);
    return mtest_end();
}
