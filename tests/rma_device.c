/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts with signals by kernels, by a thread, a warp and a block, of several sizes: between two
 * ranks, each a round ahead of the other at most; mixed with puts, waits and resets by the host;
 * with a time limit, events too many and too early; and handles that cannot be. With MTEST_STREAM
 * and MTEST_BUFFER=device.
 */
#include "mtest.h"

#include <mpix_queue_device_rma.h>

#include <string.h>

#include "device/device_code.h"
#include "mtest_gpu.h"

enum { MOST = 1 << 18, THREADS = 256, ROUNDS = 40, SHORT_NS = 20000000 };

/* Words of a window: two areas that are sent, then two that are put to. */
static unsigned *window_words, *results, *seen;
static MPIX_Window window;
static MPIX_Signal signals[2];
static MPIX_Device_signal device_signals[2];
static MPIX_Device_transfer transfers[2];
static MPIX_Blk sources[2], targets[2];
static void *stream;
static unsigned words;

/* Two ranks put to each other; the last of an odd number of them to itself. */
static int peer(void)
{
    return (mtest_rank ^ 1) < mtest_size ? mtest_rank ^ 1 : mtest_rank;
}

/* What a rank sends in round 0. */
static unsigned value_of(int rank)
{
    return (unsigned)rank * 100000u + 7;
}

static unsigned *area(int which)
{
    return window_words + (size_t)which * MOST;
}

