! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! Partitioned requests on 2 ranks, with different numbers of partitions at the two ends, started by
! the host and on a queue; and that flags, optional arguments and errors come as in C.
#include "interface.inc"

program partitions
    use, intrinsic :: iso_c_binding, only: c_loc, c_null_ptr
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    integer, parameter :: n = 600
    integer, asynchronous, target :: out(n), in(n)
    integer(kind=MPI_COUNT_KIND), parameter :: quarter = n / 4, half = n / 2
    REQUEST :: requests(2)
    STATUSES_ARE(s, 2)
    type(MPIXQ_Queue) :: queue
    integer :: peer, ierr, i
    logical :: flag

    call MPI_Init(ierr)
    call begin()
    peer = ieor(rank, 1)
    do i = 1, n
        out(i) = 1000 * rank + i
    end do
    call MPIX_Psend_init(c_loc(out), -1, quarter, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, &
        MPI_INFO_NULL, requests(1), ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPIX_Psend_init(c_loc(out), 4, quarter, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, &
        MPI_INFO_NULL, requests(1), ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Precv_init(c_loc(in), 2, half, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &
        requests(2), ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Matchall(2, requests, ierr)
    SAME(ierr, MPI_SUCCESS)

    ! By the host.
    in = 0
    call MPI_Startall(2, requests, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Pbuf_prepare(requests(1), ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Pready(3, requests(1), ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Pready(3, requests(1), ierr)
    call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
    call MPIX_Pready_list(1, [2], requests(1), ierr)
    SAME(ierr, MPI_SUCCESS)
    flag = .false.
    do while (.not. flag)
        call MPIX_Parrived(requests(2), 1, flag, ierr)
        SAME(ierr, MPI_SUCCESS)
        if (ierr /= MPI_SUCCESS) exit
    end do
    SAME(in(n), 1000 * peer + n)
    call MPIX_Parrived(requests(2), 0, flag)
    CHECK(.not. flag)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPIX_Pready_range(0, 1, requests(1), ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Waitall(2, requests, s, ierr)
    SAME(ierr, MPI_SUCCESS)
    call check_all(0)

    ! On a queue.
    out = out + 5000
    call MPIX_Queue_init(queue, MPIXQ_QUEUE_AUTO, c_null_ptr, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Enqueue_startall(queue, 2, requests, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Pready_range(0, 3, requests(1))
    call MPIX_Enqueue_waitall(queue, 2, requests, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Queue_wait(queue, ierr)
    SAME(ierr, MPI_SUCCESS)
    call check_all(5000)
    call MPIX_Queue_free(queue, ierr)
    call MPI_Request_free(requests(1), ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Request_free(requests(2), ierr)
    SAME(ierr, MPI_SUCCESS)
    call finish()
contains
    subroutine check_all(more)
        integer, intent(in) :: more
        integer :: i, wrong

        wrong = 0
        do i = 1, n
            if (in(i) /= 1000 * peer + more + i) wrong = wrong + 1
        end do
        SAME(wrong, 0)
    end subroutine
end program
