! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! Everything with which a Fortran program starts, completes, asks for, cancels and frees requests,
! on 2 ranks: indices from 1, statuses, MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE, more requests than
! what is converted without allocating. Once while nothing is matched, when calls pass right on; once
! while a pair is matched and every call is looked at; and once with requests that are matched
! themselves.
#include "interface.inc"

program host
    use, intrinsic :: iso_c_binding, only: c_null_ptr
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    integer, parameter :: many = 70, n = 5, guard = -77
    integer, asynchronous, save :: out(n, many), in(n + 2, many)
    REQUEST :: sends(many), recvs(many), pair(2)
    integer :: ierr, peer, turn, tags(2)
    integer, asynchronous, save :: numbers(2)
    type(MPIXQ_Queue) :: queue

    call MPI_Init(ierr)
    call begin()
    peer = ieor(rank, 1)
    tags = [TAG(MPI_STATUS_IGNORE), TAG_AT(MPI_STATUSES_IGNORE, 1)]
    do turn = 1, 3
        if (turn == 2) call match_something()
        call make()
        if (turn == 3) call match_them()
        call one_by_one(turn)
        call all_together(turn)
        call any_of_them(turn)
        call some_of_them(turn)
        call ignored_arguments(turn)
        if (turn == 3) call beside_a_stream()
        call unmake()
        call ordinary()
        call truncated()
        call cancelled()
    end do
    call matched_ones()
    call finish()
