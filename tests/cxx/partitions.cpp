/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What mpix_queue_partitions.hpp does, on 2 ranks: requests of both ends, with as many partitions
 * and with others, ready in every form; started by the host and on queues, on host streams, on
 * streams of HIP where MTEST_STREAM=hip says so; errors, and the form with exceptions. */
#include <mpix_queue_partitions.hpp>

#include "check.hpp"

#include <array>
#include <atomic>
#include <complex>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <string>
#include <vector>

int wrong = 0;

/* Parts that are sent, of so many elements. They are received in half as many. */
enum { PARTS = 6, EACH = 35, N = PARTS * EACH, STEPS = 8 };

/* What is exchanged with the peer in parts, and what lies around it. */
template <class T> struct exchange {
    std::vector<T> out = std::vector<T>(N), in = std::vector<T>(N + 2, T(99));
    mpixq::requests r;

    exchange(int peer, int tag, MPI_Info info = MPI_INFO_NULL)
    {
        CHECK(mpixq::psend_init(r, out.data(), PARTS, EACH, peer, tag, MPI_COMM_WORLD, info).ok());
        CHECK(mpixq::precv_init(r, in.data() + 1, PARTS / 2, 2 * EACH, peer, tag).ok());
        CHECK(r.size() == 2 && r.match().ok());
    }
    void fill(int part, int rank, int step)
    {
        for (int i = part * EACH; i < (part + 1) * EACH; i++) {
            out[i] = T((rank + 2 * step + 3 * i) % 64);
        }
    }
    /* How much of a part of those that were sent is wrong. */
    int differences(int first, int n, int peer, int step) const
    {
        int bad = !(in.front() == T(99)) + !(in.back() == T(99));

        for (int i = first; i < first + n; i++) {
            bad += !(in[i + 1] == T((peer + 2 * step + 3 * i) % 64));
        }
        return bad;
    }
};

/* All parts become ready in one of the ways that there are. */
template <class T> static void ready(exchange<T> &e, int rank, int step)
{
    MPI_Request request = e.r[0];

    for (int part = 0; part < PARTS; part++) {
        e.fill(part, rank, step);
    }
    if (step % 4 == 0) {
        for (int part = PARTS - 1; part >= 0; part--) {
            CHECK(mpixq::pready(part, request).ok());
        }
    } else if (step % 4 == 1) {
        CHECK(mpixq::pready_range(2, PARTS - 1, request).ok());
        CHECK(mpixq::pready_range(0, 1, request).ok());
    } else if (step % 4 == 2) {
        const int some[] = {5, 1};
        std::vector<int> others = {4, 0}, nothing;

        CHECK(mpixq::pready_list(some, request).ok());
        CHECK(mpixq::pready_list(nothing, request).ok());
        CHECK(mpixq::pready_list(others, request).ok());
        CHECK(mpixq::pready_list({2, 3}, request).ok());
    } else {
        std::array<int, 3> some = {1, 3, 5};
        const int others[] = {0, 2, 4, 77};

        CHECK(mpixq::pready_list(some, request).ok());
        CHECK(mpixq::pready_list(others, 3, request).ok());
    }
}

