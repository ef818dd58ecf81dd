/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Who may be in MPI while it ends. Once MPI_Finalize has begun, MPICH takes no locks any more, and
 * that is before it deletes the attributes of MPI_COMM_SELF, in whose callbacks the program may
 * still use the library. So from there on one thread at a time is in MPI: the one that ends it,
 * which lets the library's threads in while it waits in a function of the library, or for a thread
 * of the program that does. Until then nobody waits for anybody here.
 */
#ifndef MPIXQ_MPI_TURNS_H
#define MPIXQ_MPI_TURNS_H

struct mpixq_backoff;

/* A thread of the library begins to call MPI, and has ended. Not nested; without locks, as it may
 * wait. */
void mpixq_mpi_enter(void);
void mpixq_mpi_leave(void);
/* Of a thread that has entered: pause between two polls of MPI. */
void mpixq_mpi_pause(struct mpixq_backoff *backoff);

/* The calling thread is about to end MPI. Returns when no thread of the library is in it. */
void mpixq_mpi_close(void);
/* A thread of the program, in a function of the library: it waits, and the library's may call MPI;
 * it goes on. In those of the library they do nothing. Without locks, too. */
void mpixq_mpi_rest(void);
void mpixq_mpi_resume(void);

#endif
