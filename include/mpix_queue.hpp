/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue.hpp - the functions of mpix_queue.h for C++17: owners of queues, host streams and
 * requests, arrays by their size, and results that say whether there is a value
 *
 *     mpixq::requests r;                            // made first, so freed last
 *     r.send(out.data(), out.size(), peer, tag);
 *     r.receive(in.data(), in.size(), peer, tag);
 *     r.match();                                    // once
 *     auto stream = mpixq::host_stream::create();   // or a cudaStream_t, or a hipStream_t
 *     auto queue = mpixq::queue::on(*stream);
 *     for (int i = 0; i < steps; i++) {             // only enqueues
 *         queue->start_wait(r);
 *         stream->launch([&] { compute(); });
 *     }
 *     stream->synchronize();
 *
 * Errors. Functions return a status, or a result that holds a value or else a status. A call that
 * fails has invoked an error handler of MPI before, as in C, whose default ends the program: with
 * MPI_ERRORS_RETURN the status is what is left. Where MPIXQ_EXCEPTIONS is defined before this file
 * is included, a status or result that is an error is thrown as mpixq::error in place of being
 * returned; files of a program may differ in that. Destructors throw nothing.
 *
 * Owners can be moved and not copied. Their destructors do nothing while MPI is not up.
 *
 * Everything else is as in C, and handles of C and these may be mixed: get() gives them. Puts with
 * signals are in mpix_queue_rma.hpp, partitioned requests in mpix_queue_partitions.hpp.
 */
#ifndef MPIX_QUEUE_HPP_INCLUDED
#define MPIX_QUEUE_HPP_INCLUDED

#include <mpix_queue.h>

#include <climits>
#include <complex>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef MPIXQ_EXCEPTIONS
#include <stdexcept>
#endif

