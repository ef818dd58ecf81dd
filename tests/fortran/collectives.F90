! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! collectives works [SEEN] - persistent collectives from Fortran that are not matched, on 2 ranks:
! each is made, started twice and freed, and MPI moves the right data, in place too. An operation
! is freed before the start. And a tool behind the library, if there is one, saw these functions
! (bits).
#include "interface.inc"
#ifdef COLLECTIVES_OF_EXTENSION
#define BARRIER_INIT MPIX_Barrier_init
#define BCAST_INIT MPIX_Bcast_init
#define ALLREDUCE_INIT MPIX_Allreduce_init
#define ALLGATHER_INIT MPIX_Allgather_init
#define ALLTOALL_INIT MPIX_Neighbor_alltoall_init
#define ALLTOALLV_INIT MPIX_Neighbor_alltoallv_init
#if INTERFACE == 3
#define USE_EXTENSION use mpi_f08_ext
#define INCLUDE_EXTENSION
#elif INTERFACE == 2
#define USE_EXTENSION use mpi_ext
#define INCLUDE_EXTENSION
#else
#define USE_EXTENSION
#define INCLUDE_EXTENSION include 'mpif-ext.h'
#endif
#else
#define BARRIER_INIT MPI_Barrier_init
#define BCAST_INIT MPI_Bcast_init
#define ALLREDUCE_INIT MPI_Allreduce_init
#define ALLGATHER_INIT MPI_Allgather_init
#define ALLTOALL_INIT MPI_Neighbor_alltoall_init
#define ALLTOALLV_INIT MPI_Neighbor_alltoallv_init
#define USE_EXTENSION
#define INCLUDE_EXTENSION
#endif
#if INTERFACE == 3
#define OPERATION type(MPI_Op)
#else
#define OPERATION integer
#endif

module collectives_fn
    implicit none
contains
#if INTERFACE == 3
    subroutine add(in_at, inout_at, n, datatype)
        use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
        use mpi_f08, only: MPI_Datatype
        type(c_ptr), value :: in_at, inout_at
        integer :: n
        type(MPI_Datatype) :: datatype
        integer, pointer :: in(:), inout(:)

        call c_f_pointer(in_at, in, [n])
        call c_f_pointer(inout_at, inout, [n])
        inout = inout + in
    end subroutine
#else
    subroutine add(in, inout, n, datatype)
        integer :: n, datatype
        integer :: in(n), inout(n)

        inout = inout + in
    end subroutine
#endif
end module collectives_fn

program collectives
    use, intrinsic :: iso_c_binding, only: c_int
    USE_MPI
    USE_EXTENSION
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    INCLUDE_EXTENSION
    interface
        integer(c_int) function mixed_tool_others() bind(c)
            import :: c_int
        end function
    end interface
    integer, parameter :: n = 3, guard = -77, rounds = 2
    integer :: ierr, provided, i, seen
    character(20) :: text

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
    call begin()
    call among_all()
    call reductions(.false.)
    call reductions(.true.)
    call gathers(.false.)
    call gathers(.true.)
    call neighbours()
    call refused()
    call get_command_argument(2, text)
    if (text /= '') then
        read (text, *) seen
        SAME(int(mixed_tool_others()), seen)
    end if
    call finish()
