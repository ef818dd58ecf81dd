/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_rma.hpp - the functions of mpix_queue_rma.h for C++17: puts with signals, with owners
 * of windows, signals and plans
 *
 *     auto window = mpixq::window::allocate(2 * bytes);      // collective
 *     auto arrived = mpixq::signal::create(*window);         // of one event
 *     auto out = window->block(0, bytes);
 *     auto in = window->block(bytes, bytes, *arrived);       // the peer gets its sizeof *in bytes
 *     auto queue = mpixq::queue::create();
 *     mpixq::enqueue_put(*queue, *out, theirs);              // theirs: the peer's in
 *     mpixq::enqueue_wait(*queue, *arrived);                 // until the peer has put as well
 *     mpixq::enqueue_reset(*queue, *arrived);                // for the next round
 *     queue->synchronize();
 *     window->free();                                        // collective
 *
 * To free a window is collective, so its destructor does not: free() has to be called. A window
 * that was not freed is one until MPI ends, and needs its memory until then. Signals and plans are
 * freed by their destructors. Queues that use them go first, so declare these last.
 *
 * Errors and everything else: as mpix_queue.hpp says. They invoke the handler of MPI_COMM_WORLD,
 * and that of the communicator where a window is made.
 */
#ifndef MPIX_QUEUE_RMA_HPP_INCLUDED
#define MPIX_QUEUE_RMA_HPP_INCLUDED

#include <mpix_queue.hpp>
#include <mpix_queue_rma.h>

#include <limits>

