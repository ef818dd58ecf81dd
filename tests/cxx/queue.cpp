/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What mpix_queue.hpp does, on 2 ranks: owners that are moved, waited for and freed, arrays in
 * every form, results and errors; on host streams, on streams of HIP where MTEST_STREAM=hip says
 * so, and the form with exceptions. */
#include <mpix_queue.hpp>

#include "check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <type_traits>
#include <vector>

int wrong = 0;

template <class T>
constexpr bool only_moves =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
static_assert(only_moves<mpixq::queue> && only_moves<mpixq::host_stream> &&
              only_moves<mpixq::requests>);
static_assert(!std::is_convertible_v<mpixq::status, bool>);

enum { N = 37, STEPS = 10, GUARD = -77 };

/* What is exchanged with the peer: both ends of it, and what lies around. */
template <class T> struct exchange {
    std::vector<T> out = std::vector<T>(N), in = std::vector<T>(N + 2, T(99));
    mpixq::requests r;

    exchange(int peer, int tag)
    {
        CHECK(r.receive(in.data() + 1, N, peer, tag).ok());
        CHECK(r.send(out.data(), N, peer, tag).ok());
    }
    void fill(int rank, int step)
    {
        for (int i = 0; i < N; i++) {
            out[i] = T((rank + 2 * step + 3 * i) % 64);
        }
    }
    void expect(int peer, int step) const
    {
        CHECK(in.front() == T(99) && in.back() == T(99));
        for (int i = 0; i < N; i++) {
            CHECK(in[i + 1] == T((peer + 2 * step + 3 * i) % 64));
        }
    }
};

