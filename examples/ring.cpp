/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A sum goes round a ring of ranks in C++: in each step a rank hands what it got on and adds it up,
 * and the host only enqueues. After as many steps as there are ranks each has the sum of all. */
#include <mpix_queue.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

int main(int argc, char **argv)
{
    constexpr std::size_t n = 1000;
    int rank = 0, size = 0, bad = 0;

    MPI_Init(&argc, &argv); /* errors end the program, unless MPI is told otherwise */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
        /* In this order: the queue goes first, and waits for what is enqueued. */
        std::vector<double> out(n), in(n), sum(n, 0.0);
        mpixq::requests messages;
        auto stream = mpixq::host_stream::create();
        auto queue = mpixq::queue::on(*stream);

        std::iota(out.begin(), out.end(), 1000.0 * rank);
        messages.receive(in.data(), in.size(), (rank + size - 1) % size, 0);
        messages.send(out.data(), out.size(), (rank + 1) % size, 0);
        messages.match(); /* once */
        for (int step = 0; step < size; step++) {
            queue->start(messages);
            queue->wait(messages); /* the stream waits, the host goes on */
            stream->launch([&] {
                for (std::size_t i = 0; i < n; i++) {
                    sum[i] += in[i];
                }
                out = in;
            });
        }
        if (auto done = stream->synchronize(); !done) {
            std::printf("rank %d: %s\n", rank, done.message().c_str());
        }
        for (std::size_t i = 0; i < n; i++) {
            bad += sum[i] != 500.0 * size * (size - 1) + static_cast<double>(i) * size;
        }
    }
    std::printf("rank %d: %d of %zu sums are wrong\n", rank, bad, n);
    MPI_Finalize();
    return bad == 0 ? 0 : 1;
}