namespace mpixq
{
#ifdef MPIXQ_EXCEPTIONS
inline namespace throwing
#else
inline namespace returning
#endif
{

/* ---- Blocks --------------------------------------------------------------------------------- */

/* That of C: bytes that can be sent to other processes. block{} is that of MPI_PROC_NULL, to and
 * from which nothing is moved. */
using block = MPIXQ_Blk;

/* Some blocks of somebody else: one, an array, or all of what has data() and size(). */
class block_span
{
  public:
    block_span(const block *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }
    block_span(const block &one) noexcept : block_span(&one, 1)
    {
    }
    template <std::size_t N> block_span(const block (&array)[N]) noexcept : block_span(array, N)
    {
    }
    template <class C,
              class = decltype(block_span(std::declval<const C &>().data(), std::size_t{}))>
    block_span(const C &container) noexcept : block_span(container.data(), container.size())
    {
    }

    [[nodiscard]] const block *data() const noexcept
    {
        return data_;
    }
    [[nodiscard]] std::size_t size() const noexcept
    {
        return size_;
    }

  private:
    const block *data_;
    std::size_t size_;
};

/* Give a block the signal of another one of the same process: MPIXQ_Blk_set_signal; or none. */
inline status set_signal(block &changed, const block &from)
{
    return detail::checked(MPIXQ_Blk_set_signal(&changed, &from));
}
inline status clear_signal(block &changed)
{
    return detail::checked(MPIXQ_Blk_set_signal(&changed, nullptr));
}

namespace detail
{
/* More than MPI counts is an error of the argument there. */
inline MPI_Aint aint(std::size_t n) noexcept
{
    return n > static_cast<std::size_t>(std::numeric_limits<MPI_Aint>::max())
               ? -1
               : static_cast<MPI_Aint>(n);
}
} // namespace detail

/* ---- Windows -------------------------------------------------------------------------------- */

class signal;

/* A window. Its destructor does not free it: see above. */
class window
{
  public:
    window() = default;
    /* Take over one of C, and where its memory is. */
    explicit window(MPIXQ_Window handle, void *base = nullptr)
        : handle_(handle), base_(base), life_(std::make_shared<char>())
    {
    }
    window(window &&other) noexcept
        : handle_(std::exchange(other.handle_, MPIXQ_WINDOW_NULL)),
          base_(std::exchange(other.base_, nullptr)), life_(std::move(other.life_))
    {
    }
    window &operator=(window &&other) noexcept
    {
        if (this != &other) {
            handle_ = std::exchange(other.handle_, MPIXQ_WINDOW_NULL);
            base_ = std::exchange(other.base_, nullptr);
            life_ = std::move(other.life_);
        }
        return *this;
    }
    ~window() = default;

    /* Of memory of the caller, which must outlive it. Collective: MPIXQ_Window_create. */
    static result<window> create(void *base, std::size_t bytes, MPI_Comm comm = MPI_COMM_WORLD,
                                 MPI_Info info = MPI_INFO_NULL)
    {
        window made(MPIXQ_WINDOW_NULL, base); /* what can fail here does before others wait */
        int code = MPIXQ_Window_create(base, detail::aint(bytes), comm, info, &made.handle_);

        return detail::made<window>(code, std::move(made));
    }
    /* Of memory that it brings along, zeroed. Collective: MPIXQ_Window_allocate. */
    static result<window> allocate(std::size_t bytes, MPI_Comm comm = MPI_COMM_WORLD,
                                   MPI_Info info = MPI_INFO_NULL)
    {
        window made(MPIXQ_WINDOW_NULL);
        int code =
            MPIXQ_Window_allocate(detail::aint(bytes), comm, info, &made.base_, &made.handle_);

        return detail::made<window>(code, std::move(made));
    }

    /* A part of the memory of this process, of whose signal each put or get of it is an event. */
    result<mpixq::block> block(std::size_t offset, std::size_t bytes) const
    {
        return block_of(offset, bytes, MPIXQ_SIGNAL_NULL);
    }
    result<mpixq::block> block(std::size_t offset, std::size_t bytes, const signal &told) const;

    /* Wait until all puts and gets of this process are complete: MPIXQ_Window_flush. */
    status flush()
    {
        return detail::checked(MPIXQ_Window_flush(handle_));
    }
    /* Collective: MPIXQ_Window_free. Its signals are freed with it, which their owners notice. It
     * is gone unless get() still gives it, whatever is returned. */
    status free()
    {
        int code = MPIXQ_Window_free(&handle_);

        if (handle_ == MPIXQ_WINDOW_NULL) {
            base_ = nullptr;
            life_.reset();
        }
        return detail::checked(code);
    }

    /* Its memory at this process. */
    template <class T = void> [[nodiscard]] T *data() const noexcept
    {
        return static_cast<T *>(base_);
    }
    [[nodiscard]] MPIXQ_Window get() const noexcept
    {
        return handle_;
    }
    /* Give it up, with its signals, whose owners let go of them: the caller frees it. */
    MPIXQ_Window release() noexcept
    {
        base_ = nullptr;
        life_.reset();
        return std::exchange(handle_, MPIXQ_WINDOW_NULL);
    }

  private:
    friend class signal;

    result<mpixq::block> block_of(std::size_t offset, std::size_t bytes, MPIXQ_Signal told) const
    {
        mpixq::block made = {};
        int code = MPIXQ_Blk_init(handle_, detail::aint(offset), detail::aint(bytes), told, &made);

        return detail::made<mpixq::block>(code, made);
    }

    MPIXQ_Window handle_ = MPIXQ_WINDOW_NULL;
    void *base_ = nullptr;
    std::shared_ptr<void> life_; /* ends when the owner has no window any more */
};

/* ---- Signals -------------------------------------------------------------------------------- */

/* A signal. It is freed by its destructor, or with its window, or left to the window if that has no
 * owner any more; get() gives none then. */
class signal
{
  public:
    signal() = default;
    /* Take over one of C, of this window. */
    signal(MPIXQ_Signal handle, const window &of) noexcept : handle_(handle), life_(of.life_)
    {
    }
    signal(signal &&other) noexcept : handle_(other.release()), life_(std::move(other.life_))
    {
    }
    signal &operator=(signal &&other) noexcept
    {
        if (this != &other) {
            drop();
            handle_ = other.release();
            life_ = std::move(other.life_);
        }
        return *this;
    }
    ~signal()
    {
        drop();
    }

    /* Complete after so many events: MPIXQ_Signal_init. */
    static result<signal> create(const window &of, int events = 1)
    {
        MPIXQ_Signal handle = MPIXQ_SIGNAL_NULL;
        int code = MPIXQ_Signal_init(of.get(), events, &handle);

        return detail::made<signal>(code, signal(handle, of));
    }

    /* The host waits until it is complete: MPIXQ_Signal_wait. */
    status wait()
    {
        return detail::checked(MPIXQ_Signal_wait(get()));
    }
    /* And then set it again: MPIXQ_Signal_wait_reset. */
    status wait_reset()
    {
        return detail::checked(MPIXQ_Signal_wait_reset(get()));
    }
    /* Whether it is complete. */
    result<bool> test()
    {
        int flag = 0, code = MPIXQ_Signal_test(get(), &flag);

        return detail::made<bool>(code, flag != 0);
    }
    /* For the next round: MPIXQ_Signal_reset. */
    status reset()
    {
        return detail::checked(MPIXQ_Signal_reset(get()));
    }
    status free()
    {
        handle_ = get();
        return detail::checked(MPIXQ_Signal_free(&handle_));
    }

    [[nodiscard]] MPIXQ_Signal get() const noexcept
    {
        return life_.expired() ? MPIXQ_SIGNAL_NULL : handle_;
    }
    /* Give it up: the caller frees it, or its window. */
    MPIXQ_Signal release() noexcept
    {
        MPIXQ_Signal given = get();

        handle_ = MPIXQ_SIGNAL_NULL;
        return given;
    }

  private:
    void drop() noexcept
    {
        handle_ = get(); /* of a window that is gone it may be another's by now */
        if (handle_ != MPIXQ_SIGNAL_NULL && detail::mpi_is_up()) {
            (void)MPIXQ_Signal_free(&handle_);
        }
        handle_ = MPIXQ_SIGNAL_NULL;
    }

    MPIXQ_Signal handle_ = MPIXQ_SIGNAL_NULL;
    std::weak_ptr<void> life_; /* of the window */
};

inline result<mpixq::block> window::block(std::size_t offset, std::size_t bytes,
                                          const signal &told) const
{
    int flag = 0;

    if (told.get() == MPIXQ_SIGNAL_NULL) {
        /* C takes it for a block that has none: this is its error for no live signal. */
        return detail::made<mpixq::block>(MPIXQ_Signal_test(told.get(), &flag), mpixq::block{});
    }
    return block_of(offset, bytes, told.get());
}

/* ---- Puts, gets and plans ------------------------------------------------------------------- */

/* Start to write a block of this process into one of any: MPIXQ_Put. */
inline status put(const block &local, const block &remote)
{
    return detail::checked(MPIXQ_Put(&local, &remote));
}
/* Start to read a block of any process into one of this: MPIXQ_Get. */
inline status get(const block &local, const block &remote)
{
    return detail::checked(MPIXQ_Get(&local, &remote));
}

/* Many puts that are started as one. Its destructor frees it; what it started goes on. */
class plan
{
  public:
    plan() = default;
    explicit plan(MPIXQ_Plan handle) noexcept : handle_(handle)
    {
    }
    plan(plan &&other) noexcept : handle_(other.release())
    {
    }
    plan &operator=(plan &&other) noexcept
    {
        if (this != &other) {
            drop();
            handle_ = other.release();
        }
        return *this;
    }
    ~plan()
    {
        drop();
    }

    /* From each local block to the remote one at its place: MPIXQ_Plan_create. Unequal numbers are
     * an error of the count. */
    static result<plan> create(block_span local, block_span remote)
    {
        MPIXQ_Plan handle = MPIXQ_PLAN_NULL;
        bool fits = local.size() == remote.size() && local.size() <= INT_MAX;
        int count = fits ? static_cast<int>(local.size()) : -1;
        int code = MPIXQ_Plan_create(count, local.data(), remote.data(), &handle);

        return detail::made<plan>(code, handle);
    }

    status start()
    {
        return detail::checked(MPIXQ_Plan_start(handle_));
    }
    status free()
    {
        return detail::checked(MPIXQ_Plan_free(&handle_));
    }

    [[nodiscard]] MPIXQ_Plan get() const noexcept
    {
        return handle_;
    }
    /* Give it up: the caller frees it. */
    MPIXQ_Plan release() noexcept
    {
        return std::exchange(handle_, MPIXQ_PLAN_NULL);
    }

  private:
    void drop() noexcept
    {
        if (handle_ != MPIXQ_PLAN_NULL && detail::mpi_is_up()) {
            (void)MPIXQ_Plan_free(&handle_);
        }
        handle_ = MPIXQ_PLAN_NULL;
    }

    MPIXQ_Plan handle_ = MPIXQ_PLAN_NULL;
};

/* ---- In the order of a stream --------------------------------------------------------------- */

/* Enqueue what put, plan::start, signal::wait, reset and wait_reset do: see MPIXQ_Enqueue_put. */
inline status enqueue_put(queue &on, const block &local, const block &remote)
{
    return detail::checked(MPIXQ_Enqueue_put(on.get(), &local, &remote));
}
inline status enqueue_start(queue &on, const plan &started)
{
    return detail::checked(MPIXQ_Enqueue_plan_start(on.get(), started.get()));
}
inline status enqueue_wait(queue &on, const signal &awaited)
{
    return detail::checked(MPIXQ_Enqueue_signal_wait(on.get(), awaited.get()));
}
inline status enqueue_reset(queue &on, const signal &next)
{
    return detail::checked(MPIXQ_Enqueue_signal_reset(on.get(), next.get()));
}
inline status enqueue_wait_reset(queue &on, const signal &awaited)
{
    return detail::checked(MPIXQ_Enqueue_signal_wait_reset(on.get(), awaited.get()));
}

} // namespace returning or throwing
} // namespace mpixq

#endif /* MPIX_QUEUE_RMA_HPP_INCLUDED */