/* Every form of an array, and steps of which the host sees nothing until their end. */
static void steps(mpixq::queue &queue, int rank, int peer)
{
    exchange<double> a(peer, 1);
    exchange<std::uint8_t> b(peer, 2);
    exchange<std::complex<float>> c(peer, 3);
    std::array<MPI_Request, 2> both = {b.r[0], b.r[1]};
    MPI_Request plain[2] = {c.r[0], c.r[1]};

    CHECK(a.r.match().ok());
    CHECK(mpixq::match(both).ok());
    auto made = mpixq::imatch(plain);
    CHECK(made.ok() && MPI_Wait(&*made, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(*mpixq::is_matched(plain[0]));
    for (int step = 0; step < STEPS; step++) {
        a.fill(rank, step);
        b.fill(rank, step);
        c.fill(rank, step);
        CHECK(queue.start(a.r).ok());
        CHECK(queue.start(both).ok());
        CHECK(queue.start(plain[0]).ok() && queue.start({plain + 1, 1}).ok());
        CHECK(queue.wait(a.r).ok());
        CHECK(queue.wait(plain).ok());
        CHECK(queue.wait_started().ok());
        CHECK(queue.synchronize().ok());
        CHECK(*queue.test());
        a.expect(peer, step);
        b.expect(peer, step);
        c.expect(peer, step);
    }
    CHECK(a.r.free().ok() && a.r.size() == 0);
}

/* Requests of every mode by a datatype of MPI, which to some is a number, as ranks and tags are. */
static void datatypes(int rank, int peer)
{
    enum { SENT = -3 };
    std::vector<int> out(2 * N), in(2 * N + 2, GUARD), ready(2 * N), taken(2 * N + 2, GUARD);
    MPI_Datatype pairs = MPI_DATATYPE_NULL;
    mpixq::requests r;

    MPI_Type_vector(N, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    CHECK(r.receive(in.data() + 1, 1, pairs, peer, 6, MPI_COMM_WORLD).ok());
    CHECK(r.receive(taken.data() + 1, N, MPI_INT, peer, 7, MPI_COMM_WORLD).ok());
    CHECK(r.send(out.data(), N, MPI_INT, peer, 6, MPI_COMM_WORLD).ok());
    CHECK(r.rsend(ready.data(), 1, pairs, peer, 7, MPI_COMM_WORLD).ok());
    MPI_Type_free(&pairs);
    CHECK(r.match().ok());
    std::fill(ready.begin(), ready.end(), SENT);
    for (int i = 0; i < N; i++) {
        out[i] = 100 * rank + i;
        ready[2 * i] = 200 * rank + i;
    }
    {
        auto queue = *mpixq::queue::create();

        CHECK(queue.start_wait(r).ok());
    }
    for (int i = 0; i < N; i++) {
        CHECK(in[1 + 2 * i] == 100 * peer + i && in[2 + 2 * i] == GUARD);
        CHECK(taken[1 + i] == 200 * peer + i && taken[1 + N + i] == GUARD);
    }
    CHECK(in.front() == GUARD && in.back() == GUARD);
    CHECK(taken.front() == GUARD && taken.back() == GUARD);
}

static int starts(const mpixq::queue &queue)
{
    auto info = queue.info();
    char text[32] = "";
    int flag = 0;

    CHECK(info.ok());
    MPI_Info_get(*info, "mpixq_starts", 31, text, &flag);
    MPI_Info_free(&*info);
    return flag ? std::atoi(text) : -1;
}

/* Owners are moved into others, which frees what those had. */
static void owners(int rank, int peer)
{
    auto stream = mpixq::host_stream::create();
    auto queue = mpixq::queue::on(*stream);

    CHECK(stream.ok() && queue.ok() && queue.why().ok());
    CHECK(*queue->stream() == stream->get());
    mpixq::queue other = std::move(*queue);
    CHECK(queue->get() == MPIXQ_QUEUE_NULL && other.get() != MPIXQ_QUEUE_NULL);
    steps(other, rank, peer);
    CHECK(starts(other) == STEPS * 6);
    /* A stream that is used is not destroyed, and lives on. */
    CHECK(stream->destroy().kind() == MPIXQ_ERR_STATE && stream->get() != MPIXQ_HOST_STREAM_NULL);
    other = *mpixq::queue::create(MPIXQ_QUEUE_FALLBACK);
    CHECK(starts(other) == 0);
    CHECK(stream->destroy().ok() && stream->get() == MPIXQ_HOST_STREAM_NULL);
    CHECK(other.free().ok() && other.get() == MPIXQ_QUEUE_NULL);
    mpixq::host_stream again = std::move(*mpixq::host_stream::create());
    again = mpixq::host_stream(again.release());
    CHECK(*again.query());
}

/* Functions that hold what they need run in order, each once, and are gone after it. */
static void launches()
{
    std::atomic<int> alive{0};
    struct counted {
        std::atomic<int> *alive;
        explicit counted(std::atomic<int> *a) : alive(a)
        {
            ++*alive;
        }
        counted(const counted &c) : alive(c.alive)
        {
            ++*alive;
        }
        counted(counted &&c) noexcept : alive(c.alive)
        {
            ++*alive;
        }
        ~counted()
        {
            --*alive;
        }
        counted &operator=(const counted &) = delete;
    };
    std::vector<int> seen;
    {
        auto stream = *mpixq::host_stream::create();

        for (int i = 0; i < 100; i++) {
            CHECK(stream.launch([&seen, i, c = counted(&alive)] { seen.push_back(i); }).ok());
        }
        CHECK(
            stream.launch([](void *arg) { ++*static_cast<std::atomic<int> *>(arg); }, &alive).ok());
        CHECK(stream.synchronize().ok());
        CHECK(alive == 1 && seen.size() == 100);
        auto owned = std::make_unique<int>(100);
        CHECK(stream.launch([&seen, owned = std::move(owned)] { seen.push_back(*owned); }).ok());
        /* Its destructor waits. */
    }
    CHECK(seen.size() == 101);
    for (std::size_t i = 0; i < seen.size(); i++) {
        CHECK(seen[i] == static_cast<int>(i));
    }
    /* What is not launched is gone at once. */
    CHECK(mpixq::launch(MPIXQ_HOST_STREAM_NULL, [c = counted(&alive)] {}).kind() == MPIXQ_ERR_ARG);
    CHECK(alive == 1);
}

/* The destructor of a queue enqueues the waits that are missing and waits for all of it. */
static void unfinished(int rank, int peer)
{
    exchange<long> e(peer, 4);

    CHECK(e.r.match().ok());
    e.fill(rank, 5);
    {
        auto queue = *mpixq::queue::create();

        CHECK(queue.start(e.r).ok());
    }
    e.expect(peer, 5);
}

static void errors(int peer)
{
    auto queue = *mpixq::queue::create();
    mpixq::requests r;
    int number = 0;

    CHECK(r.send(&number, 1, peer, 5).ok() && r.size() == 1);
    mpixq::status s = queue.start(r);
    CHECK(!s.ok() && !s && s.kind() == MPIXQ_ERR_STATE && s.code() != MPI_SUCCESS);
    CHECK(s.message().find("not matched") != std::string::npos);
    CHECK(mpixq::status().ok() && mpixq::status().kind() == MPIXQ_ERR_NONE);
    auto none = mpixq::queue::create(static_cast<MPIXQ_Queue_type>(99));
    CHECK(!none.ok() && none.why().kind() == MPIXQ_ERR_ARG);
    CHECK(mpixq::queue::on(MPIXQ_HOST_STREAM_NULL).why().kind() == MPIXQ_ERR_ARG);
    /* More than MPI counts, and a rank that is not. */
    CHECK(!r.send(&number, std::size_t(INT_MAX) + 1, peer, 5).ok());
    CHECK(!r.receive(&number, 1, 12345, 5).ok() && r.size() == 1);
    CHECK(!queue.wait({r.data(), std::size_t(INT_MAX) + 1}).ok());
    CHECK(queue.start_wait(r).kind() == MPIXQ_ERR_STATE);
    CHECK(queue.start_wait({r.data(), std::size_t(INT_MAX) + 1}).kind() == MPIXQ_ERR_ARG);
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
        if (queue.ok()) {
            CHECK(*queue->stream<stream>() == s);
            steps(*queue, rank, peer);
        }
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
        owners(rank, 1 - rank);
        launches();
        datatypes(rank, 1 - rank);
        unfinished(rank, 1 - rank);
        errors(1 - rank);
        throwing(1 - rank);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* What is freed after MPI's end does nothing. */
    auto late = mpixq::requests();
    late.add(MPI_REQUEST_NULL);
    mpixq::queue gone(*mpixq::queue::create());
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
