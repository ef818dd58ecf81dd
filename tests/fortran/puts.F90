! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! Puts with signals on 2 ranks: on windows of either kind, by the host, by plans and enqueued; and
! that flags, optional arguments and errors come as in C.
#include "interface.inc"

program puts
    use, intrinsic :: iso_c_binding, only: c_int, c_loc, c_null_ptr, c_ptr, c_f_pointer
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    integer, parameter :: n = 2000
    integer, asynchronous, target :: mine(n)
    integer, pointer :: made(:)
    type(MPIXQ_Window) :: win, other
    type(MPIXQ_Signal) :: sig
    type(MPIXQ_Plan) :: plan
    type(MPIXQ_Blk) :: out, in, theirs, none
    type(MPIXQ_Queue) :: queue
    type(c_ptr) :: base
    integer(kind=MPI_ADDRESS_KIND) :: bytes
    integer :: peer, ierr, i
    logical :: flag

    call MPI_Init(ierr)
    call begin()
    peer = ieor(rank, 1)
    bytes = n * storage_size(mine) / 8
    do i = 1, n
        mine(i) = 1000 * rank + i
    end do

    call MPIX_Window_create(c_loc(mine), bytes, MPI_COMM_WORLD, MPI_INFO_NULL, win, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Signal_init(win, 1, sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Blk_init(win, 0_MPI_ADDRESS_KIND, bytes / 2, MPIXQ_SIGNAL_NULL, out, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Blk_init(win, bytes / 2, bytes / 2, sig, in, ierr)
    SAME(ierr, MPI_SUCCESS)
    call swap_blocks(in, theirs)

    ! By the host.
    call MPIX_Put(out, theirs, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Signal_wait(sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call check_half(1)
    call MPIX_Signal_test(sig, flag, ierr)
    CHECK(flag)
    call MPIX_Signal_reset(sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Signal_test(sig, flag, ierr)
    CHECK(.not. flag)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)

    ! Enqueued, by a plan: of the second half, which came from the peer, from the first of it.
    do i = 1, n / 2
        mine(i) = 7000 * (rank + 1) + i
    end do
    call MPIX_Plan_create(2, [out, out], [theirs, none], plan, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Queue_init(queue, MPIXQ_QUEUE_AUTO, c_null_ptr, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Enqueue_plan_start(queue, plan, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Enqueue_signal_wait(queue, sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Enqueue_signal_reset(queue, sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Queue_wait(queue, ierr)
    SAME(ierr, MPI_SUCCESS)
    call check_half(7000 * (peer + 1) - 1000 * peer + 1)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPIX_Plan_start(plan, ierr)
    call MPIX_Enqueue_signal_wait_reset(queue, sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Queue_wait(queue, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPIX_Plan_start(plan, ierr)
    call MPIX_Signal_wait_reset(sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Signal_test(sig, flag, ierr)
    CHECK(.not. flag)

    ! Without a signal, from and to one's own memory and a peer's.
    call MPIX_Blk_set_signal(theirs, ierror=ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Enqueue_put(queue, out, theirs, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Queue_wait(queue, ierr)
    call MPIX_Window_flush(win, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Get(out, theirs, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Window_flush(win, ierr)
    SAME(ierr, MPI_SUCCESS)
    SAME(mine(1), 7000 * (rank + 1) + 1)
    call MPIX_Put(in, none, ierr)
    SAME(ierr, MPI_SUCCESS)

    call MPIX_Window_allocate(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, base, other, ierr)
    SAME(ierr, MPI_SUCCESS)
    call c_f_pointer(base, made, [n])
    SAME(made(n), 0)
    call MPIX_Blk_init(other, -1_MPI_ADDRESS_KIND, bytes, MPIXQ_SIGNAL_NULL, none, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPIX_Window_free(other, ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(other%MPIXQ_VAL == MPIXQ_WINDOW_NULL%MPIXQ_VAL)

    call MPIX_Queue_free(queue, ierr)
    call MPIX_Plan_free(plan, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Signal_free(sig, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIX_Window_free(win)
    call finish()
contains
    ! The peer's first half is here as the second.
    subroutine check_half(first)
        integer, intent(in) :: first
        integer :: i, wrong

        wrong = 0
        do i = 1, n / 2
            if (mine(n / 2 + i) /= 1000 * peer + first + i - 1) wrong = wrong + 1
        end do
        SAME(wrong, 0)
    end subroutine

    subroutine swap_blocks(a, b)
        type(MPIXQ_Blk), intent(in) :: a
        type(MPIXQ_Blk), intent(out) :: b
        STATUS_IS(s)

        call MPI_Sendrecv(a%MPIXQ_WORDS, storage_size(a) / 8, MPI_BYTE, peer, 0, b%MPIXQ_WORDS, &
            storage_size(b) / 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, s, ierr)
    end subroutine
end program
