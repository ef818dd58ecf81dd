! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! From before MPI_Init to MPI_Finalize on 2 ranks: MPI_Init gives the thread level that queues need,
! calls outside are told so, C and Fortran share requests, and MPI_Finalize tidies up what is left:
! a queue, its stream and a matched pair. Before it does, a callback of the program works with them.
#include "interface.inc"

module life_data
    USE_MPI
    use mpix_queue
    use ftest
    implicit none
    INCLUDE_MPI
    private
    integer, asynchronous, save, public :: out = 4, in = -1
    integer, save, public :: n_ends = 0
    type(MPIXQ_Queue), save, public :: queue
    REQUEST, save, public :: r(2)
    public :: at_end
contains
    subroutine at_end() bind(c)
        integer :: ierr

        n_ends = n_ends + 1
        out = 50 + rank
        call MPIXQ_Enqueue_startall(queue, 2, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Enqueue_waitall(queue, 2, r, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPIXQ_Queue_wait(queue, ierr)
        SAME(ierr, MPI_SUCCESS)
        SAME(in, 50 + ieor(rank, 1))
    end subroutine
end module

program life
    use, intrinsic :: iso_c_binding, only: c_funloc, c_funptr, c_int, c_loc, c_null_ptr
    USE_MPI
    use mpix_queue
    use ftest
    use life_data
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
        subroutine mixed_at_end(call) bind(c)
            import :: c_funptr
            type(c_funptr), value :: call
        end subroutine
    end interface
    type(MPIXQ_Queue) :: other
    type(MPIXQ_Host_stream) :: own
    type(MPIXQ_Host_stream), target :: again
    type(MPIXQ_Host_stream) :: stream
    REQUEST :: op
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

    ! No address of a stream: the queue makes its own. A null stream is none.
    call MPIXQ_Queue_init(other, MPIXQ_QUEUE_FALLBACK, c_null_ptr, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Queue_get_stream(other, own, ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(own /= MPIXQ_HOST_STREAM_NULL)
    call MPIX_Queue_get_stream(other, c_loc(again), ierr)
    SAME(ierr, MPI_SUCCESS)
    CHECK(own == again)
    call MPIXQ_Queue_get_stream(other, c_null_ptr, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPIXQ_Host_stream_synchronize(own, ierr)
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
    call MPIXQ_Queue_init(other, MPIXQ_QUEUE_AUTO, stream, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPIXQ_Queue_init_info(other, MPIXQ_QUEUE_AUTO, stream, MPI_INFO_NULL, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    CHECK(other == MPIXQ_QUEUE_NULL)
    call MPIXQ_Queue_init(other, MPIXQ_QUEUE_IPC, c_null_ptr, ierr)
    call kind_is(ierr, MPIXQ_ERR_UNSUPPORTED, __FILE__, __LINE__)
    call MPIXQ_Queue_init(other, MPIXQ_QUEUE_CXI, c_null_ptr, ierr)
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
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'mpixq_channels', 'cxi,nonsense', ierr)
    call MPIXQ_Matchall_info(2, r, info, ierr)
    call kind_is(ierr, MPIXQ_ERR_ARG, __FILE__, __LINE__)
    call MPI_Info_set(info, 'mpixq_channels', 'fallback', ierr)
    call MPIXQ_Matchall_info(0, r, info, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Imatchall_info(2, r, info, op, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Wait(op, MPI_STATUS_IGNORE, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPI_Info_free(info, ierr)
    call MPIXQ_Enqueue_startall(queue, 2, r, ierr)
    call MPIXQ_Enqueue_waitall(queue, ierr)
    call MPIXQ_Host_stream_synchronize(stream, ierr)
    SAME(ierr, MPI_SUCCESS)
    call MPIXQ_Host_stream_query(stream, flag, ierr)
    CHECK(flag)
    SAME(in, 40 + peer)

    ! All of it is left behind.
    call mixed_at_end(c_funloc(at_end))
    call finish()
    SAME(n_ends, 1)
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
        call MPIXQ_Enqueue_startwaitall(queue, 2, nothing, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Queue_init_info(other, MPIXQ_QUEUE_AUTO, stream, no_info, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Queue_get_info(queue, no_info, ierr)
        SAME(ierr, MPI_ERR_OTHER)
        call MPIXQ_Host_stream_create(stream, ierr)
        SAME(ierr, MPI_ERR_OTHER)
    end subroutine
end program life
