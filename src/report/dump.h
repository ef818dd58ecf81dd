/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_DUMP: SIGUSR2 has a process write what is pending in it, in the words of the watchdog.
 *
 * The handler does what a handler may: it wakes a thread that sleeps for nothing else, and calls
 * the handler that the program had. The thread takes the matching lock, looks and writes. Below
 * MPI_THREAD_MULTIPLE there is no such thread, as it would have to call MPI: then whoever lets the
 * watchdog look next writes it, and the handler says so.
 */
#ifndef MPIXQ_DUMP_H
#define MPIXQ_DUMP_H

/* In MPI_Init, after mpixq_progress_setup; and in MPI_Finalize, before the matching ends. */
void mpixq_dump_open(void);
void mpixq_dump_close(void);

/* Make it, if it was asked for and no thread of ours is there to do so. Under the matching lock, by
 * a thread that may call MPI. */
void mpixq_dump_check(void);

/* What is pending, as lines on standard error (dump_text.c). Likewise. */
void mpixq_dump_print(void);

#endif
