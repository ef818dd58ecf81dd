! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! exchange.c in Fortran: ranks 0 and 1 exchange a number ten times, and the host does not wait in
! between.
module adding
    use, intrinsic :: iso_c_binding, only: c_ptr, c_int, c_f_pointer
    implicit none
contains
    subroutine add(arg) bind(c)
        type(c_ptr), value :: arg
        integer(c_int), pointer :: number(:) ! ours, and the one received

        call c_f_pointer(arg, number, [2])
        number(1) = number(1) + number(2)
    end subroutine
end module adding

program exchange
    use, intrinsic :: iso_c_binding, only: c_int, c_funptr, c_funloc, c_loc
    use mpi_f08
    use mpix_queue
    use adding
    implicit none
    integer :: rank, size, peer, i
    integer(c_int), asynchronous, target :: number(2)
    type(c_funptr) :: fn
    type(MPIXQ_Host_stream) :: stream
    type(MPIXQ_Queue) :: queue
    type(MPI_Request) :: req(2)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    peer = MPI_PROC_NULL
    if (rank < 2 .and. size > 1) peer = 1 - rank
    number = [rank + 1, 0]

    call MPI_Send_init(number(1), 1, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, req(1))
    call MPI_Recv_init(number(2), 1, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, req(2))
    call MPIX_Matchall(2, req)
    call MPIX_Host_stream_create(stream)
    call MPIX_Queue_init(queue, MPIXQ_QUEUE_AUTO, stream)

    fn = c_funloc(add)
    do i = 1, 10
        call MPIX_Enqueue_startall(queue, 2, req)
        call MPIX_Enqueue_waitall(queue, 2, req)
        call MPIX_Host_stream_launch(stream, fn, c_loc(number))
    end do
    call MPIX_Host_stream_synchronize(stream)
    print '("rank ", i0, ": ", i0)', rank, number(1)

    call MPIX_Queue_free(queue)
    call MPIX_Host_stream_destroy(stream)
    call MPI_Request_free(req(1))
    call MPI_Request_free(req(2))
    call MPI_Finalize()
end program exchange
