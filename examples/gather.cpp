/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * All ranks gather what each has computed, by puts in C++: the stream computes, puts to all, waits
 * until as many puts have come, and adds up. The host only enqueues. */
#include <mpix_queue_rma.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    constexpr std::size_t n = 1000, bytes = n * sizeof(double);
    int rank = 0, size = 0, bad = 0;

    MPI_Init(&argc, &argv); /* errors end the program, unless MPI is told otherwise */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
        std::vector<double> sum(n, 0.0);
        std::vector<mpixq::block> mine, theirs(size);
        auto window = mpixq::window::allocate((size + 1) * bytes); /* own numbers, and of all */
        auto arrived = mpixq::signal::create(*window, size);       /* as many puts */
        auto own = window->block(0, bytes);

        for (int from = 0; from < size; from++) {
            mine.push_back(*window->block((from + 1) * bytes, bytes, *arrived));
        }
        MPI_Alltoall(mine.data(), sizeof(mpixq::block), MPI_BYTE, theirs.data(),
                     sizeof(mpixq::block), MPI_BYTE, MPI_COMM_WORLD);
        auto to_all = mpixq::plan::create(std::vector(theirs.size(), *own), theirs);
        auto stream = mpixq::host_stream::create();
        auto queue = mpixq::queue::on(*stream);
        double *numbers = window->data<double>();

        stream->launch([=] {
            for (std::size_t i = 0; i < n; i++) {
                numbers[i] = 1000.0 * rank + static_cast<double>(i);
            }
        });
        mpixq::enqueue_start(*queue, *to_all);
        mpixq::enqueue_wait(*queue, *arrived); /* the stream waits, the host goes on */
        stream->launch([&, numbers] {
            for (std::size_t i = 0; i < n * size; i++) {
                sum[i % n] += numbers[n + i];
            }
        });
        stream->synchronize();
        window->free(); /* together with all others, so by no destructor */
        for (std::size_t i = 0; i < n; i++) {
            bad += sum[i] != 500.0 * size * (size - 1) + static_cast<double>(i) * size;
        }
    }
    std::printf("rank %d: %d of %zu sums are wrong\n", rank, bad, n);
    MPI_Finalize();
    return bad == 0 ? 0 : 1;
}
