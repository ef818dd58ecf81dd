/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What mpix_queue_rma.hpp does, on 2 ranks: windows, signals, blocks and plans, by the host and
 * enqueued; owners that are moved, given up and freed, in any order; results and errors; on host
 * streams, on streams of HIP where MTEST_STREAM=hip says so, and the form with exceptions. */
#include <mpix_queue_rma.hpp>

#include "check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

int wrong = 0;

template <class T>
constexpr bool only_moves =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
static_assert(only_moves<mpixq::window> && only_moves<mpixq::signal> && only_moves<mpixq::plan>);
static_assert(std::is_same_v<mpixq::block, MPIXQ_Blk>);
static_assert(std::is_trivially_copyable_v<mpixq::block>);

/* LARGE does not travel with a message. PLACES: of this process and where the peer puts, in the
 * two halves of a window, with a guard in front of, between and behind them. */
enum { SMALL = 37, LARGE = 3001, ROUNDS = 20, GUARD = -77, PLACES = 4 };

static int rank = 0, peer = 0;

static mpixq::block of_peer(const mpixq::block &mine)
{
    mpixq::block theirs = {};

    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, peer, 1, &theirs, sizeof theirs, MPI_BYTE, peer, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs;
}

static int value(int from, int round, int i)
{
    return from * 1000000 + round * 5000 + i;
}

/* Numbers of a window: in each half what is put to the peer, and what the peer puts. */
class halves
{
  public:
    struct half {
        int *sent, *received;
        mpixq::signal arrived;
        mpixq::block out, in, theirs;
    };

    halves(const mpixq::window &window, int count) : n(count), numbers(window.data<int>())
    {
        for (int i = 0; i < size(n); i++) {
            numbers[i] = GUARD;
        }
        for (int h = 0; h < 2; h++) {
            int at = 1 + 2 * h * (n + 1);
            auto arrived = mpixq::signal::create(window);

            CHECK(arrived.ok());
            auto out = window.block(at * sizeof(int), n * sizeof(int));
            auto in = window.block((at + n + 1) * sizeof(int), n * sizeof(int), *arrived);
            CHECK(out.ok() && in.ok());
            of[h] = {numbers + at, numbers + at + n + 1, std::move(*arrived), *out,
                     *in,          of_peer(*in)};
        }
    }
    static int size(int count)
    {
        return PLACES * (count + 1) + 1;
    }
    void fill(int round)
    {
        for (int i = 0; i < n; i++) {
            of[round % 2].sent[i] = value(rank, round, i);
        }
    }
    /* Of what came in this round; how many are wrong. */
    int differences(int round, int from) const
    {
        int bad = 0;

        for (int i = 0; i < n; i++) {
            bad += of[round % 2].received[i] != value(from, round, i);
        }
        for (int i = 0; i < size(n); i += n + 1) {
            bad += numbers[i] != GUARD;
        }
        return bad;
    }

    int n, *numbers;
    half of[2];
};

