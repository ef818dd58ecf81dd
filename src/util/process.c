/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What /proc/PID/stat says. */
struct stat_line {
    char state;
    long threads;
    unsigned long long birth; /* in clock ticks since the machine started */
};

/* Read the beginning of a small file as text. Returns its length, or 0. */
static size_t read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, text, size - 1) : -1;

    if (file >= 0) {
        (void)close(file);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static bool read_stat(uint64_t pid, struct stat_line *line_p)
{
    char path[64], text[1024];
    const char *rest;

    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    if (read_text(path, text, sizeof text) == 0) {
        return false;
    }
    rest = strrchr(text, ')'); /* of the name of the program, which may hold anything */
    return rest != NULL && sscanf(rest + 1,
                                  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                  "%*s %*s %ld %*s %llu",
                                  &line_p->state, &line_p->threads, &line_p->birth) == 3;
}

/* Processes with the same value see the same numbers, and the same times of birth. */
static struct mpixq_ident find_home(void)
{
    static const char *const spaces[] = {"/proc/self/ns/pid", "/proc/self/ns/time"};
    struct mpixq_ident home = {0};
    struct stat space;
    char text[64];
    size_t n = read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);

    if (n == 0 || stat(spaces[0], &space) != 0) {
        return home;
    }
    home = mpixq_ident_add((struct mpixq_ident){.low = 1}, text, n);
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        /* Old kernels have one clock for all. */
        uint64_t number = stat(spaces[i], &space) == 0 ? (uint64_t)space.st_ino : 0;

        home = mpixq_ident_add(home, &number, sizeof number);
    }
    return home;
}

struct mpixq_process mpixq_process_self(void)
{
    static struct mpixq_process self;
    struct stat_line line;
    char text[32] = "";

    if (self.pid == (uint64_t)getpid()) {
        return self;
    }
    self = (struct mpixq_process){.pid = (uint64_t)getpid()};
    /* /proc may be that of others. */
    if (readlink("/proc/self", text, sizeof text - 1) > 0 && strtoull(text, NULL, 10) == self.pid &&
        read_stat(self.pid, &line)) {
        self.birth = line.birth;
        self.home = find_home();
    }
    return self;
}

static bool is_at_home(const struct mpixq_process *process)
{
    struct mpixq_process self = mpixq_process_self();

    return !mpixq_ident_is_none(self.home) && mpixq_ident_equal(self.home, process->home) &&
           process->pid != 0 && process->pid <= INT_MAX;
}

bool mpixq_process_is_seen(const struct mpixq_process *process)
{
    struct stat_line line;

    return is_at_home(process) && read_stat(process->pid, &line) && line.birth == process->birth;
}

bool mpixq_process_has_ended(const struct mpixq_process *process)
{
    struct stat_line line;

    if (!is_at_home(process)) {
        return false;
    }
    if (getpgid((pid_t)process->pid) < 0 && errno == ESRCH) {
        return true;
    }
    if (!read_stat(process->pid, &line)) {
        return false; /* it may end just now, or be hidden */
    }
    /* A process whose first thread has left runs on with the others. */
    return line.birth != process->birth ||
           ((line.state == 'Z' || line.state == 'X') && line.threads <= 1);
}
