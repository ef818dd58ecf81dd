! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! mpix_queue - the functions of libmpix_queue for Fortran
!
! include/mpix_queue.h says what the functions do, and mpix_queue_fortran(7) how they look here. All
! of them are in libmpix_queue itself: this module only declares them. Compile it with the compiler
! that compiles the program, where the module that was installed is of another one.
!
! Requests and info objects may be those of mpi_f08 or the INTEGER ones of mpif.h and module mpi.
! Every ierror may be left out.

module mpix_queue
    use, intrinsic :: iso_c_binding, only: c_int64_t, c_intptr_t, c_ptr, c_funptr
    use mpi_f08, only: MPI_ADDRESS_KIND, MPI_COUNT_KIND, MPI_Comm, MPI_Datatype, MPI_Info, &
        MPI_Request
    implicit none
    private :: c_int64_t, c_intptr_t, c_ptr, c_funptr
    private :: MPI_ADDRESS_KIND, MPI_COUNT_KIND, MPI_Comm, MPI_Datatype, MPI_Info, MPI_Request

    ! ---- Types and constants -------------------------------------------------------------------

    ! A null handle unless something else is assigned.
    type, bind(c) :: MPIXQ_Queue
        integer(c_intptr_t) :: MPIXQ_VAL = 0
    end type

    type, bind(c) :: MPIXQ_Host_stream
        integer(c_intptr_t) :: MPIXQ_VAL = 0
    end type

    type, bind(c) :: MPIXQ_Window
        integer(c_intptr_t) :: MPIXQ_VAL = 0
    end type

    type, bind(c) :: MPIXQ_Signal
        integer(c_intptr_t) :: MPIXQ_VAL = 0
    end type

    type, bind(c) :: MPIXQ_Plan
        integer(c_intptr_t) :: MPIXQ_VAL = 0
    end type

    ! That of MPI_PROC_NULL unless something else is assigned.
    type, bind(c) :: MPIXQ_Blk
        integer(c_int64_t) :: MPIXQ_WORDS(8) = 0
    end type

    type(MPIXQ_Queue), parameter :: MPIXQ_QUEUE_NULL = MPIXQ_Queue(0)
    type(MPIXQ_Host_stream), parameter :: MPIXQ_HOST_STREAM_NULL = MPIXQ_Host_stream(0)
    type(MPIXQ_Window), parameter :: MPIXQ_WINDOW_NULL = MPIXQ_Window(0)
    type(MPIXQ_Signal), parameter :: MPIXQ_SIGNAL_NULL = MPIXQ_Signal(0)
    type(MPIXQ_Plan), parameter :: MPIXQ_PLAN_NULL = MPIXQ_Plan(0)

    integer, parameter :: MPIXQ_VERSION_MAJOR = 0
    integer, parameter :: MPIXQ_VERSION_MINOR = 2
    integer, parameter :: MPIXQ_VERSION_PATCH = 0

    ! What a queue promises about the channels of the requests that it starts.
    integer, parameter :: MPIXQ_QUEUE_AUTO = 0
    integer, parameter :: MPIXQ_QUEUE_FALLBACK = 1
    integer, parameter :: MPIXQ_QUEUE_CXI = 2
    integer, parameter :: MPIXQ_QUEUE_IPC = 3

    ! Count for MPIXQ_Enqueue_waitall: every request started on the queue and not yet waited for.
    integer, parameter :: MPIXQ_ALL_STARTED = -1

    ! Kinds of error.
    integer, parameter :: MPIXQ_ERR_NONE = 0
    integer, parameter :: MPIXQ_ERR_INTERPOSE = 1
    integer, parameter :: MPIXQ_ERR_ARG = 2
    integer, parameter :: MPIXQ_ERR_REQUEST = 3
    integer, parameter :: MPIXQ_ERR_STATE = 4
    integer, parameter :: MPIXQ_ERR_MATCH = 5
    integer, parameter :: MPIXQ_ERR_UNSUPPORTED = 6
    integer, parameter :: MPIXQ_ERR_RESOURCES = 7
    integer, parameter :: MPIXQ_ERR_THREAD_LEVEL = 8
    integer, parameter :: MPIXQ_ERR_COMM = 9
    integer, parameter :: MPIXQ_ERR_TIMEOUT = 10

    ! ---- Names ---------------------------------------------------------------------------------

    ! Each function also has the spelling MPIX_, as in C. A type MPIX_Queue cannot be, since this
    ! module has that name.

    interface MPIXQ_Get_version
        procedure :: MPIXQ_Get_version_f
    end interface

    interface MPIXQ_Error_kind
        procedure :: MPIXQ_Error_kind_f
    end interface
    interface MPIX_Error_kind
        procedure :: MPIXQ_Error_kind_f
    end interface

    interface MPIXQ_Queue_init
        procedure :: MPIXQ_Queue_init_f, MPIXQ_Queue_init_ptr_f
    end interface
    interface MPIX_Queue_init
        procedure :: MPIXQ_Queue_init_f, MPIXQ_Queue_init_ptr_f
    end interface

    interface MPIXQ_Queue_init_info
        procedure :: MPIXQ_Queue_init_info_f08, MPIXQ_Queue_init_info_f, &
            MPIXQ_Queue_init_info_ptr_f08, MPIXQ_Queue_init_info_ptr_f
    end interface
    interface MPIX_Queue_init_info
        procedure :: MPIXQ_Queue_init_info_f08, MPIXQ_Queue_init_info_f, &
            MPIXQ_Queue_init_info_ptr_f08, MPIXQ_Queue_init_info_ptr_f
    end interface

    interface MPIXQ_Queue_free
        procedure :: MPIXQ_Queue_free_f
    end interface
    interface MPIX_Queue_free
        procedure :: MPIXQ_Queue_free_f
    end interface

    interface MPIXQ_Queue_wait
        procedure :: MPIXQ_Queue_wait_f
    end interface
    interface MPIX_Queue_wait
        procedure :: MPIXQ_Queue_wait_f
    end interface

    interface MPIXQ_Queue_test
        procedure :: MPIXQ_Queue_test_f
    end interface
    interface MPIX_Queue_test
        procedure :: MPIXQ_Queue_test_f
    end interface

    interface MPIXQ_Queue_get_stream
        procedure :: MPIXQ_Queue_get_stream_f, MPIXQ_Queue_get_stream_ptr_f
    end interface
    interface MPIX_Queue_get_stream
        procedure :: MPIXQ_Queue_get_stream_f, MPIXQ_Queue_get_stream_ptr_f
    end interface

    interface MPIXQ_Queue_get_info
        procedure :: MPIXQ_Queue_get_info_f08, MPIXQ_Queue_get_info_f
    end interface
    interface MPIX_Queue_get_info
        procedure :: MPIXQ_Queue_get_info_f08, MPIXQ_Queue_get_info_f
    end interface

    interface MPIXQ_Match
        procedure :: MPIXQ_Match_f08, MPIXQ_Match_f
    end interface
    interface MPIX_Match
        procedure :: MPIXQ_Match_f08, MPIXQ_Match_f
    end interface

    interface MPIXQ_Matchall
        procedure :: MPIXQ_Matchall_f08, MPIXQ_Matchall_f
    end interface
    interface MPIX_Matchall
        procedure :: MPIXQ_Matchall_f08, MPIXQ_Matchall_f
    end interface

    interface MPIXQ_Matchall_info
        procedure :: MPIXQ_Matchall_info_f08, MPIXQ_Matchall_info_f
    end interface
    interface MPIX_Matchall_info
        procedure :: MPIXQ_Matchall_info_f08, MPIXQ_Matchall_info_f
    end interface

    interface MPIXQ_Imatch
        procedure :: MPIXQ_Imatch_f08, MPIXQ_Imatch_f
    end interface
    interface MPIX_Imatch
        procedure :: MPIXQ_Imatch_f08, MPIXQ_Imatch_f
    end interface

    interface MPIXQ_Imatchall
        procedure :: MPIXQ_Imatchall_f08, MPIXQ_Imatchall_f
    end interface
    interface MPIX_Imatchall
        procedure :: MPIXQ_Imatchall_f08, MPIXQ_Imatchall_f
    end interface

    interface MPIXQ_Imatchall_info
        procedure :: MPIXQ_Imatchall_info_f08, MPIXQ_Imatchall_info_f
    end interface
    interface MPIX_Imatchall_info
        procedure :: MPIXQ_Imatchall_info_f08, MPIXQ_Imatchall_info_f
    end interface

    interface MPIXQ_Is_matched
        procedure :: MPIXQ_Is_matched_f08, MPIXQ_Is_matched_f
    end interface
    interface MPIX_Is_matched
        procedure :: MPIXQ_Is_matched_f08, MPIXQ_Is_matched_f
    end interface

    interface MPIXQ_Enqueue_start
        procedure :: MPIXQ_Enqueue_start_f08, MPIXQ_Enqueue_start_f
    end interface
    interface MPIX_Enqueue_start
        procedure :: MPIXQ_Enqueue_start_f08, MPIXQ_Enqueue_start_f
    end interface

    interface MPIXQ_Enqueue_startall
        procedure :: MPIXQ_Enqueue_startall_f08, MPIXQ_Enqueue_startall_f
    end interface
    interface MPIX_Enqueue_startall
        procedure :: MPIXQ_Enqueue_startall_f08, MPIXQ_Enqueue_startall_f
    end interface

    interface MPIXQ_Enqueue_wait
        procedure :: MPIXQ_Enqueue_wait_f08, MPIXQ_Enqueue_wait_f
    end interface
    interface MPIX_Enqueue_wait
        procedure :: MPIXQ_Enqueue_wait_f08, MPIXQ_Enqueue_wait_f
    end interface

    interface MPIXQ_Enqueue_waitall
        procedure :: MPIXQ_Enqueue_waitall_f08, MPIXQ_Enqueue_waitall_f, &
            MPIXQ_Enqueue_wait_started_f
    end interface
    interface MPIX_Enqueue_waitall
        procedure :: MPIXQ_Enqueue_waitall_f08, MPIXQ_Enqueue_waitall_f, &
            MPIXQ_Enqueue_wait_started_f
    end interface

    interface MPIXQ_Enqueue_startwaitall
        procedure :: MPIXQ_Enqueue_startwaitall_f08, MPIXQ_Enqueue_startwaitall_f
    end interface
    interface MPIX_Enqueue_startwaitall
        procedure :: MPIXQ_Enqueue_startwaitall_f08, MPIXQ_Enqueue_startwaitall_f
    end interface

    interface MPIXQ_Psend_init
        procedure :: MPIXQ_Psend_init_f08, MPIXQ_Psend_init_f
    end interface
    interface MPIX_Psend_init
        procedure :: MPIXQ_Psend_init_f08, MPIXQ_Psend_init_f
    end interface

    interface MPIXQ_Precv_init
        procedure :: MPIXQ_Precv_init_f08, MPIXQ_Precv_init_f
    end interface
    interface MPIX_Precv_init
        procedure :: MPIXQ_Precv_init_f08, MPIXQ_Precv_init_f
    end interface

    interface MPIXQ_Pready
        procedure :: MPIXQ_Pready_f08, MPIXQ_Pready_f
    end interface
    interface MPIX_Pready
        procedure :: MPIXQ_Pready_f08, MPIXQ_Pready_f
    end interface

    interface MPIXQ_Pready_range
        procedure :: MPIXQ_Pready_range_f08, MPIXQ_Pready_range_f
    end interface
    interface MPIX_Pready_range
        procedure :: MPIXQ_Pready_range_f08, MPIXQ_Pready_range_f
    end interface

    interface MPIXQ_Pready_list
        procedure :: MPIXQ_Pready_list_f08, MPIXQ_Pready_list_f
    end interface
    interface MPIX_Pready_list
        procedure :: MPIXQ_Pready_list_f08, MPIXQ_Pready_list_f
    end interface

    interface MPIXQ_Parrived
        procedure :: MPIXQ_Parrived_f08, MPIXQ_Parrived_f
    end interface
    interface MPIX_Parrived
        procedure :: MPIXQ_Parrived_f08, MPIXQ_Parrived_f
    end interface

    interface MPIXQ_Pbuf_prepare
        procedure :: MPIXQ_Pbuf_prepare_f08, MPIXQ_Pbuf_prepare_f
    end interface
    interface MPIX_Pbuf_prepare
        procedure :: MPIXQ_Pbuf_prepare_f08, MPIXQ_Pbuf_prepare_f
    end interface

    interface MPIXQ_Window_create
        procedure :: MPIXQ_Window_create_f08, MPIXQ_Window_create_f
    end interface
    interface MPIX_Window_create
        procedure :: MPIXQ_Window_create_f08, MPIXQ_Window_create_f
    end interface

    interface MPIXQ_Window_allocate
        procedure :: MPIXQ_Window_allocate_f08, MPIXQ_Window_allocate_f
    end interface
    interface MPIX_Window_allocate
        procedure :: MPIXQ_Window_allocate_f08, MPIXQ_Window_allocate_f
    end interface

    interface MPIXQ_Window_free
        procedure :: MPIXQ_Window_free_f
    end interface
    interface MPIX_Window_free
        procedure :: MPIXQ_Window_free_f
    end interface

    interface MPIXQ_Window_flush
        procedure :: MPIXQ_Window_flush_f
    end interface
    interface MPIX_Window_flush
        procedure :: MPIXQ_Window_flush_f
    end interface

    interface MPIXQ_Signal_init
        procedure :: MPIXQ_Signal_init_f
    end interface
    interface MPIX_Signal_init
        procedure :: MPIXQ_Signal_init_f
    end interface

    interface MPIXQ_Signal_reset
        procedure :: MPIXQ_Signal_reset_f
    end interface
    interface MPIX_Signal_reset
        procedure :: MPIXQ_Signal_reset_f
    end interface

    interface MPIXQ_Signal_test
        procedure :: MPIXQ_Signal_test_f
    end interface
    interface MPIX_Signal_test
        procedure :: MPIXQ_Signal_test_f
    end interface

    interface MPIXQ_Signal_wait
        procedure :: MPIXQ_Signal_wait_f
    end interface
    interface MPIX_Signal_wait
        procedure :: MPIXQ_Signal_wait_f
    end interface

    interface MPIXQ_Signal_wait_reset
        procedure :: MPIXQ_Signal_wait_reset_f
    end interface
    interface MPIX_Signal_wait_reset
        procedure :: MPIXQ_Signal_wait_reset_f
    end interface

    interface MPIXQ_Signal_free
        procedure :: MPIXQ_Signal_free_f
    end interface
    interface MPIX_Signal_free
        procedure :: MPIXQ_Signal_free_f
    end interface

    interface MPIXQ_Blk_init
        procedure :: MPIXQ_Blk_init_f
    end interface
    interface MPIX_Blk_init
        procedure :: MPIXQ_Blk_init_f
    end interface

    interface MPIXQ_Blk_set_signal
        procedure :: MPIXQ_Blk_set_signal_f
    end interface
    interface MPIX_Blk_set_signal
        procedure :: MPIXQ_Blk_set_signal_f
    end interface

    interface MPIXQ_Put
        procedure :: MPIXQ_Put_f
    end interface
    interface MPIX_Put
        procedure :: MPIXQ_Put_f
    end interface

    interface MPIXQ_Get
        procedure :: MPIXQ_Get_f
    end interface
    interface MPIX_Get
        procedure :: MPIXQ_Get_f
    end interface

    interface MPIXQ_Plan_create
        procedure :: MPIXQ_Plan_create_f
    end interface
    interface MPIX_Plan_create
        procedure :: MPIXQ_Plan_create_f
    end interface

    interface MPIXQ_Plan_start
        procedure :: MPIXQ_Plan_start_f
    end interface
    interface MPIX_Plan_start
        procedure :: MPIXQ_Plan_start_f
    end interface

    interface MPIXQ_Plan_free
        procedure :: MPIXQ_Plan_free_f
    end interface
    interface MPIX_Plan_free
        procedure :: MPIXQ_Plan_free_f
    end interface

    interface MPIXQ_Enqueue_put
        procedure :: MPIXQ_Enqueue_put_f
    end interface
    interface MPIX_Enqueue_put
        procedure :: MPIXQ_Enqueue_put_f
    end interface

    interface MPIXQ_Enqueue_plan_start
        procedure :: MPIXQ_Enqueue_plan_start_f
    end interface
    interface MPIX_Enqueue_plan_start
        procedure :: MPIXQ_Enqueue_plan_start_f
    end interface

    interface MPIXQ_Enqueue_signal_wait
        procedure :: MPIXQ_Enqueue_signal_wait_f
    end interface
    interface MPIX_Enqueue_signal_wait
        procedure :: MPIXQ_Enqueue_signal_wait_f
    end interface

    interface MPIXQ_Enqueue_signal_reset
        procedure :: MPIXQ_Enqueue_signal_reset_f
    end interface
    interface MPIX_Enqueue_signal_reset
        procedure :: MPIXQ_Enqueue_signal_reset_f
    end interface

    interface MPIXQ_Enqueue_signal_wait_reset
        procedure :: MPIXQ_Enqueue_signal_wait_reset_f
    end interface
    interface MPIX_Enqueue_signal_wait_reset
        procedure :: MPIXQ_Enqueue_signal_wait_reset_f
    end interface

    interface MPIXQ_Host_stream_create
        procedure :: MPIXQ_Host_stream_create_f
    end interface
    interface MPIX_Host_stream_create
        procedure :: MPIXQ_Host_stream_create_f
    end interface

    interface MPIXQ_Host_stream_destroy
        procedure :: MPIXQ_Host_stream_destroy_f
    end interface
    interface MPIX_Host_stream_destroy
        procedure :: MPIXQ_Host_stream_destroy_f
    end interface

    interface MPIXQ_Host_stream_launch
        procedure :: MPIXQ_Host_stream_launch_f
    end interface
    interface MPIX_Host_stream_launch
        procedure :: MPIXQ_Host_stream_launch_f
    end interface

    interface MPIXQ_Host_stream_synchronize
        procedure :: MPIXQ_Host_stream_synchronize_f
    end interface
    interface MPIX_Host_stream_synchronize
        procedure :: MPIXQ_Host_stream_synchronize_f
    end interface

    interface MPIXQ_Host_stream_query
        procedure :: MPIXQ_Host_stream_query_f
    end interface
    interface MPIX_Host_stream_query
        procedure :: MPIXQ_Host_stream_query_f
    end interface

    interface operator(==)
        procedure :: MPIXQ_Queue_eq_f, MPIXQ_Host_stream_eq_f
    end interface

    interface operator(/=)
        procedure :: MPIXQ_Queue_ne_f, MPIXQ_Host_stream_ne_f
    end interface

    ! ---- The procedures in the library ---------------------------------------------------------

    interface

        subroutine MPIXQ_Get_version_f(major, minor, patch, ierror)
            integer, intent(out) :: major
            integer, intent(out) :: minor
            integer, intent(out) :: patch
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Error_kind_f(errorcode, kind, ierror)
            integer, intent(in) :: errorcode
            integer, intent(out) :: kind
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_init_f(queue, type, stream, ierror)
            import :: MPIXQ_Queue, MPIXQ_Host_stream
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, intent(in) :: type
            type(MPIXQ_Host_stream), intent(in) :: stream
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Queue_init_ptr_f(queue, type, stream_address, ierror)
            import :: MPIXQ_Queue, c_ptr
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, intent(in) :: type
            type(c_ptr), intent(in) :: stream_address
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_init_info_f08(queue, type, stream, info, ierror)
            import :: MPIXQ_Queue, MPIXQ_Host_stream, MPI_Info
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, intent(in) :: type
            type(MPIXQ_Host_stream), intent(in) :: stream
            type(MPI_Info), intent(in) :: info
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Queue_init_info_f(queue, type, stream, info, ierror)
            import :: MPIXQ_Queue, MPIXQ_Host_stream
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, intent(in) :: type
            type(MPIXQ_Host_stream), intent(in) :: stream
            integer, intent(in) :: info
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Queue_init_info_ptr_f08(queue, type, stream_address, info, ierror)
            import :: MPIXQ_Queue, c_ptr, MPI_Info
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, intent(in) :: type
            type(c_ptr), intent(in) :: stream_address
            type(MPI_Info), intent(in) :: info
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Queue_init_info_ptr_f(queue, type, stream_address, info, ierror)
            import :: MPIXQ_Queue, c_ptr
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, intent(in) :: type
            type(c_ptr), intent(in) :: stream_address
            integer, intent(in) :: info
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_free_f(queue, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(inout) :: queue
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_wait_f(queue, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_test_f(queue, flag, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_get_stream_f(queue, stream, ierror)
            import :: MPIXQ_Queue, MPIXQ_Host_stream
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPIXQ_Host_stream), intent(inout) :: stream
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Queue_get_stream_ptr_f(queue, stream_address, ierror)
            import :: MPIXQ_Queue, c_ptr
            type(MPIXQ_Queue), intent(in) :: queue
            type(c_ptr), intent(in) :: stream_address
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Queue_get_info_f08(queue, info_used, ierror)
            import :: MPIXQ_Queue, MPI_Info
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPI_Info), intent(out) :: info_used
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Queue_get_info_f(queue, info_used, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(out) :: info_used
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Match_f08(request, ierror)
            import :: MPI_Request
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Match_f(request, ierror)
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Matchall_f08(count, requests, ierror)
            import :: MPI_Request
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Matchall_f(count, requests, ierror)
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Matchall_info_f08(count, requests, info, ierror)
            import :: MPI_Request, MPI_Info
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            type(MPI_Info), intent(in) :: info
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Matchall_info_f(count, requests, info, ierror)
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, intent(in) :: info
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Imatch_f08(request, match, ierror)
            import :: MPI_Request
            type(MPI_Request), intent(in) :: request
            type(MPI_Request), intent(out) :: match
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Imatch_f(request, match, ierror)
            integer, intent(in) :: request
            integer, intent(out) :: match
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Imatchall_f08(count, requests, match, ierror)
            import :: MPI_Request
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            type(MPI_Request), intent(out) :: match
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Imatchall_f(count, requests, match, ierror)
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, intent(out) :: match
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Imatchall_info_f08(count, requests, info, match, ierror)
            import :: MPI_Request, MPI_Info
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            type(MPI_Info), intent(in) :: info
            type(MPI_Request), intent(out) :: match
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Imatchall_info_f(count, requests, info, match, ierror)
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, intent(in) :: info
            integer, intent(out) :: match
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Is_matched_f08(request, flag, ierror)
            import :: MPI_Request
            type(MPI_Request), intent(in) :: request
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Is_matched_f(request, flag, ierror)
            integer, intent(in) :: request
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_start_f08(queue, request, ierror)
            import :: MPIXQ_Queue, MPI_Request
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Enqueue_start_f(queue, request, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_startall_f08(queue, count, requests, ierror)
            import :: MPIXQ_Queue, MPI_Request
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Enqueue_startall_f(queue, count, requests, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_wait_f08(queue, request, ierror)
            import :: MPIXQ_Queue, MPI_Request
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Enqueue_wait_f(queue, request, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_waitall_f08(queue, count, requests, ierror)
            import :: MPIXQ_Queue, MPI_Request
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Enqueue_waitall_f(queue, count, requests, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Enqueue_wait_started_f(queue, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_startwaitall_f08(queue, count, requests, ierror)
            import :: MPIXQ_Queue, MPI_Request
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: count
            type(MPI_Request), intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Enqueue_startwaitall_f(queue, count, requests, ierror)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: queue
            integer, intent(in) :: count
            integer, intent(in) :: requests(*)
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Psend_init_f08(buf, partitions, count, datatype, dest, tag, comm, info, &
            request, ierror)
            import :: c_ptr, MPI_COUNT_KIND, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request
            type(c_ptr), intent(in) :: buf
            integer, intent(in) :: partitions
            integer(kind=MPI_COUNT_KIND), intent(in) :: count
            type(MPI_Datatype), intent(in) :: datatype
            integer, intent(in) :: dest, tag
            type(MPI_Comm), intent(in) :: comm
            type(MPI_Info), intent(in) :: info
            type(MPI_Request), intent(inout) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Psend_init_f(buf, partitions, count, datatype, dest, tag, comm, info, &
            request, ierror)
            import :: c_ptr, MPI_COUNT_KIND
            type(c_ptr), intent(in) :: buf
            integer, intent(in) :: partitions
            integer(kind=MPI_COUNT_KIND), intent(in) :: count
            integer, intent(in) :: datatype
            integer, intent(in) :: dest, tag
            integer, intent(in) :: comm
            integer, intent(in) :: info
            integer, intent(inout) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Precv_init_f08(buf, partitions, count, datatype, source, tag, comm, info, &
            request, ierror)
            import :: c_ptr, MPI_COUNT_KIND, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request
            type(c_ptr), intent(in) :: buf
            integer, intent(in) :: partitions
            integer(kind=MPI_COUNT_KIND), intent(in) :: count
            type(MPI_Datatype), intent(in) :: datatype
            integer, intent(in) :: source, tag
            type(MPI_Comm), intent(in) :: comm
            type(MPI_Info), intent(in) :: info
            type(MPI_Request), intent(inout) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Precv_init_f(buf, partitions, count, datatype, source, tag, comm, info, &
            request, ierror)
            import :: c_ptr, MPI_COUNT_KIND
            type(c_ptr), intent(in) :: buf
            integer, intent(in) :: partitions
            integer(kind=MPI_COUNT_KIND), intent(in) :: count
            integer, intent(in) :: datatype
            integer, intent(in) :: source, tag
            integer, intent(in) :: comm
            integer, intent(in) :: info
            integer, intent(inout) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Pready_f08(partition, request, ierror)
            import :: MPI_Request
            integer, intent(in) :: partition
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Pready_f(partition, request, ierror)
            integer, intent(in) :: partition
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Pready_range_f08(partition_low, partition_high, request, ierror)
            import :: MPI_Request
            integer, intent(in) :: partition_low
            integer, intent(in) :: partition_high
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Pready_range_f(partition_low, partition_high, request, ierror)
            integer, intent(in) :: partition_low
            integer, intent(in) :: partition_high
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Pready_list_f08(length, array_of_partitions, request, ierror)
            import :: MPI_Request
            integer, intent(in) :: length
            integer, intent(in) :: array_of_partitions(*)
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Pready_list_f(length, array_of_partitions, request, ierror)
            integer, intent(in) :: length
            integer, intent(in) :: array_of_partitions(*)
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Parrived_f08(request, partition, flag, ierror)
            import :: MPI_Request
            type(MPI_Request), intent(in) :: request
            integer, intent(in) :: partition
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Parrived_f(request, partition, flag, ierror)
            integer, intent(in) :: request
            integer, intent(in) :: partition
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Pbuf_prepare_f08(request, ierror)
            import :: MPI_Request
            type(MPI_Request), intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Pbuf_prepare_f(request, ierror)
            integer, intent(in) :: request
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Window_create_f08(base, bytes, comm, info, win, ierror)
            import :: c_ptr, MPI_ADDRESS_KIND, MPI_Comm, MPI_Info, MPIXQ_Window
            type(c_ptr), intent(in) :: base
            integer(kind=MPI_ADDRESS_KIND), intent(in) :: bytes
            type(MPI_Comm), intent(in) :: comm
            type(MPI_Info), intent(in) :: info
            type(MPIXQ_Window), intent(inout) :: win
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Window_create_f(base, bytes, comm, info, win, ierror)
            import :: c_ptr, MPI_ADDRESS_KIND, MPIXQ_Window
            type(c_ptr), intent(in) :: base
            integer(kind=MPI_ADDRESS_KIND), intent(in) :: bytes
            integer, intent(in) :: comm
            integer, intent(in) :: info
            type(MPIXQ_Window), intent(inout) :: win
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Window_allocate_f08(bytes, comm, info, base, win, ierror)
            import :: MPI_ADDRESS_KIND, MPI_Comm, MPI_Info, c_ptr, MPIXQ_Window
            integer(kind=MPI_ADDRESS_KIND), intent(in) :: bytes
            type(MPI_Comm), intent(in) :: comm
            type(MPI_Info), intent(in) :: info
            type(c_ptr), intent(inout) :: base
            type(MPIXQ_Window), intent(inout) :: win
            integer, optional, intent(out) :: ierror
        end subroutine
        subroutine MPIXQ_Window_allocate_f(bytes, comm, info, base, win, ierror)
            import :: MPI_ADDRESS_KIND, c_ptr, MPIXQ_Window
            integer(kind=MPI_ADDRESS_KIND), intent(in) :: bytes
            integer, intent(in) :: comm
            integer, intent(in) :: info
            type(c_ptr), intent(inout) :: base
            type(MPIXQ_Window), intent(inout) :: win
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Window_free_f(win, ierror)
            import :: MPIXQ_Window
            type(MPIXQ_Window), intent(inout) :: win
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Window_flush_f(win, ierror)
            import :: MPIXQ_Window
            type(MPIXQ_Window), intent(in) :: win
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Signal_init_f(win, num_event, sig, ierror)
            import :: MPIXQ_Window, MPIXQ_Signal
            type(MPIXQ_Window), intent(in) :: win
            integer, intent(in) :: num_event
            type(MPIXQ_Signal), intent(inout) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Signal_reset_f(sig, ierror)
            import :: MPIXQ_Signal
            type(MPIXQ_Signal), intent(in) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Signal_test_f(sig, flag, ierror)
            import :: MPIXQ_Signal
            type(MPIXQ_Signal), intent(in) :: sig
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Signal_wait_f(sig, ierror)
            import :: MPIXQ_Signal
            type(MPIXQ_Signal), intent(in) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Signal_wait_reset_f(sig, ierror)
            import :: MPIXQ_Signal
            type(MPIXQ_Signal), intent(in) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Signal_free_f(sig, ierror)
            import :: MPIXQ_Signal
            type(MPIXQ_Signal), intent(inout) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Blk_init_f(win, offset, bytes, sig, blk, ierror)
            import :: MPIXQ_Window, MPI_ADDRESS_KIND, MPIXQ_Signal, MPIXQ_Blk
            type(MPIXQ_Window), intent(in) :: win
            integer(kind=MPI_ADDRESS_KIND), intent(in) :: offset
            integer(kind=MPI_ADDRESS_KIND), intent(in) :: bytes
            type(MPIXQ_Signal), intent(in) :: sig
            type(MPIXQ_Blk), intent(inout) :: blk
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Blk_set_signal_f(blk, from, ierror)
            import :: MPIXQ_Blk
            type(MPIXQ_Blk), intent(inout) :: blk
            type(MPIXQ_Blk), optional, intent(in) :: from
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Put_f(local, remote, ierror)
            import :: MPIXQ_Blk
            type(MPIXQ_Blk), intent(in) :: local
            type(MPIXQ_Blk), intent(in) :: remote
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Get_f(local, remote, ierror)
            import :: MPIXQ_Blk
            type(MPIXQ_Blk), intent(in) :: local
            type(MPIXQ_Blk), intent(in) :: remote
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Plan_create_f(count, local, remote, plan, ierror)
            import :: MPIXQ_Blk, MPIXQ_Plan
            integer, intent(in) :: count
            type(MPIXQ_Blk), intent(in) :: local(*)
            type(MPIXQ_Blk), intent(in) :: remote(*)
            type(MPIXQ_Plan), intent(inout) :: plan
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Plan_start_f(plan, ierror)
            import :: MPIXQ_Plan
            type(MPIXQ_Plan), intent(in) :: plan
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Plan_free_f(plan, ierror)
            import :: MPIXQ_Plan
            type(MPIXQ_Plan), intent(inout) :: plan
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_put_f(queue, local, remote, ierror)
            import :: MPIXQ_Queue, MPIXQ_Blk
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPIXQ_Blk), intent(in) :: local
            type(MPIXQ_Blk), intent(in) :: remote
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_plan_start_f(queue, plan, ierror)
            import :: MPIXQ_Queue, MPIXQ_Plan
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPIXQ_Plan), intent(in) :: plan
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_signal_wait_f(queue, sig, ierror)
            import :: MPIXQ_Queue, MPIXQ_Signal
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPIXQ_Signal), intent(in) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_signal_reset_f(queue, sig, ierror)
            import :: MPIXQ_Queue, MPIXQ_Signal
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPIXQ_Signal), intent(in) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Enqueue_signal_wait_reset_f(queue, sig, ierror)
            import :: MPIXQ_Queue, MPIXQ_Signal
            type(MPIXQ_Queue), intent(in) :: queue
            type(MPIXQ_Signal), intent(in) :: sig
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Host_stream_create_f(stream, ierror)
            import :: MPIXQ_Host_stream
            type(MPIXQ_Host_stream), intent(inout) :: stream
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Host_stream_destroy_f(stream, ierror)
            import :: MPIXQ_Host_stream
            type(MPIXQ_Host_stream), intent(inout) :: stream
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Host_stream_launch_f(stream, fn, arg, ierror)
            import :: MPIXQ_Host_stream, c_funptr, c_ptr
            type(MPIXQ_Host_stream), intent(in) :: stream
            type(c_funptr), intent(in) :: fn
            type(c_ptr), intent(in) :: arg
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Host_stream_synchronize_f(stream, ierror)
            import :: MPIXQ_Host_stream
            type(MPIXQ_Host_stream), intent(in) :: stream
            integer, optional, intent(out) :: ierror
        end subroutine

        subroutine MPIXQ_Host_stream_query_f(stream, flag, ierror)
            import :: MPIXQ_Host_stream
            type(MPIXQ_Host_stream), intent(in) :: stream
            logical, intent(out) :: flag
            integer, optional, intent(out) :: ierror
        end subroutine

        pure function MPIXQ_Queue_eq_f(a, b) result(is)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: a, b
            logical :: is
        end function

        pure function MPIXQ_Queue_ne_f(a, b) result(is)
            import :: MPIXQ_Queue
            type(MPIXQ_Queue), intent(in) :: a, b
            logical :: is
        end function

        pure function MPIXQ_Host_stream_eq_f(a, b) result(is)
            import :: MPIXQ_Host_stream
            type(MPIXQ_Host_stream), intent(in) :: a, b
            logical :: is
        end function

        pure function MPIXQ_Host_stream_ne_f(a, b) result(is)
            import :: MPIXQ_Host_stream
            type(MPIXQ_Host_stream), intent(in) :: a, b
            logical :: is
        end function
    end interface
end module mpix_queue
