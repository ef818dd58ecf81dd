! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! Requests of all modes are made, matched, enqueued and freed from Fortran, on 2 ranks; data is
! compared element by element, with guards. Contiguous buffers, derived types, MPI_BOTTOM, wildcards
! and, where the interface has them, sections of arrays. Matching a request fails unless the library
! saw how it was made, so nothing passes without capture.
#include "interface.inc"

module modes_fn
    use, intrinsic :: iso_c_binding
    implicit none
contains
    ! What a host stream runs: counts up.
    subroutine bump(arg) bind(c)
        type(c_ptr), value :: arg
        integer, pointer :: n

        call c_f_pointer(arg, n)
        n = n + 1
    end subroutine

    ! Internal procedures: one that uses a variable of this one is refused, the other one runs.
    subroutine launch_internal(stream, arg, refused, launched, runs)
        use mpix_queue
        type(MPIXQ_Host_stream), intent(in) :: stream
        type(c_ptr), intent(in) :: arg
        integer, intent(out) :: refused, launched, runs
        type(c_funptr) :: fn ! gfortran 12 links no constant that is an internal procedure

        runs = 0
        fn = c_funloc(counts)
        call MPIXQ_Host_stream_launch(stream, fn, arg, refused)
        fn = c_funloc(passes)
        call MPIXQ_Host_stream_launch(stream, fn, arg, launched)
        call MPIXQ_Host_stream_synchronize(stream)
    contains
        subroutine counts(arg) bind(c)
            type(c_ptr), value :: arg

            call bump(arg)
            runs = runs + 1
        end subroutine

        subroutine passes(arg) bind(c)
            type(c_ptr), value :: arg

            call bump(arg)
        end subroutine
    end subroutine
end module modes_fn

