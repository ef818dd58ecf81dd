/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "dump.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "match/match_internal.h"
#include "util/backoff.h"
#include "util/bell_ext.h"
#include "util/log.h"
#include "util/mpi_turns.h"
#include "util/progress.h"
#include "util/thread.h"

enum {
    SIGNAL = SIGUSR2,
    LOOK_S = 5, /* between two looks whose handler the signal has */
    LOCK_S = 2  /* for the matching lock, which nobody has for long */
};

static struct {
    struct sigaction before; /* of the program; constant once ours is there */
    bool is_installed;
    atomic_bool was_reset; /* the program's was to be called once, and has been */
    atomic_bool is_due;    /* it was asked for, and no thread is there to make it */
    struct {
        pthread_t id;
        sem_t bell;
        atomic_bool exists, stop;
    } thread;
    /* What the handler writes itself: made before, since it may not make texts. Constant. */
    char no_thread[192], in_finalize[96];
} dump;

static void write_text(const char *text)
{
    /* A line that cannot be written is lost: a handler can do nothing about it. */
    ssize_t n = write(STDERR_FILENO, text, strlen(text));

    (void)n;
}

/* The program's handler, as the system would call it. Its default, which ends the process, it did
 * not ask for. */
static void call_before(int number, siginfo_t *info, void *context)
{
    if ((dump.before.sa_flags & SA_SIGINFO) != 0) {
        dump.before.sa_sigaction(number, info, context);
    } else if (dump.before.sa_handler != SIG_DFL && dump.before.sa_handler != SIG_IGN) {
        if ((dump.before.sa_flags & (int)SA_RESETHAND) == 0 ||
            !atomic_exchange(&dump.was_reset, true)) {
            dump.before.sa_handler(number);
        }
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int kept = errno;

    if (atomic_load(&dump.thread.exists)) {
        (void)sem_post(&dump.thread.bell);
    } else if (atomic_load(&dump.thread.stop)) {
        write_text(dump.in_finalize);
    } else {
        atomic_store(&dump.is_due, true);
        write_text(dump.no_thread);
    }
    call_before(number, info, context);
    errno = kept;
}

static bool is_ours(void)
{
    struct sigaction now;

    return sigaction(SIGNAL, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == on_signal;
}

static void make(void)
{
    atomic_store(&dump.is_due, false);
    mpixq_dump_print();
}

void mpixq_dump_check(void)
{
    if (atomic_load_explicit(&dump.is_due, memory_order_relaxed)) {
        make();
    }
}

static void make_by_thread(void)
{
    mpixq_mpi_enter();
    if (mpixq_match_enter_within(LOCK_S)) {
        make();
        mpixq_match_leave();
    } else {
        mpixq_print("dump: a thread has been matching for %d s: nothing can be said", LOCK_S);
    }
    mpixq_mpi_leave();
}

/* Returns whether the bell was rung. */
static bool listen(void)
{
    return mpixq_bell_wait_until(&dump.thread.bell, mpixq_now_ns() + LOOK_S * 1000000000ull);
}

static void *dump_main(void *arg)
{
    bool was_ours = true;

    (void)arg;
    while (!atomic_load(&dump.thread.stop)) {
        bool rung = listen();

        if (rung && !atomic_load(&dump.thread.stop)) {
            make_by_thread();
        }
        if (was_ours && !is_ours()) {
            was_ours = false;
            mpixq_warn("SIGUSR2 has got another handler since MPI_Init: MPIXQ_DUMP works only if "
                       "that calls the one before");
        }
    }
    return NULL;
}

static void make_texts(void)
{
    (void)snprintf(dump.no_thread, sizeof dump.no_thread,
                   "mpix_queue: rank %d: dump: comes when the process next waits in a function of "
                   "the library, MPI_Wait or MPI_Test, as it has no thread for it\n",
                   mpixq_log_rank);
    (void)snprintf(dump.in_finalize, sizeof dump.in_finalize,
                   "mpix_queue: rank %d: dump: none, as MPI_Finalize was called\n", mpixq_log_rank);
}

/* Calls that the program's handler interrupts, or does not, stay so. */
static bool install(void)
{
    struct sigaction ours;

    if (sigaction(SIGNAL, NULL, &dump.before) != 0) {
        return false;
    }
    ours = dump.before;
    if ((dump.before.sa_flags & SA_SIGINFO) == 0 &&
        (dump.before.sa_handler == SIG_DFL || dump.before.sa_handler == SIG_IGN)) {
        (void)sigemptyset(&ours.sa_mask);
        ours.sa_flags = SA_RESTART;
    } else {
        mpixq_info("SIGUSR2 has a handler, which MPIXQ_DUMP calls too");
    }
    ours.sa_flags = (ours.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
    ours.sa_sigaction = on_signal;
    return sigaction(SIGNAL, &ours, NULL) == 0;
}

void mpixq_dump_open(void)
{
    if (!mpixq_env.dump) {
        return;
    }
    make_texts();
    if (mpixq_progress_has_threads() && sem_init(&dump.thread.bell, 0, 0) == 0) {
        atomic_store(&dump.thread.exists,
                     mpixq_thread_create_idle(&dump.thread.id, dump_main, NULL, "mpixq-dump"));
    }
    dump.is_installed = install();
    if (!dump.is_installed) {
        mpixq_warn("SIGUSR2 cannot be handled: MPIXQ_DUMP does nothing");
    }
}

/* The handler stays: whoever asks all processes may ask one that ends just now, and the default
 * would kill it. */
void mpixq_dump_close(void)
{
    atomic_store(&dump.thread.stop, true);
    if (atomic_exchange(&dump.thread.exists, false)) {
        (void)sem_post(&dump.thread.bell);
        mpixq_mpi_rest();
        (void)pthread_join(dump.thread.id, NULL);
        mpixq_mpi_resume();
    }
}

/* Unless the library is unloaded, with its code. */
__attribute__((destructor)) static void uninstall(void)
{
    if (dump.is_installed && is_ours()) {
        (void)sigaction(SIGNAL, &dump.before, NULL);
    }
}