contains
    subroutine fill(value)
        integer, intent(in) :: value
        integer :: i, k

        in = guard
        do k = 1, many
            out(:, k) = [(value + 10000 * rank + 100 * k + i, i=1, n)]
        end do
    end subroutine

    subroutine expect(k, value)
        integer, intent(in) :: k, value
        integer :: i

        SAME(in(1, k), guard)
        do i = 1, n
            SAME(in(i + 1, k), value + 10000 * peer + 100 * k + i)
        end do
        SAME(in(n + 2, k), guard)
    end subroutine

    subroutine match_something()
        call MPI_Send_init(numbers(1), 1, MPI_INTEGER, peer, 999, MPI_COMM_WORLD, pair(1), ierr)
        call MPI_Recv_init(numbers(2), 1, MPI_INTEGER, peer, 999, MPI_COMM_WORLD, pair(2), ierr)
        call MPIXQ_Matchall(2, pair, ierr)
        SAME(ierr, MPI_SUCCESS)
    end subroutine

    subroutine match_them()
        REQUEST :: all(2 * many)

        all = [sends, recvs]
        call MPIXQ_Matchall(2 * many, all, ierr)
        SAME(ierr, MPI_SUCCESS)
    end subroutine

    ! One rank starts and waits on its stream, the other one by itself.
    subroutine beside_a_stream()
        integer :: round, k
        STATUSES_ARE(s, many)
        STATUS_IS(one)
        REQUEST :: all(2 * many)

        call MPIXQ_Queue_init(queue, MPIXQ_QUEUE_AUTO, c_null_ptr, ierr)
        SAME(ierr, MPI_SUCCESS)
        all = [recvs, sends]
        do round = 1, 2
            call fill(800000 + round)
            if (mod(rank + round, 2) == 0) then
                call MPIXQ_Enqueue_startall(queue, 2 * many, all, ierr)
                SAME(ierr, MPI_SUCCESS)
                call MPIXQ_Enqueue_waitall(queue, 2 * many, all, ierr)
                call MPIXQ_Queue_wait(queue, ierr)
                SAME(ierr, MPI_SUCCESS)
                call MPI_Waitall(many, recvs, MPI_STATUSES_IGNORE, ierr)
                SAME(ierr, MPI_SUCCESS)
            else
                call MPI_Startall(2 * many, all, ierr)
                SAME(ierr, MPI_SUCCESS)
                call MPI_Waitall(many, recvs, s, ierr)
                SAME(ierr, MPI_SUCCESS)
                call MPI_Waitall(2 * many, all, MPI_STATUSES_IGNORE, ierr)
                SAME(ierr, MPI_SUCCESS)
                do k = 1, many
                    one = STATUS_OF(s, k)
                    call status_fits(k, one)
                end do
            end if
            do k = 1, many
                call expect(k, 800000 + round)
            end do
        end do
        SAME(queue_count(queue, 'mpixq_starts'), 2 * many)
        call MPIXQ_Queue_free(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
    end subroutine

    subroutine make()
        integer :: k

        do k = 1, many
            call MPI_Send_init(out(1, k), n, MPI_INTEGER, peer, k, MPI_COMM_WORLD, sends(k), ierr)
            call MPI_Recv_init(in(2, k), n, MPI_INTEGER, peer, k, MPI_COMM_WORLD, recvs(k), ierr)
        end do
    end subroutine

    subroutine unmake()
        integer :: k

        do k = 1, many
            call MPI_Request_free(sends(k), ierr)
            SAME(ierr, MPI_SUCCESS)
            call MPI_Request_free(recvs(k), ierr)
            SAME(ierr, MPI_SUCCESS)
            CHECK(sends(k) == MPI_REQUEST_NULL .and. recvs(k) == MPI_REQUEST_NULL)
        end do
    end subroutine

    subroutine status_fits(k, s)
        integer, intent(in) :: k
        STATUS_IS(s)
        integer :: count

        SAME(SOURCE(s), peer)
        SAME(TAG(s), k)
        call MPI_Get_count(s, MPI_INTEGER, count, ierr)
        SAME(count, n)
    end subroutine

    subroutine one_by_one(turn)
        integer, intent(in) :: turn
        STATUS_IS(s)
        logical :: flag

        call fill(turn * 100000)
        call MPI_Start(recvs(1), ierr)
        SAME(ierr, MPI_SUCCESS)
        flag = .true.
        call MPI_Test(recvs(1), flag, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(.not. flag)
        flag = .true.
        call MPI_Request_get_status(recvs(1), flag, MPI_STATUS_IGNORE, ierr)
        CHECK(.not. flag)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_Start(sends(1), ierr)
        SAME(ierr, MPI_SUCCESS)
        do
            call MPI_Request_get_status(recvs(1), flag, s, ierr)
            SAME(ierr, MPI_SUCCESS)
            if (flag) exit
        end do
        call status_fits(1, s)
        CODE(s) = 4711
        call MPI_Wait(recvs(1), s, ierr)
        SAME(ierr, MPI_SUCCESS)
        SAME(CODE(s), 4711)
        call status_fits(1, s)
        CHECK(recvs(1) /= MPI_REQUEST_NULL)
        call MPI_Wait(sends(1), MPI_STATUS_IGNORE, ierr)
        SAME(ierr, MPI_SUCCESS)
        call expect(1, turn * 100000)
        ! Inactive: an empty status.
        call MPI_Wait(recvs(1), s, ierr)
        SAME(SOURCE(s), MPI_ANY_SOURCE)
        SAME(TAG(s), MPI_ANY_TAG)
    end subroutine

    subroutine all_together(turn)
        integer, intent(in) :: turn
        STATUSES_ARE(s, many)
        STATUS_IS(one)
        integer :: k
        logical :: flag

        call fill(turn * 200000)
        call MPI_Startall(many, recvs, ierr)
        SAME(ierr, MPI_SUCCESS)
        flag = .true.
        call MPI_Testall(many, recvs, flag, s, ierr)
        CHECK(.not. flag)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_Startall(many, sends, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Waitall(many, recvs, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        do
            call MPI_Testall(many, sends, flag, MPI_STATUSES_IGNORE, ierr)
            SAME(ierr, MPI_SUCCESS)
            if (flag) exit
        end do
        do k = 1, many
            one = STATUS_OF(s, k)
            call status_fits(k, one)
            call expect(k, turn * 200000)
        end do
    end subroutine

    subroutine any_of_them(turn)
        integer, intent(in) :: turn
        STATUS_IS(s)
        integer :: done(3), index, i
        logical :: flag

        call fill(turn * 300000)
        call MPI_Startall(3, recvs, ierr)
        index = 4711
        call MPI_Testany(3, recvs, index, flag, s, ierr)
        CHECK(.not. flag)
        SAME(index, MPI_UNDEFINED)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        ! The last one first, so that the index is told from the first.
        call MPI_Start(sends(3), ierr)
        call MPI_Waitany(3, recvs, index, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        SAME(index, 3)
        call status_fits(3, s)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_Startall(2, sends, ierr)
        done = 0
        do i = 1, 2
            do
                call MPI_Testany(3, recvs, index, flag, s, ierr)
                SAME(ierr, MPI_SUCCESS)
                if (flag) exit
            end do
            CHECK(index == 1 .or. index == 2)
            done(index) = done(index) + 1
            call status_fits(index, s)
        end do
        SAME(done(1), 1)
        SAME(done(2), 1)
        call MPI_Waitany(3, recvs, index, MPI_STATUS_IGNORE, ierr)
        SAME(index, MPI_UNDEFINED)
        call MPI_Testany(3, recvs, index, flag, MPI_STATUS_IGNORE, ierr)
        SAME(index, MPI_UNDEFINED)
        CHECK(flag)
        call MPI_Waitall(3, sends, MPI_STATUSES_IGNORE, ierr)
        do i = 1, 3
            call expect(i, turn * 300000)
        end do
    end subroutine

    subroutine some_of_them(turn)
        integer, intent(in) :: turn
        STATUSES_ARE(s, many)
        STATUS_IS(one)
        integer :: indices(many), done(many), outcount, finished, i

        call fill(turn * 400000)
        call MPI_Startall(many, recvs, ierr)
        call MPI_Testsome(many, recvs, outcount, indices, s, ierr)
        SAME(outcount, 0)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_Start(sends(many), ierr)
        do i = 1, many
            CODE_AT(s, i) = 4711
        end do
        call MPI_Waitsome(many, recvs, outcount, indices, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        SAME(outcount, 1)
        SAME(indices(1), many)
        CHECK(CODE_AT(s, 1) == 4711 .or. CODE_AT(s, 1) == MPI_SUCCESS)
        one = STATUS_OF(s, 1)
        call status_fits(many, one)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_Startall(many - 1, sends, ierr)
        done = 0
        done(many) = 1
        finished = 1
        do while (finished < many)
            if (mod(finished, 2) == 0) then
                call MPI_Waitsome(many, recvs, outcount, indices, s, ierr)
            else
                call MPI_Testsome(many, recvs, outcount, indices, s, ierr)
            end if
            SAME(ierr, MPI_SUCCESS)
            if (outcount == MPI_UNDEFINED) exit
            do i = 1, outcount
                CHECK(indices(i) >= 1 .and. indices(i) < many)
                done(indices(i)) = done(indices(i)) + 1
                one = STATUS_OF(s, i)
                call status_fits(indices(i), one)
            end do
            finished = finished + outcount
        end do
        call MPI_Waitall(many, sends, MPI_STATUSES_IGNORE, ierr)
        do i = 1, many
            SAME(done(i), 1)
            call expect(i, turn * 400000)
        end do
        call MPI_Testsome(many, recvs, outcount, indices, MPI_STATUSES_IGNORE, ierr)
        SAME(outcount, MPI_UNDEFINED)
        call MPI_Waitsome(many, recvs, outcount, indices, MPI_STATUSES_IGNORE, ierr)
        SAME(outcount, MPI_UNDEFINED)
    end subroutine

    ! Each function with its statuses ignored, and with ierror left out where it can be. What stands
    ! for an ignored status is a variable, which must not be written.
    subroutine ignored_arguments(turn)
        integer, intent(in) :: turn
        integer :: indices(many), outcount, finished, k
        logical :: flag

        call fill(turn * 500000)
        call MPI_Startall(many, recvs, ierr)
        call MPI_Startall(many, sends, ierr)
        do
            call MPI_Test(recvs(many), flag, MPI_STATUS_IGNORE, ierr)
            if (flag) exit
        end do
        finished = 1
        do while (finished < many / 2)
            call MPI_Waitsome(many, recvs, outcount, indices, MPI_STATUSES_IGNORE, ierr)
            finished = finished + outcount
        end do
#if INTERFACE == 3
        call MPI_Waitall(many, recvs, MPI_STATUSES_IGNORE)
        call MPI_Waitall(many, sends, MPI_STATUSES_IGNORE)
        call MPI_Start(recvs(1))
        call MPI_Startall(1, sends)
        call MPI_Wait(recvs(1), MPI_STATUS_IGNORE)
        call MPI_Wait(sends(1), MPI_STATUS_IGNORE)
        call MPI_Test(sends(1), flag, MPI_STATUS_IGNORE)
        call MPI_Testall(many, sends, flag, MPI_STATUSES_IGNORE)
        CHECK(flag)
#else
        call MPI_Waitall(many, recvs, MPI_STATUSES_IGNORE, ierr)
        call MPI_Waitall(many, sends, MPI_STATUSES_IGNORE, ierr)
#endif
        do k = 1, many
            call expect(k, turn * 500000)
        end do
        SAME(TAG(MPI_STATUS_IGNORE), tags(1))
        SAME(TAG_AT(MPI_STATUSES_IGNORE, 1), tags(2))
    end subroutine

    ! Requests that are gone when they are complete.
    subroutine ordinary()
        REQUEST :: r(3)
        integer :: indices(3), outcount
        logical :: flag

        call fill(600000)
        call MPI_Irecv(in(2, 1), n, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, r(1), ierr)
        call MPI_Isend(out(1, 1), n, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, r(3), ierr)
        r(2) = MPI_REQUEST_NULL
        call MPI_Waitall(3, r, MPI_STATUSES_IGNORE, ierr)
        SAME(ierr, MPI_SUCCESS)
        CHECK(r(1) == MPI_REQUEST_NULL .and. r(3) == MPI_REQUEST_NULL)
        call expect(1, 600000)
        call MPI_Testsome(3, r, outcount, indices, MPI_STATUSES_IGNORE, ierr)
        SAME(outcount, MPI_UNDEFINED)
        call MPI_Test(r(1), flag, MPI_STATUS_IGNORE, ierr)
        CHECK(flag)
        call MPI_Waitall(0, r, MPI_STATUSES_IGNORE, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Startall(0, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Start(r(1), ierr)
        CHECK(ierr /= MPI_SUCCESS)
        call MPI_Waitall(-1, r, MPI_STATUSES_IGNORE, ierr)
        CHECK(ierr /= MPI_SUCCESS)
    end subroutine

    ! An error in one status of an array.
    subroutine truncated()
        REQUEST :: r(2)
        STATUSES_ARE(s, 2)
        integer :: class, k
        logical :: flag

        call fill(700000)
        CODE_AT(s, 1) = 4711
        CODE_AT(s, 2) = 4711
        call MPI_Recv_init(in(2, 1), n, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, r(1), ierr)
        call MPI_Recv_init(in(2, 2), n - 1, MPI_INTEGER, peer, 2, MPI_COMM_WORLD, r(2), ierr)
        call MPI_Startall(2, r, ierr)
        call MPI_Send(out(1, 1), n, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, ierr)
        call MPI_Send(out(1, 2), n, MPI_INTEGER, peer, 2, MPI_COMM_WORLD, ierr)
        ! Open MPI 4.1 hangs in MPI_Waitall where a request has failed already.
        do k = 1, 2
            do
                call MPI_Request_get_status(r(k), flag, MPI_STATUS_IGNORE, ierr)
                if (flag) exit
            end do
        end do
        call MPI_Testall(2, r, flag, s, ierr)
        CHECK(flag)
        ! Where Open MPI 4.1 reports success, the statuses tell the error all the same.
        if (ierr /= MPI_SUCCESS) then
            SAME(ierr, MPI_ERR_IN_STATUS)
            SAME(CODE_AT(s, 1), MPI_SUCCESS)
        end if
        call MPI_Error_class(CODE_AT(s, 2), class, ierr)
        SAME(class, MPI_ERR_TRUNCATE)
        SAME(TAG_AT(s, 1), 1)
        SAME(SOURCE_AT(s, 1), peer)
        call expect(1, 700000)
        call MPI_Request_free(r(1), ierr)
        call MPI_Request_free(r(2), ierr)
    end subroutine

    subroutine cancelled()
        REQUEST :: r
        STATUS_IS(s)
        logical :: flag

        call MPI_Recv_init(in(2, 1), n, MPI_INTEGER, peer, 77, MPI_COMM_WORLD, r, ierr)
        call MPI_Start(r, ierr)
        call MPI_Cancel(r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Wait(r, s, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Test_cancelled(s, flag, ierr)
        CHECK(flag)
        call MPI_Request_free(r, ierr)
        SAME(ierr, MPI_SUCCESS)
    end subroutine

    ! The library knows the pair, and what a queue owns is refused to the host.
    subroutine matched_ones()
        logical :: flag

        call MPIXQ_Queue_init(queue, MPIXQ_QUEUE_AUTO, c_null_ptr, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Enqueue_startall(queue, 2, pair, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Wait(pair(2), MPI_STATUS_IGNORE, ierr)
        call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
        call MPI_Startall(2, pair, ierr)
        call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
        call MPI_Test(pair(1), flag, MPI_STATUS_IGNORE, ierr)
        call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
        call MPI_Request_free(pair(1), ierr)
        call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
        CHECK(pair(1) /= MPI_REQUEST_NULL)
        call MPIXQ_Enqueue_waitall(queue, 2, pair, ierr)
        call MPIXQ_Queue_wait(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Matchall(2, pair, ierr)
        call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
        call MPI_Request_free(pair(1), ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Request_free(pair(2), ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Queue_free(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
        ! What no persistent initialiser made is refused.
        call MPI_Irecv(numbers, 2, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, pair(1), ierr)
        call MPIXQ_Match(pair(1), ierr)
        call kind_is(ierr, MPIXQ_ERR_REQUEST, __FILE__, __LINE__)
        call MPI_Wait(pair(1), MPI_STATUS_IGNORE, ierr)
    end subroutine
end program host