program modes
    use, intrinsic :: iso_c_binding
    USE_MPI
    use mpix_queue
    use ftest
    use modes_fn
    implicit none
    INCLUDE_MPI
    integer, parameter :: n = 50, guard = -77, rounds = 3
    type(MPIXQ_Queue) :: queue
    type(MPIXQ_Host_stream) :: stream
    integer :: ierr, peer, provided
    integer, target :: bumps = 0

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
    SAME(ierr, MPI_SUCCESS)
    SAME(provided, MPI_THREAD_MULTIPLE)
    call begin()
    peer = ieor(rank, 1)
    call MPIXQ_Host_stream_create(stream, ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(stream /= MPIXQ_HOST_STREAM_NULL)
    CHECK(queue == MPIXQ_QUEUE_NULL)
    call MPIXQ_Queue_init(queue, MPIXQ_QUEUE_AUTO, stream, ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(queue /= MPIXQ_QUEUE_NULL)
    call all_modes()
    call derived_type()
    call bottom()
    call wildcards()
    call sections()
    call asynchronous_match()
    call MPIXQ_Queue_wait(queue)
    SAME(bumps, 4 * rounds)
    call internal_procedures()
    call MPIXQ_Queue_free(queue, ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(queue == MPIXQ_QUEUE_NULL)
    call MPIXQ_Host_stream_destroy(stream, ierr)
    SAME(ierr, MPI_SUCCESS)
    call finish()
contains
    subroutine expect_array(got, first, last, value)
        integer, intent(in) :: got(:), first, last, value
        integer :: i

        do i = 1, size(got)
            if (i >= first .and. i <= last) then
                SAME(got(i), value + i - first)
            else
                SAME(got(i), guard)
            end if
        end do
    end subroutine

    subroutine internal_procedures()
        integer, target, save :: passed = 0
        integer :: refused, launched, runs, kind
        type(c_funptr) :: fn

        call launch_internal(stream, c_loc(passed), refused, launched, runs)
        call MPIXQ_Error_kind(refused, kind)
        SAME(kind, MPIXQ_ERR_ARG)
        SAME(launched, MPI_SUCCESS)
        SAME(runs, 0)
        SAME(passed, 1)
        ! What the main program has stays.
        fn = c_funloc(of_main)
        call MPIXQ_Host_stream_launch(stream, fn, c_loc(passed), launched)
        SAME(launched, MPI_SUCCESS)
        call MPIXQ_Host_stream_synchronize(stream)
        SAME(bumps, 4 * rounds + 1)
    end subroutine

    subroutine of_main(arg) bind(c)
        type(c_ptr), value :: arg

        call bump(arg)
        bumps = bumps + 1
    end subroutine

    subroutine all_modes()
        integer, asynchronous :: out(n + 2), in(n + 2)
        integer, allocatable, asynchronous, save :: attached(:)
        REQUEST :: r(2)
        integer :: mode, round, i, starts, size_of
        type(c_funptr) :: fn
        logical :: flag
#if INTERFACE == 3
        type(c_ptr) :: address
#else
        integer :: address
#endif

        fn = c_funloc(bump)
        allocate (attached(n + MPI_BSEND_OVERHEAD))
        call MPI_Buffer_attach(attached, 4 * (n + MPI_BSEND_OVERHEAD), ierr)
        do mode = 1, 4
            select case (mode)
            case (1)
                call MPI_Send_init(out(2), n, MPI_INTEGER, peer, mode, MPI_COMM_WORLD, r(1), ierr)
            case (2)
                call MPI_Bsend_init(out(2), n, MPI_INTEGER, peer, mode, MPI_COMM_WORLD, r(1), ierr)
            case (3)
                call MPI_Ssend_init(out(2), n, MPI_INTEGER, peer, mode, MPI_COMM_WORLD, r(1), ierr)
            case (4)
                call MPI_Rsend_init(out(2), n, MPI_INTEGER, peer, mode, MPI_COMM_WORLD, r(1), ierr)
            end select
            SAME(ierr, MPI_SUCCESS)
            call MPI_Recv_init(in(2), n, MPI_INTEGER, peer, mode, MPI_COMM_WORLD, r(2), ierr)
            SAME(ierr, MPI_SUCCESS)
            call MPIXQ_Is_matched(r(1), flag, ierr)
            SAME(ierr, MPI_SUCCESS)
            CHECK(.not. flag)
            call MPIXQ_Matchall(2, r, ierr)
            SAME(ierr, MPI_SUCCESS)
            call MPIXQ_Is_matched(r(1), flag)
            CHECK(flag)
            starts = queue_count(queue, 'mpixq_starts')
            do round = 1, rounds
                out = guard
                in = guard
                out(2:n + 1) = [(1000 * (10 * mode + round) + 100 * rank + i, i=1, n)]
                if (round == rounds) then
                    call MPIXQ_Enqueue_startwaitall(queue, 2, r, ierr)
                else
                    call MPIXQ_Enqueue_startall(queue, 2, r, ierr)
                end if
                SAME(ierr, MPI_SUCCESS)
                if (round == 1) then
                    call MPIXQ_Enqueue_waitall(queue, ierr)
                else if (round == 2) then
                    call MPIXQ_Enqueue_waitall(queue, 2, r, ierr)
                else
                    call MPIXQ_Enqueue_wait(queue, r(1))
                    call MPIXQ_Enqueue_wait(queue, r(2), ierr)
                end if
                SAME(ierr, MPI_SUCCESS)
                call MPIXQ_Host_stream_launch(stream, fn, c_loc(bumps), ierr)
                SAME(ierr, MPI_SUCCESS)
                call MPIXQ_Queue_wait(queue, ierr)
                SAME(ierr, MPI_SUCCESS)
                call MPIXQ_Queue_test(queue, flag, ierr)
                CHECK(flag)
                call expect_array(in, 2, n + 1, 1000 * (10 * mode + round) + 100 * peer + 1)
            end do
            SAME(queue_count(queue, 'mpixq_starts'), starts + 2 * rounds)
            SAME(queue_count(queue, 'mpixq_waits'), starts + 2 * rounds)
            call MPI_Request_free(r(1), ierr)
            SAME(ierr, MPI_SUCCESS)
            call MPI_Request_free(r(2), ierr)
            SAME(ierr, MPI_SUCCESS)
            CHECK(r(1) == MPI_REQUEST_NULL .and. r(2) == MPI_REQUEST_NULL)
        end do
        call MPI_Buffer_detach(address, size_of, ierr)
    end subroutine

    ! The pair is matched, moves its data once and is freed.
    subroutine exchange(r)
        REQUEST, intent(inout) :: r(2)
        integer :: i

        call MPIXQ_Match(r(2 - rank), ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Match(r(1 + rank), ierr)
        SAME(ierr, MPI_SUCCESS)
        do i = 1, 2
            call MPIXQ_Enqueue_start(queue, r(i), ierr)
            SAME(ierr, MPI_SUCCESS)
        end do
        call MPIXQ_Enqueue_waitall(queue, MPIXQ_ALL_STARTED, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Queue_wait(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
        do i = 1, 2
            call MPI_Request_free(r(i), ierr)
            SAME(ierr, MPI_SUCCESS)
        end do
    end subroutine

    ! Every other element; the type is freed before the request is matched.
    subroutine derived_type()
        integer, asynchronous :: out(2 * n), in(2 * n)
        DATATYPE :: type
        REQUEST :: r(2)
        integer :: i

        out = guard
        in = guard
        out(1::2) = [(7000 + 100 * rank + i, i=1, n)]
        call MPI_Type_vector(n, 1, 2, MPI_INTEGER, type, ierr)
        call MPI_Type_commit(type, ierr)
        call MPI_Send_init(out, 1, type, peer, 5, MPI_COMM_WORLD, r(1), ierr)
        call MPI_Recv_init(in, 1, type, peer, 5, MPI_COMM_WORLD, r(2), ierr)
        call MPI_Type_free(type, ierr)
        call exchange(r)
        call expect_array(in(1::2), 1, n, 7000 + 100 * peer + 1)
        call expect_array(in(2::2), 0, -1, 0)
    end subroutine

    subroutine bottom()
        integer, asynchronous, save :: out(n + 2), in(n + 2)
        integer(MPI_ADDRESS_KIND) :: at(1)
        DATATYPE :: types(2)
        REQUEST :: r(2)
        integer :: i, k

        out = guard
        in = guard
        out(2:n + 1) = [(8000 + 100 * rank + i, i=1, n)]
        do k = 1, 2
            if (k == 1) then
                call MPI_Get_address(out(2), at(1), ierr)
            else
                call MPI_Get_address(in(2), at(1), ierr)
            end if
            call MPI_Type_create_hindexed(1, [n], at, MPI_INTEGER, types(k), ierr)
            call MPI_Type_commit(types(k), ierr)
        end do
        call MPI_Ssend_init(MPI_BOTTOM, 1, types(1), peer, 6, MPI_COMM_WORLD, r(1), ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Recv_init(MPI_BOTTOM, 1, types(2), peer, 6, MPI_COMM_WORLD, r(2), ierr)
        SAME(ierr, MPI_SUCCESS)
        call exchange(r)
        if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_Get_address(in, at(1), ierr)
        call expect_array(in, 2, n + 1, 8000 + 100 * peer + 1)
        call MPI_Type_free(types(1), ierr)
        call MPI_Type_free(types(2), ierr)
    end subroutine

    subroutine wildcards()
        integer, asynchronous :: out(n), in(n + 2)
        REQUEST :: r(2)
        STATUS_IS(s)
        integer :: i, count
        logical :: flag

        out = [(9000 + 100 * rank + i, i=1, n)]
        in = guard
        call MPI_Send_init(out, n - 3, MPI_INTEGER, peer, 40 + rank, MPI_COMM_WORLD, r(1), ierr)
        call MPI_Recv_init(in(2), n, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
            r(2), ierr)
        call MPIXQ_Matchall(2, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Enqueue_startall(queue, 2, r)
        call MPIXQ_Enqueue_waitall(queue, 2, r, ierr)
        call MPIXQ_Queue_wait(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Request_get_status(r(2), flag, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(flag)
        SAME(SOURCE(s), peer)
        SAME(TAG(s), 40 + peer)
        call MPI_Get_count(s, MPI_INTEGER, count, ierr)
        SAME(count, n - 3)
        flag = .false.
        call MPI_Request_get_status(r(2), flag, MPI_STATUS_IGNORE, ierr)
        CHECK(flag)
        call expect_array(in, 2, n - 2, 9000 + 100 * peer + 1)
        call MPI_Request_free(r(1), ierr)
        call MPI_Request_free(r(2), ierr)
    end subroutine

    ! Only mpi_f08 can take them without a copy that is gone when the request starts.
    subroutine sections()
#if INTERFACE == 3
        integer, asynchronous :: out(3, n), in(3, n)
        REQUEST :: r(2)
        integer :: i

        if (.not. MPI_SUBARRAYS_SUPPORTED) return
        out = guard
        in = guard
        out(2, :) = [(6000 + 100 * rank + i, i=1, n)]
        call MPI_Send_init(out(2, :), n, MPI_INTEGER, peer, 7, MPI_COMM_WORLD, r(1), ierr)
        call MPI_Recv_init(in(2, :), n, MPI_INTEGER, peer, 7, MPI_COMM_WORLD, r(2), ierr)
        call exchange(r)
        call expect_array(in(1, :), 0, -1, 0)
        call expect_array(in(2, :), 1, n, 6000 + 100 * peer + 1)
        call expect_array(in(3, :), 0, -1, 0)
#endif
    end subroutine

    subroutine asynchronous_match()
        integer, asynchronous :: out(n), in(n)
        REQUEST :: r(2), match
        STATUS_IS(s)
        integer :: i
        logical :: flag

        out = [(5000 + 100 * rank + i, i=1, n)]
        in = guard
        call MPI_Send_init(out, n, MPI_INTEGER, peer, 8, MPI_COMM_WORLD, r(1), ierr)
        call MPI_Recv_init(in, n, MPI_INTEGER, peer, 8, MPI_COMM_WORLD, r(2), ierr)
        call MPIXQ_Imatchall(2, r, match, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Wait(match, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(match == MPI_REQUEST_NULL)
        call MPIXQ_Is_matched(r(2), flag, ierr)
        CHECK(flag)
        call MPIXQ_Enqueue_startall(queue, 2, r, ierr)
        call MPIXQ_Enqueue_waitall(queue, 2, r, ierr)
        call MPIXQ_Queue_wait(queue, ierr)
        call expect_array(in, 1, n, 5000 + 100 * peer + 1)
        call MPI_Request_free(r(1), ierr)
        call MPI_Request_free(r(2), ierr)
        call MPI_Send_init(out, n, MPI_INTEGER, MPI_PROC_NULL, 8, MPI_COMM_WORLD, r(1), ierr)
        call MPIXQ_Imatch(r(1), match, ierr)
        SAME(ierr, MPI_SUCCESS)
        do
            call MPI_Test(match, flag, MPI_STATUS_IGNORE, ierr)
            SAME(ierr, MPI_SUCCESS)
            if (flag) exit
        end do
        call MPI_Request_free(r(1), ierr)
    end subroutine
end program modes
