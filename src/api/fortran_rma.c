/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The functions of mpix_queue_rma.h for Fortran, as fortran.c has the others. */
#include "mpix_queue_rma.h"

#include "api.h"
#include "fortran_names.h"

static void window_create(void *const *base, const MPI_Aint *bytes, const MPI_Fint *comm,
                          const MPI_Fint *info, MPIXQ_Window *win, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Window_create(*base, *bytes, mpixq_fortran_comm(comm),
                                                     mpixq_fortran_info(info), win));
}
HANDLES(window_create, mpixq_window_create);

static void window_allocate(const MPI_Aint *bytes, const MPI_Fint *comm, const MPI_Fint *info,
                            void **base, MPIXQ_Window *win, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Window_allocate(*bytes, mpixq_fortran_comm(comm),
                                                       mpixq_fortran_info(info), base, win));
}
HANDLES(window_allocate, mpixq_window_allocate);

static void window_free(MPIXQ_Window *win, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Window_free(win));
}
PLAIN(window_free, mpixq_window_free);

static void window_flush(const MPIXQ_Window *win, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Window_flush(*win));
}
PLAIN(window_flush, mpixq_window_flush);

static void signal_init(const MPIXQ_Window *win, const MPI_Fint *num_event, MPIXQ_Signal *sig,
                        MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Signal_init(*win, *num_event, sig));
}
PLAIN(signal_init, mpixq_signal_init);

static void signal_reset(const MPIXQ_Signal *sig, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Signal_reset(*sig));
}
PLAIN(signal_reset, mpixq_signal_reset);

static void signal_test(const MPIXQ_Signal *sig, MPI_Fint *flag, MPI_Fint *ierror)
{
    int complete, rc = MPIXQ_Signal_test(*sig, &complete);

    if (rc == MPI_SUCCESS) {
        *flag = mpixq_fortran_logical(complete);
    }
    mpixq_fortran_return(ierror, rc);
}
PLAIN(signal_test, mpixq_signal_test);

static void signal_wait(const MPIXQ_Signal *sig, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Signal_wait(*sig));
}
PLAIN(signal_wait, mpixq_signal_wait);

static void signal_wait_reset(const MPIXQ_Signal *sig, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Signal_wait_reset(*sig));
}
PLAIN(signal_wait_reset, mpixq_signal_wait_reset);

static void signal_free(MPIXQ_Signal *sig, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Signal_free(sig));
}
PLAIN(signal_free, mpixq_signal_free);

static void blk_init(const MPIXQ_Window *win, const MPI_Aint *offset, const MPI_Aint *bytes,
                     const MPIXQ_Signal *sig, MPIXQ_Blk *blk, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Blk_init(*win, *offset, *bytes, *sig, blk));
}
PLAIN(blk_init, mpixq_blk_init);

/* An absent block comes as NULL. */
static void blk_set_signal(MPIXQ_Blk *blk, const MPIXQ_Blk *from, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Blk_set_signal(blk, from));
}
PLAIN(blk_set_signal, mpixq_blk_set_signal);

static void put(const MPIXQ_Blk *local, const MPIXQ_Blk *remote, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Put(local, remote));
}
PLAIN(put, mpixq_put);

static void get(const MPIXQ_Blk *local, const MPIXQ_Blk *remote, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Get(local, remote));
}
PLAIN(get, mpixq_get);

static void plan_create(const MPI_Fint *count, const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                        MPIXQ_Plan *plan, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Plan_create(*count, local, remote, plan));
}
PLAIN(plan_create, mpixq_plan_create);

static void plan_start(const MPIXQ_Plan *plan, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Plan_start(*plan));
}
PLAIN(plan_start, mpixq_plan_start);

static void plan_free(MPIXQ_Plan *plan, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Plan_free(plan));
}
PLAIN(plan_free, mpixq_plan_free);

static void enqueue_put(const MPIXQ_Queue *queue, const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                        MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Enqueue_put(*queue, local, remote));
}
PLAIN(enqueue_put, mpixq_enqueue_put);

static void enqueue_plan_start(const MPIXQ_Queue *queue, const MPIXQ_Plan *plan, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Enqueue_plan_start(*queue, *plan));
}
PLAIN(enqueue_plan_start, mpixq_enqueue_plan_start);

static void enqueue_signal_wait(const MPIXQ_Queue *queue, const MPIXQ_Signal *sig, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Enqueue_signal_wait(*queue, *sig));
}
PLAIN(enqueue_signal_wait, mpixq_enqueue_signal_wait);

static void enqueue_signal_reset(const MPIXQ_Queue *queue, const MPIXQ_Signal *sig,
                                 MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Enqueue_signal_reset(*queue, *sig));
}
PLAIN(enqueue_signal_reset, mpixq_enqueue_signal_reset);

static void enqueue_signal_wait_reset(const MPIXQ_Queue *queue, const MPIXQ_Signal *sig,
                                      MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Enqueue_signal_wait_reset(*queue, *sig));
}
PLAIN(enqueue_signal_wait_reset, mpixq_enqueue_signal_wait_reset);
