/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave.c - looks whether a HIP runtime behaves as README.md says
 *
 *     behave [NAME...]   prints a line "NAME yes" or "NAME no" for each behaviour
 *     behave --list      prints their names
 *
 * Each one is looked at by a process of its own, so that what ends a process can be one too.
 */
#include "behave.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 60 };

static const struct behave_case *const tables[] = {
    behave_stream_cases, behave_memory_cases, behave_file_cases,  behave_capture_cases,
    behave_graph_cases,  behave_reset_cases,  behave_hidden_cases};

void behave_need(bool condition, const char *text, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: %s\n", line, text);
        _exit(BEHAVE_BROKEN);
    }
}

void behave_nap(unsigned ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&time, NULL);
}

bool behave_aborts(void (*function)(void *arg), void *arg)
{
    int status = 0;
    pid_t child = fork();

    NEED(child >= 0);
    if (child == 0) {
        /* What it says before it ends is not news. */
        if (freopen("/dev/null", "w", stderr) == NULL) {
            _exit(BEHAVE_BROKEN);
        }
        signal(SIGABRT, SIG_DFL);
        function(arg);
        _exit(0);
    }
    NEED(waitpid(child, &status, 0) == child);
    NEED(!WIFEXITED(status) || WEXITSTATUS(status) != BEHAVE_BROKEN);
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static const struct behave_case *find(const char *name)
{
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct behave_case *one = tables[t]; one->name != NULL; one++) {
            if (strcmp(one->name, name) == 0) {
                return one;
            }
        }
    }
    return NULL;
}

/* 0: as expected; 1: not; others: the case itself failed. In a program of its own, as sanitizers
 * do not like threads in a forked process. */
static int look(const char *program, const struct behave_case *one)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execl(program, program, "--one", one->name, (char *)NULL);
        _exit(BEHAVE_BROKEN);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        fprintf(stderr, "%s ended by signal %d\n", one->name, WTERMSIG(status));
        return BEHAVE_BROKEN;
    }
    return WEXITSTATUS(status);
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    int worst = 0;

    if (argc == 3 && strcmp(argv[1], "--one") == 0) {
        const struct behave_case *one = find(argv[2]);

        alarm(LIMIT_S);
        /* Work may be left that nobody waits for, so nothing is cleared up. */
        _exit(one == NULL ? BEHAVE_BROKEN : !one->look());
    }
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct behave_case *one = tables[t]; one->name != NULL; one++) {
            int found;

            if (list) {
                puts(one->name);
                continue;
            }
            if (!wanted(one->name, argc, argv)) {
                continue;
            }
            found = look(argv[0], one);
            printf("%s %s\n", one->name, found == 0 ? "yes" : found == 1 ? "no" : "broken");
            fflush(stdout);
            worst = found > worst ? found : worst;
        }
    }
    return worst;
}