static void make(unsigned n)
{
    words = n;
    for (int k = 0; k < 2; k++) {
        MPIX_Blk mine;

        MTEST_OK(MPIX_Signal_init(window, 1, &signals[k]));
        MTEST_OK(MPIX_Device_signal_init(signals[k], &device_signals[k]));
        MTEST_OK(MPIX_Blk_init(window, (MPI_Aint)(k * MOST * sizeof(unsigned)),
                               (MPI_Aint)(n * sizeof(unsigned)), MPIX_SIGNAL_NULL, &sources[k]));
        MTEST_OK(MPIX_Blk_init(window, (MPI_Aint)((2 + k) * MOST * sizeof(unsigned)),
                               (MPI_Aint)(n * sizeof(unsigned)), signals[k], &mine));
        MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, peer(), k, &targets[k], sizeof mine, MPI_BYTE,
                     peer(), k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MTEST_OK(MPIX_Device_transfer_init(&sources[k], &targets[k], &transfers[k]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&signals[0]));
    MTEST_OK(MPIX_Signal_free(&signals[1]));
}

static struct puts_step step_of(enum puts_do todo, MPIXQ_Device_scope scope)
{
    struct puts_step step = {.todo = (unsigned)todo,
                             .scope = (unsigned)scope,
                             .value = value_of(mtest_rank),
                             .theirs = value_of(peer()),
                             .words = words,
                             .limit_ns = MPIX_DEVICE_FOREVER,
                             .result = seen};

    for (int k = 0; k < 2; k++) {
        step.transfer[k] = transfers[k];
        step.signal[k] = device_signals[k];
        step.data[k] = area(k);
        step.got[k] = area(2 + k);
    }
    return step;
}

/* Returns the error; and no word that was compared was wrong. */
static unsigned run(const struct puts_step *step)
{
    struct puts_script script = {.n = 1, .step = {*step}};

    results[0] = results[1] = 0;
    device_code_launch_puts(stream, THREADS, &script);
    mtest_gpu_synchronize(stream);
    MTEST_EQ(results[1], 0);
    return results[0];
}

static unsigned run_one(enum puts_do todo, MPIXQ_Device_scope scope)
{
    struct puts_step step = step_of(todo, scope);

    return run(&step);
}

static void test_rounds(MPIXQ_Device_scope scope, unsigned n)
{
    struct puts_step step;

    make(n);
    step = step_of(PUTS_ROUNDS, scope);
    step.count = ROUNDS;
    MTEST_EQ(run(&step), MPIX_DEVICE_SUCCESS);
    end();
}

/* Who puts, who waits and who resets changes from round to round: the host and kernels. */
static void test_mixed(void)
{
    make(1000);
    for (unsigned round = 0; round < 16; round++) {
        struct puts_step step = step_of(PUTS_FILL, MPIX_DEVICE_BLOCK);

        step.value += round;
        step.theirs += round;
        MTEST_EQ(run(&step), MPIX_DEVICE_SUCCESS);
        if ((round & 1) != 0) {
            MTEST_OK(MPIX_Put(&sources[0], &targets[0]));
        } else {
            step.todo = PUTS_PUT;
            MTEST_EQ(run(&step), MPIX_DEVICE_SUCCESS);
        }
        if ((round & 2) != 0) {
            MTEST_OK(MPIX_Signal_wait(signals[0]));
        }
        step.todo = (round & 12) == 8 ? PUTS_WAIT_RESET : PUTS_WAIT; /* and compare */
        MTEST_EQ(run(&step), MPIX_DEVICE_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        if ((round & 4) != 0) {
            MTEST_OK(MPIX_Signal_reset(signals[0]));
        } else if (step.todo == PUTS_WAIT) {
            MTEST_EQ(run_one(PUTS_RESET, MPIX_DEVICE_WARP), MPIX_DEVICE_SUCCESS);
        }
        MTEST_OK(MPIX_Window_flush(window));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    end();
}

/* A wait that resets and fails leaves the signal as it was. */
static void test_errors(void)
{
    struct puts_step step;

    make(10);
    step = step_of(PUTS_WAIT, MPIX_DEVICE_WARP);
    step.limit_ns = SHORT_NS;
    MTEST_EQ(run(&step), MPIX_DEVICE_ERR_TIMEOUT);
    step.todo = PUTS_WAIT_RESET;
    MTEST_EQ(run(&step), MPIX_DEVICE_ERR_TIMEOUT);
    MTEST_EQ(run_one(PUTS_RESET, MPIX_DEVICE_THREAD), MPIX_DEVICE_ERR_OUTSTANDING);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_EQ(run_one(PUTS_FILL, MPIX_DEVICE_BLOCK), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(run_one(PUTS_PUT, MPIX_DEVICE_BLOCK), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(run_one(PUTS_WAIT, MPIX_DEVICE_BLOCK), MPIX_DEVICE_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_EQ(run_one(PUTS_PUT, MPIX_DEVICE_THREAD), MPIX_DEVICE_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_EQ(run_one(PUTS_WAIT, MPIX_DEVICE_BLOCK), MPIX_DEVICE_ERR_SURPLUS);
    MTEST_EQ(run_one(PUTS_WAIT_RESET, MPIX_DEVICE_WARP), MPIX_DEVICE_ERR_SURPLUS);
    MTEST_EQ(run_one(PUTS_RESET, MPIX_DEVICE_BLOCK), MPIX_DEVICE_ERR_SURPLUS);
    MTEST_KIND_TEXT(MPIX_Signal_reset(signals[0]), MPIXQ_ERR_STATE, "1 events too many");
    end();
}

/* A put to nobody; and what handles are not made of. */
static void test_handles(void)
{
    static const MPIX_Device_transfer none;
    static const MPIX_Blk nobody;
    MPIX_Window host;
    MPIX_Signal signal;
    MPIX_Blk blk, large;
    MPIX_Device_transfer transfer = none;
    MPIX_Device_signal device_signal;
    unsigned *base = NULL, number = 0;
    struct puts_step step;

    make(10);
    MTEST_OK(MPIX_Device_transfer_init(&sources[0], &nobody, &transfers[0]));
    step = step_of(PUTS_PUT, MPIX_DEVICE_BLOCK);
    MTEST_EQ(run(&step), MPIX_DEVICE_SUCCESS);
    MTEST_KIND_TEXT(MPIX_Device_transfer_init(NULL, &targets[0], &transfer), MPIXQ_ERR_ARG,
                    "local");
    MTEST_KIND_TEXT(MPIX_Device_transfer_init(&sources[0], &targets[0], NULL), MPIXQ_ERR_ARG,
                    "transfer");
    MTEST_KIND_TEXT(
        MPIXQ_Device_transfer_init(&sources[0], &targets[0], &transfer, MPIXQ_DEVICE_RMA_ABI + 1),
        MPIXQ_ERR_UNSUPPORTED, "");
    MTEST_OK(MPIX_Blk_init(window, 0, 8, MPIX_SIGNAL_NULL, &large));
    MTEST_KIND_TEXT(MPIX_Device_transfer_init(&large, &targets[0], &transfer), MPIXQ_ERR_ARG,
                    "bytes");
    MTEST_KIND_TEXT(MPIX_Device_signal_init(MPIX_SIGNAL_NULL, &device_signal), MPIXQ_ERR_ARG,
                    "sig");
    MTEST_KIND_TEXT(MPIX_Device_signal_init(signals[0], NULL), MPIXQ_ERR_ARG, "signal");
    MTEST_KIND_TEXT(MPIX_Device_window_ptr(window, mtest_size, &base), MPIXQ_ERR_ARG, "rank");
    MTEST_KIND_TEXT(MPIX_Device_window_ptr(window, 0, NULL), MPIXQ_ERR_ARG, "base");
    MTEST_KIND_TEXT(MPIX_Device_window_ptr(MPIX_WINDOW_NULL, 0, &base), MPIXQ_ERR_ARG, "win");
    MTEST_OK(MPIX_Window_allocate(8, MPI_COMM_WORLD, MPI_INFO_NULL, &base, &host));
    MTEST_OK(MPIX_Signal_init(host, 1, &signal));
    MTEST_OK(MPIX_Blk_init(host, 0, 8, signal, &blk));
    MTEST_KIND_TEXT(MPIX_Device_transfer_init(&blk, &blk, &transfer), MPIXQ_ERR_UNSUPPORTED,
                    "host");
    MTEST_KIND_TEXT(MPIX_Device_signal_init(signal, &device_signal), MPIXQ_ERR_UNSUPPORTED, "host");
    MTEST_OK(MPIX_Device_window_ptr(host, mtest_rank, &base));
    MTEST_CHECK(base == NULL);
    MTEST_EQ(memcmp(&transfer, &none, sizeof none), 0);
    MTEST_OK(MPIX_Window_free(&host));
    MTEST_OK(MPIX_Device_window_ptr(window, mtest_rank, &base));
    MTEST_CHECK(base == window_words);
    /* The peer's is what the peer has there. */
    number = value_of(mtest_rank);
    mtest_gpu_copy_now(area(3), &number, sizeof number);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Device_window_ptr(window, peer(), &base));
    mtest_gpu_copy_now(&number, base + 3 * (size_t)MOST, sizeof number);
    MTEST_EQ(number, value_of(peer()));
    end();
}

int main(int argc, char **argv)
{
    static const unsigned sizes[] = {1, 2, 33, 1001, 20000};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() != NULL && mtest_gpu_devices() > 1) {
        mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    }
    if (mtest_gpu_kind() == NULL || !device_code_open()) {
        mtest_skip("there is no GPU (MTEST_STREAM), or no compiler for its kernels");
        return mtest_end();
    }
    stream = mtest_gpu_stream();
    results = device_code_results(&seen);
    window_words = mtest_gpu_alloc(MTEST_DEVICE, 4 * (size_t)MOST * sizeof(unsigned));
    MTEST_OK(MPIX_Window_create(window_words, (MPI_Aint)(4 * (size_t)MOST * sizeof(unsigned)),
                                MPI_COMM_WORLD, MPI_INFO_NULL, &window));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_rounds(MPIX_DEVICE_BLOCK, sizes[i]);
        test_rounds(MPIX_DEVICE_WARP, sizes[i]);
        test_rounds(MPIX_DEVICE_THREAD, sizes[i]);
    }
    test_rounds(MPIX_DEVICE_BLOCK, MOST);
    test_mixed();
    test_errors();
    test_handles();
    MTEST_OK(MPIX_Window_free(&window));
    mtest_gpu_stream_end(stream);
    mtest_gpu_free(MTEST_DEVICE, window_words);
    return mtest_end();
}
