! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! Every constructor of communicators, called from Fortran on 2 ranks: a request on the child can be
! matched only if the library saw the constructor and both ends derive the same identity from it.
! And the arguments arrive: LOGICAL arrays, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY.
#include "interface.inc"

program comms
    use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    interface
        ! tests/fortran/mixed.c: MPI_Comm_split, called in C
        integer(c_int) function mixed_split(comm, color, key, child) bind(c)
            import :: c_int
            integer(c_int), value :: comm, color, key
            integer(c_int), intent(out) :: child
        end function
    end interface
    type(MPIXQ_Queue) :: queue
    integer :: ierr
    COMM :: child, other, local
    GROUP :: all, one
    logical :: flags(2), got(2)
    integer :: numbers(2), more(2), i
    integer(c_int) :: handle

    call MPI_Init(ierr)
    SAME(ierr, MPI_SUCCESS)
    call begin()
    call MPIXQ_Queue_init(queue, MPIXQ_QUEUE_AUTO, c_null_ptr, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Comm_group(MPI_COMM_WORLD, all, ierr)
    call MPI_Group_incl(all, 1, [rank], one, ierr)

    call MPI_Comm_dup(MPI_COMM_WORLD, child, ierr)
    call use_and_free(1)
    call MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, child, ierr)
    call use_and_free(2)
    call MPI_Comm_create(MPI_COMM_WORLD, all, child, ierr)
    call use_and_free(3)
    call MPI_Comm_create_group(MPI_COMM_WORLD, all, 5, child, ierr)
    call use_and_free(4)
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, child, ierr)
    call use_and_free(5)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, child, ierr)
    call use_and_free(6)

    ! One process calls from Fortran, the other from C.
    if (rank == 0) then
        call MPI_Comm_split(MPI_COMM_WORLD, 1, 0, child, ierr)
    else
#if INTERFACE == 3
        ierr = mixed_split(MPI_COMM_WORLD%MPI_VAL, 1, 0, handle)
        child%MPI_VAL = handle
#else
        ierr = mixed_split(MPI_COMM_WORLD, 1, 0, handle)
        child = handle
#endif
    end if
    call use_and_free(7)

    flags = [.false., .true.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [1, 2], flags, .false., other, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Cart_get(other, 2, numbers, got, more, ierr)
    CHECK(numbers(1) == 1 .and. numbers(2) == 2)
    CHECK(.not. got(1) .and. got(2))
    CHECK(more(1) == 0 .and. more(2) == rank)
    flags = [.false., .true.]
    call MPI_Cart_sub(other, flags, child, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Cartdim_get(child, i, ierr)
    SAME(i, 1)
    call use_and_free(8)
    child = other
    call use_and_free(9)

    call MPI_Graph_create(MPI_COMM_WORLD, 2, [1, 2], [1, 0], .true., child, ierr)
    call use_and_free(10)
    call dist_graphs()

    call MPI_Comm_create(MPI_COMM_WORLD, all, other, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, local, ierr)
    call MPI_Intercomm_create(local, 0, other, 1 - rank, 9, child, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_free(local, ierr)
    call exchange(child, 0, 0, 20)
    call MPI_Intercomm_merge(child, rank == 0, other, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Comm_free(child, ierr)
    child = other
    call MPI_Comm_rank(child, i, ierr)
    SAME(i, 1 - rank)
    call use_and_free(21)

    ! None of our business, but the argument is MPI_COMM_NULL afterwards as before.
    if (rank == 0) then
        call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, child, ierr)
        CHECK(child == MPI_COMM_NULL)
    else
        call MPI_Comm_split(MPI_COMM_WORLD, 0, 0, child, ierr)
        call MPI_Comm_free(child, ierr)
    end if
    ! And after all these calls both ranks still count alike.
    call MPI_Comm_split(MPI_COMM_WORLD, 0, 0, child, ierr)
    call use_and_free(22)

    call MPI_Group_free(one, ierr)
    call MPI_Group_free(all, ierr)
    call MPIXQ_Queue_free(queue, ierr)
    SAME(ierr, MPI_SUCCESS)
    call finish()
contains
    ! Send to dest, receive from source, over requests that are matched.
    subroutine exchange(comm, dest, source, value)
        COMM, intent(in) :: comm
        integer, intent(in) :: dest, source, value
        integer, asynchronous :: out(3), in(3)
        REQUEST :: r(2)

        out = [-1, 100 * value + rank, -1]
        in = -2
        call MPI_Send_init(out(2), 1, MPI_INTEGER, dest, value, comm, r(1), ierr)
        call MPI_Recv_init(in(2), 1, MPI_INTEGER, source, value, comm, r(2), ierr)
        call MPIXQ_Matchall(2, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        if (ierr == MPI_SUCCESS) then
            call MPIXQ_Enqueue_startall(queue, 2, r, ierr)
            SAME(ierr, MPI_SUCCESS)
            call MPIXQ_Enqueue_waitall(queue, 2, r, ierr)
            call MPIXQ_Queue_wait(queue, ierr)
            SAME(ierr, MPI_SUCCESS)
            SAME(in(1), -2)
            SAME(in(2), 100 * value + 1 - rank)
            SAME(in(3), -2)
        end if
        call MPI_Request_free(r(1), ierr)
        call MPI_Request_free(r(2), ierr)
    end subroutine

    subroutine use_and_free(value)
        integer, intent(in) :: value
        integer :: n, me

        SAME(ierr, MPI_SUCCESS)
        call MPI_Comm_size(child, n, ierr)
        SAME(n, 2)
        call MPI_Comm_rank(child, me, ierr)
        call exchange(child, mod(me + 1, n), mod(me + n - 1, n), value)
        if (mod(value, 2) == 0) then
            call MPI_Comm_free(child, ierr)
        else
            call MPI_Comm_disconnect(child, ierr)
        end if
        SAME(ierr, MPI_SUCCESS)
        CHECK(child == MPI_COMM_NULL)
    end subroutine

    subroutine weighted_is(value)
        logical, intent(in) :: value
        integer :: n_in, n_out
        logical :: weighted

        SAME(ierr, MPI_SUCCESS)
        call MPI_Dist_graph_neighbors_count(child, n_in, n_out, weighted, ierr)
        CHECK(weighted .eqv. value)
    end subroutine

    subroutine dist_graphs()
        integer :: from(1), to(1), in_weight(1), out_weight(1), none(1)

        call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [1 - rank], MPI_UNWEIGHTED, &
            MPI_INFO_NULL, .false., child, ierr)
        call weighted_is(.false.)
        call use_and_free(11)
        call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [1 - rank], [40 + rank], &
            MPI_INFO_NULL, .false., child, ierr)
        call weighted_is(.true.)
        call MPI_Dist_graph_neighbors(child, 1, from, in_weight, 1, to, out_weight, ierr)
        SAME(in_weight(1), 41 - rank)
        SAME(out_weight(1), 40 + rank)
        call use_and_free(12)
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [1 - rank], MPI_UNWEIGHTED, 1, &
            [1 - rank], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., child, ierr)
        call weighted_is(.false.)
        call use_and_free(13)
        none = 0
        if (rank == 0) then
            call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none, MPI_WEIGHTS_EMPTY, 1, &
                [1], [7], MPI_INFO_NULL, .false., child, ierr)
        else
            call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [0], [7], 0, none, &
                MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., child, ierr)
        end if
        call weighted_is(.true.)
        call use_and_free(14)
    end subroutine
end program comms