contains
    subroutine run(r)
        REQUEST, intent(inout) :: r

        SAME(ierr, MPI_SUCCESS)
        call MPI_Start(r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(r /= MPI_REQUEST_NULL)
    end subroutine

    subroutine end_of(r)
        REQUEST, intent(inout) :: r

        call MPI_Request_free(r, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(r == MPI_REQUEST_NULL)
    end subroutine

    subroutine among_all()
        REQUEST :: r
        integer, asynchronous, save :: data(n + 1)
        integer :: round

        call BARRIER_INIT(MPI_COMM_WORLD, MPI_INFO_NULL, r, ierr)
        call run(r)
        call end_of(r)
        call BCAST_INIT(data, n, MPI_INTEGER, 1, MPI_COMM_WORLD, MPI_INFO_NULL, r, ierr)
        do round = 1, rounds
            data = [(100 * rank + 10 * round + i, i=1, n), guard]
            call run(r)
            do i = 1, n
                SAME(data(i), 100 + 10 * round + i)
            end do
            SAME(data(n + 1), guard)
        end do
        call end_of(r)
    end subroutine

    subroutine reductions(in_place)
        use collectives_fn
        logical, intent(in) :: in_place
        integer, asynchronous, save :: in(n), out(n + 1)
        OPERATION :: op
        REQUEST :: r
        integer :: round

        call MPI_Op_create(add, .true., op, ierr)
        SAME(ierr, MPI_SUCCESS)
        if (in_place) then
            call ALLREDUCE_INIT(MPI_IN_PLACE, out, n, MPI_INTEGER, op, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, r, ierr)
        else
            call ALLREDUCE_INIT(in, out, n, MPI_INTEGER, op, MPI_COMM_WORLD, MPI_INFO_NULL, r, &
                                ierr)
        end if
        SAME(ierr, MPI_SUCCESS)
        call MPI_Op_free(op, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(op == MPI_OP_NULL)
        do round = 1, rounds
            in = [(100 * rank + 10 * round + i, i=1, n)]
            out = guard
            if (in_place) out(1:n) = in
            call run(r)
            do i = 1, n
                SAME(out(i), 100 + 20 * round + 2 * i)
            end do
            SAME(out(n + 1), guard)
        end do
        call end_of(r)
        op = MPI_SUM
        call MPI_Op_free(op, ierr)
        CHECK(ierr /= MPI_SUCCESS .and. op == MPI_SUM)
    end subroutine

    ! Once: MPICH 4.0 moves nothing from the second start on.
    subroutine gathers(in_place)
        logical, intent(in) :: in_place
        integer, asynchronous, save :: in(n), out(2 * n + 1)
        REQUEST :: r

        if (in_place) then
            call ALLGATHER_INIT(MPI_IN_PLACE, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, r, ierr)
        else
            call ALLGATHER_INIT(in, n, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, r, ierr)
        end if
        in = [(100 * rank + i, i=1, n)]
        out = guard
        if (in_place) out(rank * n + 1:rank * n + n) = in
        call run(r)
        do i = 1, n
            SAME(out(i), i)
            SAME(out(n + i), 100 + i)
        end do
        SAME(out(2 * n + 1), guard)
        call end_of(r)
    end subroutine

    ! A ring of two: the other process is both neighbours.
    subroutine neighbours()
        integer, asynchronous, save :: in(2 * n), out(2 * n), spread(2 * n + 2)
        COMM :: ring
        REQUEST :: r(2)

        call MPI_Cart_create(MPI_COMM_WORLD, 1, [2], [.true.], .false., ring, ierr)
        SAME(ierr, MPI_SUCCESS)
        call ALLTOALL_INIT(in, n, MPI_INTEGER, out, n, MPI_INTEGER, ring, MPI_INFO_NULL, r(1), ierr)
        SAME(ierr, MPI_SUCCESS)
        call neighbours_with_counts(in, spread, ring, r(2))
        in = [(100 * rank + i, i=1, 2 * n)]
        out = guard
        spread = guard
        call run(r(1))
        call run(r(2))
        ! Of two neighbours that are the same process the messages may be crossed.
        do i = 1, n
            CHECK(mod(out(i), 100) == i .or. mod(out(i), 100) == n + i)
            SAME(out(i) / 100, ieor(rank, 1))
            SAME(spread(i) / 100, ieor(rank, 1))
            SAME(spread(n + 1 + i) / 100, ieor(rank, 1))
        end do
        SAME(sum(out), 200 * n * ieor(rank, 1) + n * (2 * n + 1))
        SAME(spread(n + 1), guard)
        SAME(spread(2 * n + 2), guard)
        call end_of(r(1))
        call end_of(r(2))
        call MPI_Comm_free(ring, ierr)
    end subroutine

    subroutine neighbours_with_counts(in, spread, ring, r)
        integer, asynchronous :: in(2 * n), spread(2 * n + 2)
        COMM, intent(in) :: ring
        REQUEST, intent(out) :: r
        integer, save :: counts(2) = [n, n], from(2) = [0, n], to(2) = [0, n + 1]

        call ALLTOALLV_INIT(in, counts, from, MPI_INTEGER, spread, counts, to, MPI_INTEGER, ring, &
                            MPI_INFO_NULL, r, ierr)
        SAME(ierr, MPI_SUCCESS)
    end subroutine

    subroutine refused()
        REQUEST :: r

        r = MPI_REQUEST_NULL
        call BARRIER_INIT(MPI_COMM_NULL, MPI_INFO_NULL, r, ierr)
        CHECK(ierr /= MPI_SUCCESS)
        CHECK(r == MPI_REQUEST_NULL)
    end subroutine
end program collectives
