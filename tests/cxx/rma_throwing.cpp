/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The form of mpix_queue_rma.hpp with exceptions, in a program that has the other one too. */
#define MPIXQ_EXCEPTIONS
#include <mpix_queue_rma.hpp>

#include "check.hpp"
#include "thrown.hpp"

#include <cstdlib>

void throwing(int peer)
{
    enum { N = 50, GUARD = -5 };
    const std::size_t bytes = N * sizeof(int);
    auto window = *mpixq::window::allocate(2 * bytes + sizeof(int));
    auto arrived = *mpixq::signal::create(window, 1);
    mpixq::block out = *window.block(0, bytes), in = *window.block(bytes, bytes, arrived), theirs{};
    int *numbers = window.data<int>();
    auto queue = *mpixq::queue::create();

    for (int i = 0; i < 2 * N + 1; i++) {
        numbers[i] = i < N ? 100 * peer + i : GUARD;
    }
    MPI_Sendrecv(&in, sizeof in, MPI_BYTE, peer, 3, &theirs, sizeof theirs, MPI_BYTE, peer, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(kind_of([&] { mpixq::enqueue_put(queue, out, theirs); }) == MPIXQ_ERR_NONE);
    CHECK(kind_of([&] { mpixq::enqueue_wait(queue, arrived); }) == MPIXQ_ERR_NONE);
    queue.synchronize();
    for (int i = 0; i < N; i++) {
        CHECK(numbers[i] == 100 * peer + i && numbers[N + i] == 100 * (1 - peer) + i);
    }
    CHECK(numbers[2 * N] == GUARD);
    arrived.reset();
    CHECK(kind_of([&] { arrived.reset(); }) == MPIXQ_ERR_STATE);
    CHECK(kind_of([&] { (void)mpixq::signal::create(window, 0); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { (void)window.block(2 * bytes, bytes); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { (void)window.block(0, 1, mpixq::signal()); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::put(out, *window.block(0, 1)); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::get(out, *window.block(0, 1)); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { (void)mpixq::plan::create({&out, 1}, {&in, 0}); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::plan().start(); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::enqueue_start(queue, mpixq::plan()); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([] { (void)mpixq::window::create(nullptr, 1); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([] { mpixq::window().flush(); }) == MPIXQ_ERR_ARG);
    /* What is thrown ends owners: plan and signal are freed, and the window is not. */
    MPIXQ_Window kept = MPIXQ_WINDOW_NULL;
    CHECK(kind_of([&] {
              auto lost = *mpixq::window::allocate(8);
              auto signal = *mpixq::signal::create(lost);
              auto plan = *mpixq::plan::create(out, theirs);

              kept = lost.get();
              signal.reset();
          }) == MPIXQ_ERR_STATE);
    mpixq::window again(kept);
    again.free();
    CHECK(again.get() == MPIXQ_WINDOW_NULL);
    window.free();
    CHECK(arrived.get() == MPIXQ_SIGNAL_NULL);
}
