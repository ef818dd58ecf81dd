! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! probe works|refused [CALLS] - requests from Fortran can be matched, or both queues and matches are
! refused with the cause; and a tool behind the library, if there is one, saw CALLS calls of
! MPI_Send_init.
#include "interface.inc"

program probe
    use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    interface
        integer(c_int) function mixed_tool_calls() bind(c)
            import :: c_int
        end function
    end interface
    integer, parameter :: n = 3
    integer, asynchronous, save :: out(n), in(n)
    character(20) :: expected, calls
    character(MPI_MAX_ERROR_STRING) :: text
    type(MPIXQ_Queue) :: queue
    REQUEST :: r(2 * n)
    integer :: ierr, peer, provided, i, length, kind

    call get_command_argument(1, expected)
    call get_command_argument(2, calls)
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
    call begin()
    peer = ieor(rank, 1)
    out = [(100 * rank + i, i=1, n)]
    in = -1
    do i = 1, n
        call MPI_Send_init(out(i), 1, MPI_INTEGER, peer, i, MPI_COMM_WORLD, r(i), ierr)
        call MPI_Recv_init(in(i), 1, MPI_INTEGER, peer, i, MPI_COMM_WORLD, r(n + i), ierr)
    end do
    call MPIXQ_Queue_init(queue, MPIXQ_QUEUE_AUTO, c_null_ptr, ierr)
    if (expected == 'works') then
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Matchall(2 * n, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Enqueue_startall(queue, 2 * n, r, ierr)
        call MPIXQ_Enqueue_waitall(queue, 2 * n, r, ierr)
        call MPIXQ_Queue_wait(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
        do i = 1, n
            SAME(in(i), 100 * peer + i)
        end do
        in = -1
        call MPIX_Enqueue_startwaitall(queue, 2 * n, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Queue_wait(queue, ierr)
        do i = 1, n
            SAME(in(i), 100 * peer + i)
        end do
        call MPIXQ_Queue_free(queue, ierr)
    else
        call kind_is(ierr, MPIXQ_ERR_INTERPOSE, __FILE__, __LINE__)
        CHECK(queue == MPIXQ_QUEUE_NULL)
        call MPIXQ_Match(r(1), ierr)
        call MPIXQ_Error_kind(ierr, kind)
        SAME(kind, MPIXQ_ERR_INTERPOSE)
        call MPI_Error_string(ierr, text, length, i)
        CHECK(index(text, 'link') > 0 .and. index(text, 'LD_PRELOAD') > 0)
    end if
    do i = 1, 2 * n
        call MPI_Request_free(r(i), ierr)
        SAME(ierr, MPI_SUCCESS)
    end do
    if (calls /= '') then
        read (calls, *) i
        SAME(int(mixed_tool_calls()), i)
    end if
    call finish()
end program probe
