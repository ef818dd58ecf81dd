/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The form of mpix_queue.hpp with exceptions, in a program that has the other one too. */
#define MPIXQ_EXCEPTIONS
#include <mpix_queue.hpp>

#include "check.hpp"
#include "thrown.hpp"

#include <vector>

void throwing(int peer)
{
    std::vector<double> out(3, 1.5 + peer), in(5, -1.0);
    mpixq::requests r;
    auto queue = mpixq::queue::create();

    CHECK(kind_of([&] { r.send(out.data(), out.size(), peer, 7); }) == MPIXQ_ERR_NONE);
    CHECK(kind_of([&] { r.receive(in.data() + 1, 3, peer, 7); }) == MPIXQ_ERR_NONE);
    CHECK(kind_of([&] { queue->start(r); }) == MPIXQ_ERR_STATE);
    r.match();
    queue->start(r);
    CHECK(kind_of([&] { queue->free(); }) == MPIXQ_ERR_STATE);
    queue->wait(r);
    queue->synchronize();
    for (int i = 0; i < 3; i++) {
        CHECK(in[i + 1] == 1.5 + (1 - peer));
    }
    CHECK(in[0] == -1.0 && in[4] == -1.0);
    CHECK(*queue->test());
    /* A code of MPI that is none of this library is thrown as well. */
    bool thrown = false; /* a code of MPI that is none of this library too */
    try {
        r.send(out.data(), out.size(), 12345, 7);
    } catch (const mpixq::error &) {
        thrown = true;
    }
    CHECK(thrown && r.size() == 2);
    CHECK(kind_of([] { (void)mpixq::queue::create(static_cast<MPIXQ_Queue_type>(99)); }) ==
          MPIXQ_ERR_ARG);
}