/* By the host: puts, plans in all forms of arrays, gets, flushes. */
static void by_host(mpixq::window &window, int n)
{
    halves h(window, n);
    std::vector<mpixq::plan> plans;

    for (halves::half &half : h.of) {
        const mpixq::block out[] = {half.out};
        std::array<mpixq::block, 1> theirs = {half.theirs};
        auto made = mpixq::plan::create(out, theirs);

        CHECK(made.ok());
        plans.push_back(std::move(*made));
    }
    for (int round = 0; round < ROUNDS; round++) {
        halves::half &now = h.of[round % 2];

        h.fill(round);
        CHECK(round % 4 < 2 ? mpixq::put(now.out, now.theirs).ok() : plans[round % 2].start().ok());
        if (round % 3 == 2) {
            CHECK(now.arrived.wait_reset().ok());
            CHECK(h.differences(round, peer) == 0);
            continue;
        }
        CHECK(now.arrived.wait().ok());
        CHECK(h.differences(round, peer) == 0);
        auto complete = now.arrived.test();
        CHECK(complete.ok() && *complete);
        CHECK(now.arrived.reset().ok());
        complete = now.arrived.test();
        CHECK(complete.ok() && !*complete);
    }
    CHECK(window.flush().ok());
    MPI_Barrier(MPI_COMM_WORLD);
    /* Back from the peer: what this rank has put there last in either half. */
    for (int round = ROUNDS - 2; round < ROUNDS; round++) {
        halves::half &now = h.of[round % 2];
        auto back = *mpixq::signal::create(window);

        std::fill(now.sent, now.sent + n, GUARD + 1);
        CHECK(mpixq::set_signal(now.out, *window.block(0, 0, back)).ok());
        CHECK(mpixq::clear_signal(now.theirs).ok());
        CHECK(mpixq::get(now.out, now.theirs).ok());
        CHECK(back.wait().ok());
        for (int i = 0; i < n; i++) {
            CHECK(now.sent[i] == value(rank, round, i));
        }
        CHECK(h.differences(round, peer) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Enqueued, each round looked at by the host, as on a stream of any kind. */
static void enqueued(mpixq::queue &queue, const mpixq::window &window, int n)
{
    halves h(window, n);
    std::array<mpixq::plan, 2> plans;

    for (int i = 0; i < 2; i++) {
        plans[i] = *mpixq::plan::create(h.of[i].out, h.of[i].theirs);
    }
    for (int round = 0; round < ROUNDS; round++) {
        halves::half &now = h.of[round % 2];

        h.fill(round);
        CHECK(round % 4 < 2 ? mpixq::enqueue_put(queue, now.out, now.theirs).ok()
                            : mpixq::enqueue_start(queue, plans[round % 2]).ok());
        CHECK(mpixq::enqueue_wait(queue, now.arrived).ok());
        CHECK(mpixq::enqueue_reset(queue, now.arrived).ok());
        CHECK(queue.synchronize().ok());
        CHECK(h.differences(round, peer) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* before signals are freed that the peer puts to */
}

/* Enqueued, of which the host sees nothing until the end of all rounds. */
static void in_order(const mpixq::window &window, int n)
{
    halves h(window, n);
    std::atomic<int> bad{0}, looked{0};
    {
        auto stream = *mpixq::host_stream::create();
        auto queue = *mpixq::queue::on(stream);

        for (int round = 0; round < ROUNDS; round++) {
            halves::half &now = h.of[round % 2];

            bool at_once = round % 3 == 2;

            CHECK(stream.launch([&h, round] { h.fill(round); }).ok());
            CHECK(mpixq::enqueue_put(queue, now.out, now.theirs).ok());
            CHECK((at_once ? mpixq::enqueue_wait_reset(queue, now.arrived)
                           : mpixq::enqueue_wait(queue, now.arrived))
                      .ok());
            CHECK(stream
                      .launch([&, round] {
                          bad += h.differences(round, peer);
                          looked++;
                      })
                      .ok());
            CHECK(at_once || mpixq::enqueue_reset(queue, now.arrived).ok());
        }
        /* Their destructors wait. */
    }
    CHECK(bad == 0 && looked == ROUNDS);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Windows of either kind, on which everything is done with small and with large blocks. */
static void windows()
{
    std::vector<int> memory(halves::size(LARGE) + 2, GUARD + 1);
    auto over = mpixq::window::create(memory.data() + 1, halves::size(LARGE) * sizeof(int));
    auto own = mpixq::window::allocate(halves::size(LARGE) * sizeof(int));

    CHECK(over.ok() && own.ok() && over->data<int>() == memory.data() + 1);
    CHECK(own->data() != nullptr && own->data() == own->data<char>());
    for (int i = 0; i < halves::size(LARGE); i++) {
        CHECK(own->data<int>()[i] == 0);
    }
    auto queue = *mpixq::queue::create();
    for (mpixq::window *window : {&*over, &*own}) {
        for (int n : {int(SMALL), int(LARGE)}) {
            by_host(*window, n);
            enqueued(queue, *window, n);
            in_order(*window, n);
        }
        CHECK(queue.synchronize().ok());
        CHECK(window->free().ok() && window->get() == MPIXQ_WINDOW_NULL);
        CHECK(window->data() == nullptr);
        CHECK(window->free().ok()); /* of none: nothing */
    }
    CHECK(memory.front() == GUARD + 1 && memory.back() == GUARD + 1);
}

/* Owners are moved into others, which frees what those had. */
static void moves()
{
    auto window = *mpixq::window::allocate(64);
    MPIXQ_Window handle = window.get();
    mpixq::window other = std::move(window);
    void *base = other.data();

    CHECK(window.get() == MPIXQ_WINDOW_NULL && window.data() == nullptr);
    CHECK(other.get() == handle && base != nullptr);
    CHECK(window.flush().kind() == MPIXQ_ERR_ARG);
    CHECK(mpixq::signal::create(window).why().kind() == MPIXQ_ERR_ARG);

    auto first = *mpixq::signal::create(other), second = *mpixq::signal::create(other, 2);
    MPIXQ_Signal freed = first.get(), kept = second.get();
    auto plan = *mpixq::plan::create(*other.block(0, 8), *other.block(8, 8));
    CHECK(freed != MPIXQ_SIGNAL_NULL && kept != MPIXQ_SIGNAL_NULL && freed != kept);
    first = std::move(second);
    CHECK(first.get() == kept && second.get() == MPIXQ_SIGNAL_NULL);
    int flag = 0;
    CHECK(mpixq::status(MPIXQ_Signal_test(freed, &flag)).kind() == MPIXQ_ERR_ARG);
    CHECK(MPIXQ_Signal_test(kept, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(second.wait().kind() == MPIXQ_ERR_ARG && second.reset().kind() == MPIXQ_ERR_ARG);
    CHECK(second.test().why().kind() == MPIXQ_ERR_ARG && second.free().ok());
    /* A signal that is none is not silently no signal. */
    CHECK(other.block(0, 8, second).why().kind() == MPIXQ_ERR_ARG);
    CHECK(other.block(0, 8, first).ok());

    MPIXQ_Plan started = plan.get();
    mpixq::plan last = std::move(plan);
    CHECK(plan.get() == MPIXQ_PLAN_NULL && last.get() == started);
    CHECK(plan.start().kind() == MPIXQ_ERR_ARG && plan.free().ok() && last.start().ok());
    last = *mpixq::plan::create({nullptr, 0}, {nullptr, 0});
    CHECK(mpixq::status(MPIXQ_Plan_start(started)).kind() == MPIXQ_ERR_ARG);
    last = mpixq::plan(last.release());
    CHECK(last.start().ok() && last.free().ok() && last.get() == MPIXQ_PLAN_NULL);

    /* Of C, and to C. */
    first = mpixq::signal(first.release(), other);
    CHECK(first.get() == kept && MPIXQ_Signal_test(kept, &flag) == MPI_SUCCESS);
    handle = other.release();
    CHECK(other.get() == MPIXQ_WINDOW_NULL && first.get() == MPIXQ_SIGNAL_NULL);
    window = mpixq::window(handle, base);
    first = mpixq::signal(kept, window);
    CHECK(window.data() == base && first.test().ok());
    CHECK(window.flush().ok() && window.free().ok());
    CHECK(first.get() == MPIXQ_SIGNAL_NULL && first.free().ok());
}

/* A signal is freed with its window. Its owner frees none of another window, which may lie there
 * where it was. */
static void signals_end()
{
    for (int i = 0; i < 3; i++) {
        auto window = *mpixq::window::allocate(8);
        auto old = *mpixq::signal::create(window);
        MPIXQ_Signal handle = old.get();

        CHECK(window.free().ok());
        window = *mpixq::window::allocate(8);
        auto anew = *mpixq::signal::create(window);
        CHECK(anew.get() == handle); /* if not, the test has to be made anew */
        if (i == 0) {
            CHECK(old.free().ok());
        } else if (i == 1) {
            old = mpixq::signal();
        } else {
            mpixq::signal moved = std::move(old);
        }
        CHECK(anew.test().ok());
        CHECK(mpixq::put(*window.block(0, 8), *window.block(0, 8, anew)).ok());
        CHECK(anew.wait().ok());
        CHECK(window.free().ok());
    }
}

/* The destructor of a window waits for nobody: one rank is past it while the other is before it.
 * The window is there still. */
static void not_collective()
{
    std::vector<int> memory(3, GUARD);
    MPIXQ_Window handle = MPIXQ_WINDOW_NULL;
    mpixq::block theirs = {};
    {
        auto window = *mpixq::window::create(memory.data() + 1, sizeof(int));

        handle = window.get();
        theirs = of_peer(*window.block(0, sizeof(int)));
        if (rank == 1) {
            MPI_Recv(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) {
        MPI_Send(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    mpixq::window again(handle, memory.data() + 1);
    auto gone = mpixq::signal::create(again);
    memory[1] = 50 + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(mpixq::put(*again.block(0, sizeof(int), *gone), theirs).ok());
        CHECK(gone->wait().ok() && again.flush().ok());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == GUARD && memory[1] == 50 && memory[2] == GUARD);
    CHECK(again.free().ok());
}

static bool says(const mpixq::status &s, MPIXQ_Error kind, const char *text)
{
    return !s.ok() && s.kind() == kind && s.message().find(text) != std::string::npos;
}

static void errors()
{
    char memory[64];
    auto none = mpixq::window::create(nullptr, 8);
    constexpr std::size_t beyond = std::numeric_limits<std::size_t>::max();

    CHECK(!none.ok() && says(none.why(), MPIXQ_ERR_ARG, "base"));
    CHECK(says(mpixq::window::create(memory, beyond).why(), MPIXQ_ERR_ARG, "bytes"));
    CHECK(says(mpixq::window::allocate(8, MPI_COMM_NULL).why(), MPIXQ_ERR_ARG, "comm"));
    CHECK(says(mpixq::window::allocate(8 + rank).why(), MPIXQ_ERR_ARG, "not the same at all"));
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpixq_memory", "paper");
    CHECK(says(mpixq::window::allocate(8, MPI_COMM_WORLD, info).why(), MPIXQ_ERR_ARG,
               "mpixq_memory"));
    MPI_Info_free(&info);

    auto window = *mpixq::window::create(memory, sizeof memory);
    auto other = *mpixq::window::allocate(64);
    auto signal = *mpixq::signal::create(window), elsewhere = *mpixq::signal::create(other);
    CHECK(says(mpixq::signal::create(window, 0).why(), MPIXQ_ERR_ARG, "num_event"));
    CHECK(says(window.block(1, sizeof memory).why(), MPIXQ_ERR_ARG, "beyond"));
    CHECK(says(window.block(beyond, 1).why(), MPIXQ_ERR_ARG, "offset"));
    CHECK(says(window.block(0, 1, elsewhere).why(), MPIXQ_ERR_ARG, "another window"));
    CHECK(says(signal.reset(), MPIXQ_ERR_STATE, "1 of 1 events outstanding"));
    mpixq::block some = *window.block(0, 8), less = *window.block(8, 4);
    mpixq::block alien = *other.block(0, 8, elsewhere), told = *window.block(0, 8, signal);
    CHECK(says(mpixq::put(some, less), MPIXQ_ERR_ARG, "more or less bytes"));
    CHECK(says(mpixq::get(some, alien), MPIXQ_ERR_ARG, "another window"));
    CHECK(says(mpixq::put(of_peer(some), some), MPIXQ_ERR_ARG, "another process"));
    CHECK(says(mpixq::set_signal(some, alien), MPIXQ_ERR_ARG, "from"));
    /* With the signal each put is an event, and none without it: of two, one is told. */
    CHECK(mpixq::set_signal(less, told).ok() && mpixq::put(*window.block(16, 4), less).ok());
    CHECK(signal.wait().ok() && signal.reset().ok());
    CHECK(mpixq::clear_signal(less).ok() && mpixq::put(*window.block(16, 4), less).ok());
    CHECK(window.flush().ok());
    CHECK(!*signal.test());
    /* That of nobody. */
    CHECK(mpixq::put(some, mpixq::block{}).ok() && mpixq::get(some, mpixq::block{}).ok());
    /* As many of either, and no more than C counts. */
    std::vector<mpixq::block> two(2, some);
    CHECK(says(mpixq::plan::create(two, some).why(), MPIXQ_ERR_ARG, "count"));
    mpixq::block_span many(two.data(), (std::size_t(1) << 32) + 1);
    CHECK(says(mpixq::plan::create(many, many).why(), MPIXQ_ERR_ARG, "count"));
    CHECK(says(mpixq::plan::create(two, {&alien, 1}).why(), MPIXQ_ERR_ARG, "count"));
    CHECK(says(mpixq::plan::create(some, alien).why(), MPIXQ_ERR_ARG, "another window"));
    CHECK(window.free().ok() && says(mpixq::put(some, some), MPIXQ_ERR_STATE, "window"));
    CHECK(other.free().ok());
}

/* What is enqueued holds all of it; then the owners have still what they had. */
static void busy()
{
    auto window = *mpixq::window::allocate(8);
    auto signal = *mpixq::signal::create(window);
    auto plan = *mpixq::plan::create(*window.block(0, 8), *window.block(0, 8, signal));
    std::atomic<bool> open{false};
    mpixq::queue none;
    {
        auto stream = *mpixq::host_stream::create();
        auto queue = *mpixq::queue::on(stream);

        CHECK(stream
                  .launch([&] {
                      while (!open) {
                          std::this_thread::yield();
                      }
                  })
                  .ok());
        CHECK(mpixq::enqueue_start(queue, plan).ok());
        CHECK(mpixq::enqueue_wait(queue, signal).ok());
        CHECK(plan.free().kind() == MPIXQ_ERR_STATE && plan.get() != MPIXQ_PLAN_NULL);
        CHECK(signal.free().kind() == MPIXQ_ERR_STATE && signal.get() != MPIXQ_SIGNAL_NULL);
        CHECK(window.free().kind() == MPIXQ_ERR_STATE && window.get() != MPIXQ_WINDOW_NULL);
        CHECK(window.data() != nullptr);
        CHECK(says(mpixq::enqueue_put(none, {}, {}), MPIXQ_ERR_ARG, "queue"));
        CHECK(says(mpixq::enqueue_start(queue, mpixq::plan()), MPIXQ_ERR_ARG, "plan"));
        CHECK(says(mpixq::enqueue_wait(queue, mpixq::signal()), MPIXQ_ERR_ARG, "sig"));
        CHECK(says(mpixq::enqueue_reset(queue, mpixq::signal()), MPIXQ_ERR_ARG, "sig"));
        CHECK(says(mpixq::enqueue_wait_reset(queue, mpixq::signal()), MPIXQ_ERR_ARG, "sig"));
        open = true;
    }
    CHECK(*signal.test() && signal.free().ok() && plan.free().ok() && window.free().ok());
}

/* On a stream of a GPU, by the functions of HIP's runtime or of its double. */
static void on_hip()
{
    void *library = dlopen("libamdhip64.so.5", RTLD_NOW);
    CHECK(library != nullptr);
    if (library == nullptr) {
        return;
    }
    using stream = struct hip_stream *;
    auto create = reinterpret_cast<int (*)(stream *)>(dlsym(library, "hipStreamCreate"));
    auto destroy = reinterpret_cast<int (*)(stream)>(dlsym(library, "hipStreamDestroy"));
    auto window = *mpixq::window::allocate(halves::size(LARGE) * sizeof(int));
    stream s = nullptr;

    CHECK(create(&s) == 0 && s != nullptr);
    {
        auto queue = mpixq::queue::on(s);

        CHECK(queue.ok());
        enqueued(*queue, window, SMALL);
        enqueued(*queue, window, LARGE);
    }
    CHECK(window.free().ok() && destroy(s) == 0);
}

int main(int argc, char **argv)
{
    const char *kind = std::getenv("MTEST_STREAM");
    int size = 0, all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = 1 - rank;
    CHECK(size == 2);
    if (kind != nullptr && std::string(kind) == "hip") {
        on_hip();
    } else {
        windows();
        moves();
        signals_end();
        not_collective();
        errors();
        busy();
        throwing(peer);
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* What goes after MPI's end does nothing. */
    auto late = *mpixq::window::allocate(8);
    auto signal = *mpixq::signal::create(late);
    auto plan = *mpixq::plan::create(mpixq::block{}, mpixq::block{});
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
