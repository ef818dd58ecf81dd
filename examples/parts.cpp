/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A message in a ring of ranks that is sent in parts, in C++: the stream computes one part after
 * the other, and each is sent while it computes the next. The host only enqueues. */
#include <mpix_queue_partitions.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    constexpr int parts = 8, steps = 5;
    constexpr std::size_t n = 1000;
    int rank = 0, size = 0, bad = 0;

    MPI_Init(&argc, &argv); /* errors end the program, unless MPI is told otherwise */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int from = (rank + size - 1) % size, to = (rank + 1) % size;
    {
        /* In this order: the queue goes first, and waits for what is enqueued. */
        std::vector<double> out(parts * n), in(parts * n);
        mpixq::requests messages;
        auto stream = mpixq::host_stream::create();
        auto queue = mpixq::queue::on(*stream);

        mpixq::psend_init(messages, out.data(), parts, n, to, 0);
        mpixq::precv_init(messages, in.data(), 1, in.size(), from, 0); /* all of it at once */
        messages.match();                                              /* once */
        for (int step = 0; step < steps; step++) {
            queue->start(messages);
            for (int part = 0; part < parts; part++) {
                stream->launch([&, step, part] {
                    for (std::size_t i = part * n; i < (part + 1) * n; i++) {
                        out[i] = 1e6 * rank + 1e5 * step + static_cast<double>(i);
                    }
                    mpixq::pready(part, messages[0]); /* it may be sent */
                });
            }
            queue->wait(messages);
            stream->launch([&, step] {
                for (std::size_t i = 0; i < in.size(); i++) {
                    bad += in[i] != 1e6 * from + 1e5 * step + static_cast<double>(i);
                }
            });
        }
        stream->synchronize();
    }
    std::printf("rank %d: %d of %zu numbers are wrong\n", rank, bad, steps * parts * n);
    MPI_Finalize();
    return bad == 0 ? 0 : 1;
}
