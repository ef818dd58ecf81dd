! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the mpix-queue authors
!
! ftest - what the Fortran tests share: checks that record and carry on, and a verdict on which all
! ranks agree. See tests/mtest.h.
#include "interface.inc"

module ftest
    use, intrinsic :: iso_c_binding, only: c_int
    USE_MPI
    use mpix_queue
    implicit none
    INCLUDE_MPI
    private
    integer, save, public :: rank, ranks
    integer, save :: failures = 0
    public :: begin, finish, finish_late, check, same, kind_is, queue_count

    interface
        subroutine c_exit(code) bind(c, name="exit")
            import :: c_int
            integer(c_int), value :: code
        end subroutine
    end interface
contains
    subroutine fail(text, file, line)
        character(*), intent(in) :: text, file
        integer, intent(in) :: line

        failures = failures + 1
        if (failures > 20) return
        print '(a,":",i0,": rank ",i0,": ",a)', file, line, rank, text
    end subroutine

    subroutine check(cond, file, line)
        logical, intent(in) :: cond
        character(*), intent(in) :: file
        integer, intent(in) :: line

        if (.not. cond) call fail('not true', file, line)
    end subroutine

    subroutine same(a, b, file, line)
        integer, intent(in) :: a, b
        character(*), intent(in) :: file
        integer, intent(in) :: line
        character(80) :: text

        if (a /= b) then
            write (text, '("is ",i0,", expected ",i0)') a, b
            call fail(trim(text), file, line)
        end if
    end subroutine

    ! After MPI was initialised. The promised number of ranks must be there.
    subroutine begin()
        character(20) :: promised
        integer :: n, length, ierr

        call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
        call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
        call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
        call get_environment_variable('MPIXQ_TEST_RANKS', promised, length)
        if (length > 0) then
            read (promised, *) n
            if (n /= ranks) then
                print '("promised were ",i0," ranks, not ",i0)', n, ranks
                call c_exit(99_c_int)
            end if
        end if
    end subroutine

    subroutine finish()
        integer :: all_failures, ierr

        call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
        call MPI_Finalize(ierr)
        if (all_failures > 0) call c_exit(1_c_int)
    end subroutine

    ! For checks after MPI_Finalize, which come out alike on all ranks.
    subroutine finish_late()
        if (failures > 0) call c_exit(1_c_int)
    end subroutine

    ! The call that gave this code failed with a kind of error of the library.
    subroutine kind_is(code, kind, file, line)
        integer, intent(in) :: code, kind, line
        character(*), intent(in) :: file
        integer :: found

        call MPIXQ_Error_kind(code, found)
        call same(found, kind, file, line)
    end subroutine

    ! A number that MPIXQ_Queue_get_info tells.
    integer function queue_count(queue, key)
        type(MPIXQ_Queue), intent(in) :: queue
        character(*), intent(in) :: key
        character(100) :: value
        INFO :: used
        integer :: ierr
        logical :: found

        call MPIXQ_Queue_get_info(queue, used, ierr)
        SAME(ierr, MPI_SUCCESS)
        call MPI_Info_get(used, key, 100, value, found, ierr)
        queue_count = -1
        if (found) read (value, *) queue_count
        call MPI_Info_free(used, ierr)
    end function
end module ftest