/* Started by the host, which sees each part come. */
template <class T> static void by_host(int rank, int peer, int tag, MPI_Info info = MPI_INFO_NULL)
{
    exchange<T> e(peer, tag, info);

    for (int step = 0; step < STEPS; step++) {
        CHECK(MPI_Startall(2, e.r.data()) == MPI_SUCCESS);
        CHECK(mpixq::pbuf_prepare(e.r[1]).ok() && mpixq::pbuf_prepare(e.r[0]).ok());
        auto arrived = mpixq::parrived(e.r[1], 0);
        CHECK(arrived.ok());
        if (rank == 1) {
            /* Rank 0 has none ready before it has heard from this one. */
            CHECK(!*arrived);
            MPI_Send(nullptr, 0, MPI_INT, 0, 90, MPI_COMM_WORLD);
        } else {
            MPI_Recv(nullptr, 0, MPI_INT, 1, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        ready(e, rank, step);
        for (int part = 0; part < PARTS / 2; part++) {
            do {
                arrived = mpixq::parrived(e.r[1], part);
                CHECK(arrived.ok());
            } while (arrived.ok() && !*arrived);
            CHECK(e.differences(part * 2 * EACH, 2 * EACH, peer, step) == 0);
        }
        CHECK(MPI_Waitall(2, e.r.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(e.differences(0, N, peer, step) == 0);
    }
    CHECK(e.r.free().ok() && e.r.size() == 0);
}

/* On a queue, with the parts made ready by the host, after the start is enqueued. */
template <class T> static void on_queue(mpixq::queue &queue, int rank, int peer, int tag)
{
    exchange<T> e(peer, tag);

    for (int step = 0; step < STEPS; step++) {
        CHECK(queue.start(e.r).ok());
        ready(e, rank, step);
        CHECK(queue.wait(e.r).ok());
        CHECK(queue.synchronize().ok());
        CHECK(e.differences(0, N, peer, step) == 0);
        auto arrived = mpixq::parrived(e.r[1], PARTS / 2 - 1);
        CHECK(arrived.ok() && *arrived);
    }
}

/* By functions that the stream runs: the host sees nothing until the end of all steps. */
static void in_order(int rank, int peer, int tag)
{
    exchange<long> e(peer, tag);
    std::atomic<int> bad{0}, looked{0};
    {
        auto stream = *mpixq::host_stream::create();
        auto queue = *mpixq::queue::on(stream);

        for (int step = 0; step < STEPS; step++) {
            CHECK(queue.start(e.r).ok());
            for (int part = 0; part < PARTS; part++) {
                CHECK(stream
                          .launch([&, part, step] {
                              e.fill(part, rank, step);
                              bad += !mpixq::pready(part, e.r[0]).ok();
                          })
                          .ok());
            }
            CHECK(queue.wait(e.r).ok());
            CHECK(stream
                      .launch([&, step] {
                          bad += e.differences(0, N, peer, step);
                          looked++;
                      })
                      .ok());
        }
        /* Their destructors wait. */
    }
    CHECK(bad == 0 && looked == STEPS);
}

/* Of a datatype of MPI, of which there are other elements at the other end; and owners moved. */
static void datatypes(int rank, int peer)
{
    struct two {
        int a, b;
    };
    std::vector<two> out(N, two{-1, -1}), in(N + 2, two{-9, -9});
    mpixq::requests made, r;
    MPI_Datatype pair = MPI_DATATYPE_NULL;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK(mpixq::psend_init(made, out.data(), PARTS, EACH, pair, peer, 7, MPI_COMM_WORLD,
                            MPI_INFO_NULL)
              .ok());
    CHECK(mpixq::precv_init(made, in.data() + 1, 1, 2 * N, MPI_INT, peer, 7, MPI_COMM_WORLD,
                            MPI_INFO_NULL)
              .ok());
    MPI_Type_free(&pair);
    r = std::move(made);
    CHECK(made.size() == 0 && r.size() == 2);
    CHECK(r.match().ok() && MPI_Startall(2, r.data()) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        out[i] = {rank + 3 * i, -i};
    }
    CHECK(mpixq::pready_range(0, PARTS - 1, r[0]).ok());
    CHECK(MPI_Waitall(2, r.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        CHECK(in[i + 1].a == peer + 3 * i && in[i + 1].b == -i);
    }
    CHECK(in.front().a == -9 && in.front().b == -9 && in.back().a == -9 && in.back().b == -9);
}

static bool says(const mpixq::status &s, MPIXQ_Error kind, const char *text)
{
    return !s.ok() && s.kind() == kind && s.message().find(text) != std::string::npos;
}

static void errors(int rank, int peer)
{
    constexpr std::size_t beyond = std::numeric_limits<std::size_t>::max();
    exchange<int> e(peer, 8);
    mpixq::requests r;
    int number = 0;

    CHECK(says(mpixq::psend_init(r, &number, -1, 1, peer, 9), MPIXQ_ERR_ARG, "partitions"));
    CHECK(says(mpixq::psend_init(r, &number, 1, beyond, peer, 9), MPIXQ_ERR_ARG, "count"));
    CHECK(says(
        mpixq::precv_init(r, &number, 1, beyond, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL),
        MPIXQ_ERR_ARG, "count"));
    CHECK(says(mpixq::precv_init(r, &number, 1, 1, MPI_ANY_SOURCE, 9), MPIXQ_ERR_ARG, "source"));
    CHECK(!mpixq::psend_init(r, &number, 1, 1, 12345, 9).ok());
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpixq_partitions", "0");
    CHECK(says(mpixq::psend_init(r, &number, 1, 1, peer, 9, MPI_COMM_WORLD, info), MPIXQ_ERR_ARG,
               "mpixq_partitions"));
    CHECK(says(mpixq::precv_init(r, &number, 1, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, info),
               MPIXQ_ERR_ARG, "mpixq_partitions"));
    MPI_Info_free(&info);
    CHECK(r.size() == 0);

    MPI_Request out = e.r[0], in = e.r[1];
    CHECK(says(mpixq::pready(0, out), MPIXQ_ERR_STATE, "not started"));
    CHECK(says(mpixq::pbuf_prepare(out), MPIXQ_ERR_STATE, "not started"));
    CHECK(*mpixq::parrived(in, 0) && *mpixq::parrived(MPI_REQUEST_NULL, 3));
    CHECK(MPI_Startall(2, e.r.data()) == MPI_SUCCESS);
    CHECK(says(mpixq::pready(PARTS, out), MPIXQ_ERR_ARG, "argument partition"));
    CHECK(says(mpixq::pready_range(2, 1, out), MPIXQ_ERR_ARG, "partition_low"));
    CHECK(says(mpixq::pready_list({1, PARTS}, out), MPIXQ_ERR_ARG, "argument partition"));
    CHECK(says(mpixq::pready_list({1, 2, 1}, out), MPIXQ_ERR_STATE, "ready already"));
    CHECK(says(mpixq::pready_list(&number, (std::size_t(1) << 32) + 1, out), MPIXQ_ERR_ARG,
               "length"));
    CHECK(says(mpixq::pready(0, in), MPIXQ_ERR_REQUEST, "a receive"));
    CHECK(says(mpixq::pready(0, MPI_REQUEST_NULL), MPIXQ_ERR_REQUEST, "not a partitioned"));
    CHECK(says(mpixq::parrived(out, 0).why(), MPIXQ_ERR_REQUEST, "a send"));
    CHECK(says(mpixq::parrived(in, PARTS / 2).why(), MPIXQ_ERR_ARG, "argument partition"));
    /* What was refused is not ready: each can be made so once. */
    ready(e, rank, 0);
    CHECK(mpixq::pready(0, out).kind() == MPIXQ_ERR_STATE); /* ready already, or complete */
    CHECK(MPI_Waitall(2, e.r.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(e.differences(0, N, peer, 0) == 0);
}

/* The limit of messages is that of the info object: one, which comes as a whole. */
static void by_info(int rank, int peer)
{
    MPI_Info info = MPI_INFO_NULL;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpixq_partitions", "1");
    exchange<float> e(peer, 10, info);
    MPI_Info_free(&info);
    CHECK(MPI_Startall(2, e.r.data()) == MPI_SUCCESS);
    CHECK(mpixq::pbuf_prepare(e.r[0]).ok());
    for (int part = 0; part < PARTS; part++) {
        e.fill(part, rank, 1);
    }
    CHECK(mpixq::pready_range(0, PARTS - 2, e.r[0]).ok());
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 1000; i++) {
        CHECK(!*mpixq::parrived(e.r[1], 0));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mpixq::pready(PARTS - 1, e.r[0]).ok());
    CHECK(MPI_Waitall(2, e.r.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(e.differences(0, N, peer, 1) == 0);
}

/* On a stream of a GPU, by the functions of HIP's runtime or of its double. */
static void on_hip(int rank, int peer)
{
    void *library = dlopen("libamdhip64.so.5", RTLD_NOW);
    CHECK(library != nullptr);
    if (library == nullptr) {
        return;
    }
    using stream = struct hip_stream *;
    auto create = reinterpret_cast<int (*)(stream *)>(dlsym(library, "hipStreamCreate"));
    auto destroy = reinterpret_cast<int (*)(stream)>(dlsym(library, "hipStreamDestroy"));
    stream s = nullptr;

    CHECK(create(&s) == 0 && s != nullptr);
    {
        auto queue = mpixq::queue::on(s);

        CHECK(queue.ok());
        on_queue<double>(*queue, rank, peer, 1);
    }
    CHECK(destroy(s) == 0);
}

int main(int argc, char **argv)
{
    const char *kind = std::getenv("MTEST_STREAM");
    int rank = 0, size = 0, all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    if (kind != nullptr && std::string(kind) == "hip") {
        on_hip(rank, 1 - rank);
    } else {
        auto queue = *mpixq::queue::create();

        by_host<double>(rank, 1 - rank, 1);
        by_host<std::complex<float>>(rank, 1 - rank, 2);
        on_queue<short>(queue, rank, 1 - rank, 3);
        on_queue<long double>(queue, rank, 1 - rank, 4);
        in_order(rank, 1 - rank, 5);
        datatypes(rank, 1 - rank);
        errors(rank, 1 - rank);
        by_info(rank, 1 - rank);
        throwing(1 - rank);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