namespace mpixq
{
/* Both forms of the same functions may be in one program. */
#ifdef MPIXQ_EXCEPTIONS
inline namespace throwing
#else
inline namespace returning
#endif
{

/* ---- Results -------------------------------------------------------------------------------- */

/* What a function of MPI or of this library returned. */
class status
{
  public:
    constexpr status() noexcept = default;
    constexpr explicit status(int code) noexcept : code_(code)
    {
    }

    [[nodiscard]] constexpr bool ok() const noexcept
    {
        return code_ == MPI_SUCCESS;
    }
    constexpr explicit operator bool() const noexcept
    {
        return ok();
    }
    [[nodiscard]] constexpr int code() const noexcept
    {
        return code_;
    }

    /* MPIXQ_ERR_NONE if it is no error, or none of this library. */
    [[nodiscard]] MPIXQ_Error kind() const noexcept
    {
        int kind = MPIXQ_ERR_NONE;

        (void)MPIXQ_Error_kind(code_, &kind);
        return static_cast<MPIXQ_Error>(kind);
    }

    /* While MPI is up. */
    [[nodiscard]] std::string message() const
    {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;

        return MPI_Error_string(code_, text, &length) == MPI_SUCCESS
                   ? std::string(text, static_cast<std::size_t>(length))
                   : std::string();
    }

  private:
    int code_ = MPI_SUCCESS;
};

#ifdef MPIXQ_EXCEPTIONS
class error : public std::runtime_error
{
  public:
    explicit error(status s) : std::runtime_error(s.message()), status_(s)
    {
    }
    [[nodiscard]] status reason() const noexcept
    {
        return status_;
    }
    [[nodiscard]] MPIXQ_Error kind() const noexcept
    {
        return status_.kind();
    }
    [[nodiscard]] int code() const noexcept
    {
        return status_.code();
    }

  private:
    status status_;
};
#endif

namespace detail
{
/* The code of a call, as what the caller of these functions gets. */
inline status checked(int code)
{
#ifdef MPIXQ_EXCEPTIONS
    if (code != MPI_SUCCESS) {
        throw error(status(code));
    }
#endif
    return status(code);
}

inline bool mpi_is_up() noexcept
{
    int begun = 0, ended = 1;

    return MPI_Initialized(&begun) == MPI_SUCCESS && begun &&
           MPI_Finalized(&ended) == MPI_SUCCESS && !ended;
}
} // namespace detail

/* A value, or why there is none. The value is there only if it is true. */
template <class T> class [[nodiscard]] result
{
  public:
    result(T value) : value_(std::move(value))
    {
    }
    explicit result(status why) : why_(why)
    {
    }

    [[nodiscard]] bool ok() const noexcept
    {
        return value_.has_value();
    }
    explicit operator bool() const noexcept
    {
        return ok();
    }
    /* Success, if there is a value. */
    [[nodiscard]] status why() const noexcept
    {
        return why_;
    }
    T &operator*() &noexcept
    {
        return *value_;
    }
    const T &operator*() const &noexcept
    {
        return *value_;
    }
    T &&operator*() &&noexcept
    {
        return std::move(*value_);
    }
    T *operator->() noexcept
    {
        return &*value_;
    }
    const T *operator->() const noexcept
    {
        return &*value_;
    }

  private:
    std::optional<T> value_;
    status why_;
};

namespace detail
{
/* A value that a function of C wrote if it returned success. */
template <class T, class From> result<T> made(int code, From &&from)
{
    status s = checked(code);

    return s.ok() ? result<T>(T(std::forward<From>(from))) : result<T>(s);
}

/* Of a type that goes as bytes, how many; else 1. */
template <class T> constexpr std::size_t bytes() noexcept
{
    return std::is_same_v<std::remove_cv_t<T>, bool> ? sizeof(T) : 1;
}
} // namespace detail

/* ---- Requests ------------------------------------------------------------------------------- */

/* The datatype of MPI for a type of C++. */
template <class T> [[nodiscard]] inline MPI_Datatype datatype() noexcept
{
    using U = std::remove_cv_t<T>;
    constexpr bool known = std::is_arithmetic_v<U> && !std::is_same_v<U, wchar_t> &&
                           !std::is_same_v<U, char16_t> && !std::is_same_v<U, char32_t>;
    static_assert(known || std::is_same_v<U, std::byte> || std::is_same_v<U, std::complex<float>> ||
                      std::is_same_v<U, std::complex<double>>,
                  "no datatype is known for this type: name one of MPI");

    if constexpr (std::is_same_v<U, char>) {
        return MPI_CHAR;
    } else if constexpr (std::is_same_v<U, signed char>) {
        return MPI_SIGNED_CHAR;
    } else if constexpr (std::is_same_v<U, unsigned char>) {
        return MPI_UNSIGNED_CHAR;
    } else if constexpr (std::is_same_v<U, short>) {
        return MPI_SHORT;
    } else if constexpr (std::is_same_v<U, unsigned short>) {
        return MPI_UNSIGNED_SHORT;
    } else if constexpr (std::is_same_v<U, int>) {
        return MPI_INT;
    } else if constexpr (std::is_same_v<U, unsigned>) {
        return MPI_UNSIGNED;
    } else if constexpr (std::is_same_v<U, long>) {
        return MPI_LONG;
    } else if constexpr (std::is_same_v<U, unsigned long>) {
        return MPI_UNSIGNED_LONG;
    } else if constexpr (std::is_same_v<U, long long>) {
        return MPI_LONG_LONG;
    } else if constexpr (std::is_same_v<U, unsigned long long>) {
        return MPI_UNSIGNED_LONG_LONG;
    } else if constexpr (std::is_same_v<U, float>) {
        return MPI_FLOAT;
    } else if constexpr (std::is_same_v<U, double>) {
        return MPI_DOUBLE;
    } else if constexpr (std::is_same_v<U, long double>) {
        return MPI_LONG_DOUBLE;
    } else if constexpr (std::is_same_v<U, std::complex<float>>) {
        return MPI_C_FLOAT_COMPLEX;
    } else if constexpr (std::is_same_v<U, std::complex<double>>) {
        return MPI_C_DOUBLE_COMPLEX;
    } else {
        return MPI_BYTE; /* also of bool, which has a size of its own in C++ only */
    }
}

/* Some requests of somebody else: one, an array, or all of what has data() and size(). */
class request_span
{
  public:
    request_span(MPI_Request *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }
    request_span(MPI_Request &request) noexcept : request_span(&request, 1)
    {
    }
    template <std::size_t N> request_span(MPI_Request (&array)[N]) noexcept : request_span(array, N)
    {
    }
    template <class C, class = decltype(request_span(std::declval<C &>().data(), std::size_t{}))>
    request_span(C &container) noexcept : request_span(container.data(), container.size())
    {
    }

    [[nodiscard]] MPI_Request *data() const noexcept
    {
        return data_;
    }
    [[nodiscard]] std::size_t size() const noexcept
    {
        return size_;
    }
    /* As functions of MPI count: too many are an error of the argument there. */
    [[nodiscard]] int count() const noexcept
    {
        return size_ > INT_MAX ? -2 : static_cast<int>(size_);
    }

  private:
    MPI_Request *data_;
    std::size_t size_;
};

/* See MPIXQ_Matchall_info. */
inline status match(request_span requests, MPI_Info info = MPI_INFO_NULL)
{
    return detail::checked(MPIXQ_Matchall_info(requests.count(), requests.data(), info));
}

/* See MPIXQ_Imatchall_info: the request that completes when all are matched. */
inline result<MPI_Request> imatch(request_span requests, MPI_Info info = MPI_INFO_NULL)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int code = MPIXQ_Imatchall_info(requests.count(), requests.data(), info, &made);

    return detail::made<MPI_Request>(code, made);
}

inline result<bool> is_matched(MPI_Request request)
{
    int flag = 0, code = MPIXQ_Is_matched(request, &flag);

    return detail::made<bool>(code, flag != 0);
}

/* Persistent requests that are made, matched, started and freed together. */
class requests
{
  public:
    requests() = default;
    requests(requests &&other) noexcept : list_(std::exchange(other.list_, {}))
    {
    }
    requests &operator=(requests &&other) noexcept
    {
        if (this != &other) {
            drop();
            list_ = std::exchange(other.list_, {});
        }
        return *this;
    }
    ~requests()
    {
        drop();
    }

