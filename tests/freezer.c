/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * freezer.c - stops threads of this process from outside
 */
#include "freezer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 128 };

/* Shared with the child. */
static struct {
    atomic_int state;
    int count, limit_s;
    pid_t threads[ROOM];
} * shared;
static pid_t child = -1;

static void pause_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};

    (void)nanosleep(&t, NULL);
}

/* ---- The child ------------------------------------------------------------------------------ */

static bool stop_one(pid_t thread)
{
    int status;

    return ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0 &&
           ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0 &&
           waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status);
}

static void freeze(void)
{
    int frozen = 0, end;
    struct timespec begin, now;

    while (frozen < shared->count && stop_one(shared->threads[frozen])) {
        frozen++;
    }
    end = frozen == shared->count ? FREEZER_THAWED : FREEZER_REFUSED;
    if (end == FREEZER_THAWED) {
        atomic_store(&shared->state, FREEZER_FROZEN);
        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
            pause_ms(1);
            (void)clock_gettime(CLOCK_MONOTONIC, &now);
        } while (atomic_load(&shared->state) == FREEZER_FROZEN &&
                 now.tv_sec - begin.tv_sec < shared->limit_s);
        end = atomic_load(&shared->state) == FREEZER_LET_GO ? FREEZER_THAWED : FREEZER_TIMED_OUT;
    }
    /* A thread that could not be interrupted is let go when this process ends. */
    for (int i = 0; i < frozen; i++) {
        (void)ptrace(PTRACE_DETACH, shared->threads[i], NULL, NULL);
    }
    atomic_store(&shared->state, end);
}

static void child_main(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (atomic_load(&shared->state) != FREEZER_END) {
        if (atomic_load(&shared->state) == FREEZER_ASKED) {
            freeze();
        }
        pause_ms(1);
    }
    _exit(0);
}

/* ---- The process itself --------------------------------------------------------------------- */

void freezer_begin(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("freezer");
        exit(99);
    }
    child = fork();
    if (child == 0) {
        child_main();
    }
    (void)prctl(PR_SET_PTRACER, child, 0, 0, 0); /* where the system asks for it */
}

void freezer_end(void)
{
    atomic_store(&shared->state, FREEZER_END);
    (void)waitpid(child, NULL, 0);
}

static bool is_spared(pid_t thread, pid_t spared, const char *const names[])
{
    char path[64], name[32] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)thread);
    file = fopen(path, "r");
    if (file != NULL) {
        (void)!fscanf(file, "%31s", name);
        (void)fclose(file);
    }
    while (*names != NULL && strcmp(name, *names) != 0) {
        names++;
    }
    return thread == spared || *names != NULL;
}

static int list(pid_t threads[ROOM], pid_t spared, const char *const names[])
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int n = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL && n < ROOM) {
        pid_t thread = (pid_t)atoi(entry->d_name);

        if (thread > 0 && !is_spared(thread, spared, names)) {
            threads[n++] = thread;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return n;
}

enum freezer_state freezer_run(pid_t spared, const char *const names[], int limit_s)
{
    int state;

    shared->limit_s = limit_s;
    shared->count = list(shared->threads, spared, names);
    atomic_store(&shared->state, FREEZER_ASKED);
    do {
        pause_ms(1);
        state = atomic_load(&shared->state);
    } while (state == FREEZER_ASKED || state == FREEZER_FROZEN || state == FREEZER_LET_GO);
    return (enum freezer_state)state;
}

enum freezer_state freezer_state(void)
{
    return (enum freezer_state)atomic_load(&shared->state);
}

void freezer_let_go(void)
{
    int frozen = FREEZER_FROZEN;

    (void)atomic_compare_exchange_strong(&shared->state, &frozen, FREEZER_LET_GO);
}

int freezer_count(void)
{
    return shared->count;
}

/* Times that a thread has slept and that it was made to, which grow when it runs at all. */
static long switches(pid_t thread)
{
    char path[64], line[128];
    long sum = 0, n;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1 ||
            (strncmp(line, "State:\tR", 8) == 0 && (n = 1000000000) > 0)) {
            sum += n;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return sum;
}

bool freezer_is_quiet(pid_t spared, const char *const names[])
{
    pid_t threads[ROOM];
    long before[ROOM];
    int n = list(threads, spared, names);
    bool quiet = true;

    for (int i = 0; i < n; i++) {
        before[i] = switches(threads[i]);
    }
    pause_ms(50);
    for (int i = 0; i < n; i++) {
        quiet = quiet && (threads[i] == getpid() ||
                          (before[i] < 1000000000 && switches(threads[i]) == before[i]));
    }
    return quiet;
}
