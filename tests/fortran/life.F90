! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! From before MPI_Init to MPI_Finalize on 2 ranks: MPI_Init gives the thread level that queues need,
! calls outside are told so, C and Fortran share requests, and MPI_Finalize tidies up what is left:
! a queue, its stream and a matched pair.
#include "interface.inc"

program life
    use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    interface
        integer(c_int) function mixed_ignored() bind(c)
            import :: c_int
        end function
        integer(c_int) function mixed_request(number, peer, tag, request) bind(c)
            import :: c_int
            integer(c_int), asynchronous :: number
            integer(c_int), value :: peer, tag
            integer(c_int), intent(out) :: request
        end function
    end interface
    integer, asynchronous, save :: out = 4, in = -1
    type(MPIXQ_Queue) :: queue, other
    type(MPIXQ_Host_stream) :: stream
    REQUEST :: r(2)
    INFO :: info
    integer :: ierr, peer, level, major, minor, patch, handle
    logical :: flag
    character(100) :: value

    call MPIXQ_Get_version(major, minor, patch, ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(major == MPIXQ_VERSION_MAJOR .and. minor == MPIXQ_VERSION_MINOR)
    SAME(patch, MPIXQ_VERSION_PATCH)
    call outside()

    call MPI_Init(ierr)
    SAME(ierr, MPI_SUCCESS)
    ! At once: other functions of MPICH would make up for it.
    SAME(int(mixed_ignored()), 1)
    call begin()
    peer = ieor(rank, 1)
    call MPI_Query_thread(level, ierr)
    SAME(level, MPI_THREAD_MULTIPLE)

    ! A null stream as any of three things: the queue makes its own.
    call MPIXQ_Queue_init(other, MPIXQ_QUEUE_FALLBACK, c_null_ptr, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Queue_free(other, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'type', 'mpix_host_stream', ierr)
    call MPIXQ_Queue_init_info(other, MPIXQ_QUEUE_AUTO, c_null_ptr, info, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Queue_free(other)
    call MPI_Info_set(info, 'type', 'nonsense', ierr)
    call MPIXQ_Queue_init_info(other, MPIXQ_QUEUE_AUTO, stream, info, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    CHECK(other == MPIXQ_QUEUE_NULL)
    call MPI_Info_free(info, ierr)
    call MPIXQ_Queue_init(other, 4711, stream, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPIXQ_Queue_init(other, MPIXQ_QUEUE_CXI, stream, ierr)
    call kind_is(ierr, MPIXQ_ERR_UNSUPPORTED, __FILE__, __LINE__)
    ! Without ierror nobody is told, but the call returns.
    call MPIXQ_Queue_init(other, 4711, stream)
    call MPIXQ_Queue_wait(MPIXQ_QUEUE_NULL, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)

    call MPIXQ_Host_stream_create(stream, ierr)
    call MPIXQ_Queue_init_info(queue, MPIXQ_QUEUE_FALLBACK, stream, MPI_INFO_NULL, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Host_stream_destroy(stream, ierr)
    call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
    CHECK(stream /= MPIXQ_HOST_STREAM_NULL)
    call MPIXQ_Queue_get_info(queue, info, ierr)
    call MPI_Info_get(info, 'mpixq_queue_type', 100, value, flag, ierr)
    CHECK(flag .and. value == 'fallback')
    call MPI_Info_free(info, ierr)

    ! Made in C, used in Fortran.
    ierr = mixed_request(in, peer, 3, handle)
#if INTERFACE == 3
    r(1)%MPI_VAL = handle
#else
    r(1) = handle
#endif
    out = 40 + rank
    call MPI_Send_init(out, 1, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, r(2), ierr)
    call MPIXQ_Enqueue_start(queue, r(1), ierr)
    call kind_is(ierr, MPIXQ_ERR_STATE, __FILE__, __LINE__)
    call MPIXQ_Matchall(-1, r, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPIXQ_Matchall(0, r, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Matchall(2, r, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Enqueue_startall(queue, 2, r, ierr)
    call MPIXQ_Enqueue_waitall(queue, ierr)
    call MPIXQ_Host_stream_synchronize(stream, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Host_stream_query(stream, flag, ierr)
    CHECK(flag)
    SAME(in, 40 + peer)

    ! All of it is left behind.
    call finish()
    call outside()
    call finish_late()
contains
    ! No MPI: an error code, and no call of MPI that would end the program.
    subroutine outside()
        REQUEST :: nothing(2)
        INFO :: no_info

        nothing = MPI_REQUEST_NULL
        no_info = MPI_INFO_NULL
        call MPIXQ_Match(nothing(1), ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Imatchall(2, nothing, nothing(1), ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Is_matched(nothing(1), flag, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Enqueue_waitall(queue, 2, nothing, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Queue_init_info(other, MPIXQ_QUEUE_AUTO, stream, no_info, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Queue_get_info(queue, no_info, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Host_stream_create(stream, ierr)
        SAME(ierr, MPI_ERR_OTHER)
    end subroutine
end program life