    /* Add a request for n elements, or for count of a datatype of MPI, where comm is always given:
     * MPIs whose handles are of type int make the number of arguments the only difference. */
    template <class T>
    status send(const T *data, std::size_t n, int to, int tag, MPI_Comm comm = MPI_COMM_WORLD)
    {
        return init(MPI_Send_init, data, n * detail::bytes<T>(), datatype<T>(), to, tag, comm);
    }
    /* The receive is known to be started when this starts: see MPIXQ_Enqueue_startall. */
    template <class T>
    status rsend(const T *data, std::size_t n, int to, int tag, MPI_Comm comm = MPI_COMM_WORLD)
    {
        return init(MPI_Rsend_init, data, n * detail::bytes<T>(), datatype<T>(), to, tag, comm);
    }
    template <class T>
    status receive(T *data, std::size_t n, int from, int tag, MPI_Comm comm = MPI_COMM_WORLD)
    {
        static_assert(!std::is_const_v<T>, "what is received is written");
        return init(MPI_Recv_init, data, n * detail::bytes<T>(), datatype<T>(), from, tag, comm);
    }
    status send(const void *data, std::size_t count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm)
    {
        return init(MPI_Send_init, data, count, type, to, tag, comm);
    }
    status rsend(const void *data, std::size_t count, MPI_Datatype type, int to, int tag,
                 MPI_Comm comm)
    {
        return init(MPI_Rsend_init, data, count, type, to, tag, comm);
    }
    status receive(void *data, std::size_t count, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm)
    {
        return init(MPI_Recv_init, data, count, type, from, tag, comm);
    }

    /* Take over one that was made elsewhere. */
    void add(MPI_Request request)
    {
        list_.push_back(request);
    }
    /* Add the one that a function makes, which takes its address and returns a code of MPI. */
    template <class Make> status make(Make &&function)
    {
        /* A place first: then nothing can fail once there is a request. */
        list_.push_back(MPI_REQUEST_NULL);
        int code = function(&list_.back());

        if (code != MPI_SUCCESS) {
            list_.pop_back();
        }
        return detail::checked(code);
    }

    status match(MPI_Info info = MPI_INFO_NULL)
    {
        return mpixq::match(*this, info);
    }

    /* Free all; of those after one that cannot be freed none. */
    status free()
    {
        while (!list_.empty()) {
            if (list_.back() != MPI_REQUEST_NULL) {
                status s = detail::checked(MPI_Request_free(&list_.back()));

                if (!s.ok()) {
                    return s;
                }
            }
            list_.pop_back();
        }
        return status();
    }

