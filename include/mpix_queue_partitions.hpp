/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_partitions.hpp - the functions of mpix_queue_partitions.h for C++17: persistent
 * requests whose data is sent in parts, as they become ready
 *
 *     mpixq::requests r;
 *     mpixq::psend_init(r, out.data(), parts, n, peer, tag);    // n elements in each part
 *     mpixq::precv_init(r, in.data(), parts, n, peer, tag);
 *     r.match();                                                // once
 *     queue->start(r);
 *     for (int i = 0; i < parts; i++) {                         // in any order, by any threads
 *         compute(out.data() + i * n);
 *         mpixq::pready(i, r[0]);
 *     }
 *     queue->wait(r);
 *
 * Errors, owners and everything else: as mpix_queue.hpp says. Functions that MPI 4 has too take
 * their arguments in its order.
 */
#ifndef MPIX_QUEUE_PARTITIONS_HPP_INCLUDED
#define MPIX_QUEUE_PARTITIONS_HPP_INCLUDED

#include <mpix_queue.hpp>
#include <mpix_queue_partitions.h>

#include <limits>

namespace mpixq
{
#ifdef MPIXQ_EXCEPTIONS
inline namespace throwing
#else
inline namespace returning
#endif
{

namespace detail
{
template <class Init, class Data>
status partitioned(requests &to, Init init, Data *data, int partitions, std::size_t count,
                   MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Info info)
{
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<MPI_Count>::max());
    /* More than MPI counts is an error of the argument there. */
    MPI_Count n = count > most ? -1 : static_cast<MPI_Count>(count);

    return to.make([=](MPI_Request *place) {
        return init(data, partitions, n, type, peer, tag, comm, info, place);
    });
}
} // namespace detail

/* ---- Making them ---------------------------------------------------------------------------- */

/* Add a partitioned send to others: MPIXQ_Psend_init. Each partition has n elements, or count of a
 * datatype of MPI, where comm and info are always given; they lie one after the other. */
template <class T>
status psend_init(requests &others, const T *data, int partitions, std::size_t n, int to, int tag,
                  MPI_Comm comm = MPI_COMM_WORLD, MPI_Info info = MPI_INFO_NULL)
{
    return detail::partitioned(others, MPIXQ_Psend_init, data, partitions, n * detail::bytes<T>(),
                               datatype<T>(), to, tag, comm, info);
}
inline status psend_init(requests &others, const void *data, int partitions, std::size_t count,
                         MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Info info)
{
    return detail::partitioned(others, MPIXQ_Psend_init, data, partitions, count, type, to, tag,
                               comm, info);
}

/* Add a partitioned receive, likewise: MPIXQ_Precv_init. The sender may have another number of
 * partitions. */
template <class T>
status precv_init(requests &others, T *data, int partitions, std::size_t n, int from, int tag,
                  MPI_Comm comm = MPI_COMM_WORLD, MPI_Info info = MPI_INFO_NULL)
{
    static_assert(!std::is_const_v<T>, "what is received is written");
    return detail::partitioned(others, MPIXQ_Precv_init, data, partitions, n * detail::bytes<T>(),
                               datatype<T>(), from, tag, comm, info);
}
inline status precv_init(requests &others, void *data, int partitions, std::size_t count,
                         MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Info info)
{
    return detail::partitioned(others, MPIXQ_Precv_init, data, partitions, count, type, from, tag,
                               comm, info);
}

/* ---- While they are started ----------------------------------------------------------------- */

/* Say that a partition of a started send is ready, also from what a host stream runs: MPIXQ_Pready.
 * There the form with exceptions must not be let fail, as nothing may be thrown. */
inline status pready(int partition, MPI_Request request)
{
    return detail::checked(MPIXQ_Pready(partition, request));
}
/* All from the first to the last. */
inline status pready_range(int first, int last, MPI_Request request)
{
    return detail::checked(MPIXQ_Pready_range(first, last, request));
}
/* Those of a list: n in memory, an array, what has data() and size(), or in braces. */
inline status pready_list(const int *list, std::size_t n, MPI_Request request)
{
    /* More than MPI counts is an error there. */
    int length = n > INT_MAX ? -1 : static_cast<int>(n);

    return detail::checked(MPIXQ_Pready_list(length, list, request));
}
template <std::size_t N> status pready_list(const int (&list)[N], MPI_Request request)
{
    return pready_list(list, N, request);
}
template <class C, class = decltype(std::declval<const C &>().data())>
status pready_list(const C &list, MPI_Request request)
{
    return pready_list(list.data(), list.size(), request);
}

/* Whether a partition of a receive has come: MPIXQ_Parrived. */
inline result<bool> parrived(MPI_Request request, int partition)
{
    int flag = 0, code = MPIXQ_Parrived(request, partition, &flag);

    return detail::made<bool>(code, flag != 0);
}

/* Block until the receive of this start was started: MPIXQ_Pbuf_prepare. */
inline status pbuf_prepare(MPI_Request request)
{
    return detail::checked(MPIXQ_Pbuf_prepare(request));
}

} // namespace returning or throwing
} // namespace mpixq

#endif /* MPIX_QUEUE_PARTITIONS_HPP_INCLUDED */
