/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The form of mpix_queue_partitions.hpp with exceptions, in a program that has the other too. */
#define MPIXQ_EXCEPTIONS
#include <mpix_queue_partitions.hpp>

#include "check.hpp"
#include "thrown.hpp"

#include <vector>

void throwing(int peer)
{
    enum { PARTS = 3, EACH = 4, N = PARTS * EACH };
    std::vector<double> out(N), in(N + 2, -1.0);
    mpixq::requests r;

    CHECK(kind_of([&] { mpixq::psend_init(r, out.data(), -1, EACH, peer, 17); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::precv_init(r, in.data(), 1, 1, MPI_ANY_SOURCE, 17); }) ==
          MPIXQ_ERR_ARG);
    CHECK(r.size() == 0);
    CHECK(kind_of([&] { mpixq::psend_init(r, out.data(), PARTS, EACH, peer, 17); }) ==
          MPIXQ_ERR_NONE);
    CHECK(kind_of([&] { mpixq::precv_init(r, in.data() + 1, 1, N, peer, 17); }) == MPIXQ_ERR_NONE);
    CHECK(kind_of([&] { mpixq::pready(0, r[0]); }) == MPIXQ_ERR_STATE);
    CHECK(kind_of([&] { mpixq::pbuf_prepare(r[1]); }) == MPIXQ_ERR_STATE);
    r.match();
    MPI_Startall(2, r.data());
    for (int i = 0; i < N; i++) {
        out[i] = 100.0 * peer + i;
    }
    CHECK(kind_of([&] { mpixq::pready_range(1, PARTS, r[0]); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::pready_list({0, 0}, r[0]); }) == MPIXQ_ERR_STATE);
    CHECK(kind_of([&] { (void)mpixq::parrived(r[1], 1); }) == MPIXQ_ERR_ARG);
    CHECK(kind_of([&] { mpixq::pready_list({0, 1, 2}, r[0]); }) == MPIXQ_ERR_NONE);
    MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++) {
        CHECK(in[i + 1] == 100.0 * (1 - peer) + i);
    }
    CHECK(in.front() == -1.0 && in.back() == -1.0);
    CHECK(*mpixq::parrived(r[1], 0));
}