    [[nodiscard]] MPI_Request *data() noexcept
    {
        return list_.data();
    }
    [[nodiscard]] std::size_t size() const noexcept
    {
        return list_.size();
    }
    MPI_Request &operator[](std::size_t i) noexcept
    {
        return list_[i];
    }

  private:
    template <class Init, class Data>
    status init(Init function, Data *data, std::size_t count, MPI_Datatype type, int peer, int tag,
                MPI_Comm comm)
    {
        /* More than MPI counts is an error there. */
        int n = count > INT_MAX ? -1 : static_cast<int>(count);

        return make(
            [=](MPI_Request *place) { return function(data, n, type, peer, tag, comm, place); });
    }

    void drop() noexcept
    {
        if (detail::mpi_is_up()) {
            for (MPI_Request &request : list_) {
                if (request != MPI_REQUEST_NULL) {
                    (void)MPI_Request_free(&request);
                }
            }
        }
        list_.clear();
    }

    std::vector<MPI_Request> list_;
};

/* ---- Host streams --------------------------------------------------------------------------- */

/* Launch what can be called without arguments, and is copied or moved, on a host stream: see
 * MPIXQ_Host_stream_launch. It must not throw. */
template <class F> status launch(MPIXQ_Host_stream stream, F &&function)
{
    using Function = std::decay_t<F>;
    auto copy = std::make_unique<Function>(std::forward<F>(function));
    int code = MPIXQ_Host_stream_launch(
        stream,
        [](void *arg) noexcept {
            std::unique_ptr<Function> mine(static_cast<Function *>(arg));

            (*mine)();
        },
        copy.get());

    if (code == MPI_SUCCESS) {
        (void)copy.release(); /* by the stream, when it has run */
    }
    return detail::checked(code);
}

/* A host stream. Its destructor waits for what was launched; queues on it go first. */
class host_stream
{
  public:
    host_stream() = default;
    explicit host_stream(MPIXQ_Host_stream handle) noexcept : handle_(handle)
    {
    }
    host_stream(host_stream &&other) noexcept : handle_(other.release())
    {
    }
    host_stream &operator=(host_stream &&other) noexcept
    {
        if (this != &other) {
            drop();
            handle_ = other.release();
        }
        return *this;
    }
    ~host_stream()
    {
        drop();
    }

    static result<host_stream> create()
    {
        MPIXQ_Host_stream handle = MPIXQ_HOST_STREAM_NULL;
        int code = MPIXQ_Host_stream_create(&handle);

        return detail::made<host_stream>(code, handle);
    }

    template <class F> status launch(F &&function)
    {
        return mpixq::launch(handle_, std::forward<F>(function));
    }
    status launch(void (*function)(void *), void *arg)
    {
        return detail::checked(MPIXQ_Host_stream_launch(handle_, function, arg));
    }
    status synchronize()
    {
        return detail::checked(MPIXQ_Host_stream_synchronize(handle_));
    }
    /* Whether everything launched so far has run. */
    result<bool> query()
    {
        int flag = 0, code = MPIXQ_Host_stream_query(handle_, &flag);

        return detail::made<bool>(code, flag != 0);
    }
    status destroy()
    {
        return detail::checked(MPIXQ_Host_stream_destroy(&handle_));
    }

    [[nodiscard]] MPIXQ_Host_stream get() const noexcept
    {
        return handle_;
    }
    /* Give it up: the caller destroys it. */
    MPIXQ_Host_stream release() noexcept
    {
        return std::exchange(handle_, MPIXQ_HOST_STREAM_NULL);
    }

  private:
    void drop() noexcept
    {
        if (handle_ != MPIXQ_HOST_STREAM_NULL && detail::mpi_is_up()) {
            (void)MPIXQ_Host_stream_destroy(&handle_);
        }
        handle_ = MPIXQ_HOST_STREAM_NULL;
    }

    MPIXQ_Host_stream handle_ = MPIXQ_HOST_STREAM_NULL;
};

/* ---- Queues --------------------------------------------------------------------------------- */

/* A queue. Its destructor enqueues the waits that are missing and waits for everything enqueued;
 * the requests and the stream that it uses go after it. */
class queue
{
  public:
    queue() = default;
    explicit queue(MPIXQ_Queue handle) noexcept : handle_(handle)
    {
    }
    queue(queue &&other) noexcept : handle_(other.release())
    {
    }
    queue &operator=(queue &&other) noexcept
    {
        if (this != &other) {
            drop();
            handle_ = other.release();
        }
        return *this;
    }
    ~queue()
    {
        drop();
    }

    /* On a host stream of its own. */
    static result<queue> create(MPIXQ_Queue_type type = MPIXQ_QUEUE_AUTO,
                                MPI_Info info = MPI_INFO_NULL)
    {
        return init(type, nullptr, info);
    }
    static result<queue> on(const host_stream &stream, MPIXQ_Queue_type type = MPIXQ_QUEUE_AUTO,
                            MPI_Info info = MPI_INFO_NULL)
    {
        return on(stream.get(), type, info);
    }
    /* On the stream of a handle: an MPIXQ_Host_stream, cudaStream_t, CUstream or hipStream_t. */
    template <class Handle, class = std::enable_if_t<std::is_pointer_v<Handle>>>
    static result<queue> on(Handle stream, MPIXQ_Queue_type type = MPIXQ_QUEUE_AUTO,
                            MPI_Info info = MPI_INFO_NULL)
    {
        return init(type, &stream, info);
    }

    status start(request_span requests)
    {
        return detail::checked(MPIXQ_Enqueue_startall(handle_, requests.count(), requests.data()));
    }
    status wait(request_span requests)
    {
        return detail::checked(MPIXQ_Enqueue_waitall(handle_, requests.count(), requests.data()));
    }
    status start_wait(request_span list)
    {
        return detail::checked(MPIXQ_Enqueue_startwaitall(handle_, list.count(), list.data()));
    }
    /* For every request that was started and not waited for. */
    status wait_started()
    {
        return detail::checked(MPIXQ_Enqueue_waitall(handle_, MPIXQ_ALL_STARTED, nullptr));
    }
    /* The host waits for everything enqueued: MPIXQ_Queue_wait. */
    status synchronize()
    {
        return detail::checked(MPIXQ_Queue_wait(handle_));
    }
    /* Whether everything enqueued is done. */
    result<bool> test()
    {
        int flag = 0, code = MPIXQ_Queue_test(handle_, &flag);

        return detail::made<bool>(code, flag != 0);
    }
    /* What the queue uses and has done: the caller frees it. */
    result<MPI_Info> info() const
    {
        MPI_Info made = MPI_INFO_NULL;
        int code = MPIXQ_Queue_get_info(handle_, &made);

        return detail::made<MPI_Info>(code, made);
    }
    /* The handle of its stream, of whose kind the caller is sure. */
    template <class Handle = MPIXQ_Host_stream> result<Handle> stream() const
    {
        static_assert(std::is_pointer_v<Handle>, "handles of streams are pointers");
        Handle handle = nullptr;
        int code = MPIXQ_Queue_get_stream(handle_, &handle);

        return detail::made<Handle>(code, handle);
    }
    /* Without waiting: MPIXQ_Queue_free. */
    status free()
    {
        return detail::checked(MPIXQ_Queue_free(&handle_));
    }

    [[nodiscard]] MPIXQ_Queue get() const noexcept
    {
        return handle_;
    }
    /* Give it up: the caller frees it. */
    MPIXQ_Queue release() noexcept
    {
        return std::exchange(handle_, MPIXQ_QUEUE_NULL);
    }

  private:
    static result<queue> init(MPIXQ_Queue_type type, void *stream_address, MPI_Info info)
    {
        MPIXQ_Queue handle = MPIXQ_QUEUE_NULL;
        int code = MPIXQ_Queue_init_info(&handle, type, stream_address, info);

        return detail::made<queue>(code, handle);
    }

    void drop() noexcept
    {
        if (handle_ != MPIXQ_QUEUE_NULL && detail::mpi_is_up()) {
            /* A queue that has failed refuses these two, and can be freed. */
            if (MPIXQ_Enqueue_waitall(handle_, MPIXQ_ALL_STARTED, nullptr) == MPI_SUCCESS) {
                (void)MPIXQ_Queue_wait(handle_);
            }
            (void)MPIXQ_Queue_free(&handle_);
        }
        handle_ = MPIXQ_QUEUE_NULL;
    }

    MPIXQ_Queue handle_ = MPIXQ_QUEUE_NULL;
};

} // namespace returning or throwing
} // namespace mpixq

#endif /* MPIX_QUEUE_HPP_INCLUDED */
