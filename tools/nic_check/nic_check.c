/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * nic_check.c - mpixq_nic_check: says in which behaviours a NIC is the one that we test against
 *
 * The program itself never touches libfabric: each check is made by a child, whose crash or
 * standstill is a result like others.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { TIMEOUT_S = 20, EXIT_DIFFERENT = 1, EXIT_USAGE = 2, EXIT_NO_NIC = 77 };

const char *rig_provider = "cxi";
static int result_fd = STDOUT_FILENO;

static const struct behaviour *const groups[] = {counter_behaviours,  work_behaviours,
                                                 resource_behaviours, refusal_behaviours,
                                                 limit_behaviours,
                                                 region_behaviours,   transport_behaviours};

static void __attribute__((format(printf, 1, 0))) send_result(const char *format, va_list args)
{
    char text[128];
    ssize_t ignored;

    vsnprintf(text, sizeof(text), format, args);
    ignored = write(result_fd, text, strlen(text));
    (void)ignored; /* The parent then finds no result, which it reports. */
    /* Not by exit: what is left open is the system's to clean up. */
    _exit(EXIT_SUCCESS);
}

void found(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    send_result(format, args);
    va_end(args);
    _exit(EXIT_FAILURE);
}

static const char left_out_mark[] = "left out: ";

void left_out(const char *why)
{
    found("%s%s", left_out_mark, why);
}

void must(long rc, const char *what)
{
    if (rc < 0) {
        found("%s failed: %s", what, fi_strerror((int)-rc));
    }
}

static void describe_end(pid_t child, char *text, size_t size)
{
    int status;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (*text == '\0') {
        snprintf(text, size, WIFSIGNALED(status) ? "crash" : "no result");
    }
}

/* What a child says that runs the check. */
static void observe(const struct behaviour *behaviour, char *text, size_t size)
{
    int fds[2];
    pid_t child;
    struct pollfd wait;
    ssize_t got = 0;

    text[0] = '\0';
    if (pipe(fds) != 0 || (child = fork()) < 0) {
        snprintf(text, size, "no process");
        return;
    }
    if (child == 0) {
        close(fds[0]);
        result_fd = fds[1];
        behaviour->run();
        found("no result");
    }
    close(fds[1]);
    wait = (struct pollfd){.fd = fds[0], .events = POLLIN};
    if (poll(&wait, 1, TIMEOUT_S * 1000) > 0) {
        got = read(fds[0], text, size - 1);
    } else {
        kill(child, SIGKILL);
        snprintf(text, size, "standstill");
    }
    if (got > 0) {
        text[got] = '\0';
    }
    describe_end(child, text, size);
    close(fds[0]);
}

static bool provider_is_there(void)
{
    char text[128];
    const struct behaviour probe = {.run = rig_open};

    observe(&probe, text, sizeof(text));
    if (strcmp(text, "no result") == 0) {
        return true;
    }
    fprintf(stderr, "mpixq_nic_check: provider %s: %s\n", rig_provider, text);
    return false;
}

struct options {
    const char *only;
    bool list, risky;
};

/* Is it different? */
static bool print_result(const struct behaviour *b, const char *text)
{
    size_t mark = strlen(left_out_mark);

    if (strncmp(text, left_out_mark, mark) == 0) {
        printf("%-9s  %-24s  %s\n", "left out", b->name, text + mark);
        return false;
    }
    if (strcmp(text, b->expected) == 0) {
        printf("%-9s  %-24s  %s\n", "same", b->name, text);
        return false;
    }
    printf("%-9s  %-24s  %s (not: %s)\n", "different", b->name, text, b->expected);
    return true;
}

static int run_all(const struct options *options)
{
    int different = 0;

    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
        for (const struct behaviour *b = groups[group]; b->name != NULL; b++) {
            char text[128];

            if (options->only != NULL && strcmp(options->only, b->name) != 0) {
                continue;
            }
            if (options->list) {
                printf("%s\n", b->name);
                continue;
            }
            if (b->risky && !options->risky) {
                printf("%-9s  %-24s  only with --risky\n", "left out", b->name);
                continue;
            }
            observe(b, text, sizeof(text));
            different += print_result(b, text);
            fflush(stdout);
        }
    }
    return different;
}

static void usage(FILE *to)
{
    fputs("usage: mpixq_nic_check [--provider NAME] [--only BEHAVIOUR] [--risky] [--list]\n", to);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"provider", required_argument, NULL, 'p'}, {"only", required_argument, NULL, 'o'},
        {"risky", no_argument, NULL, 'r'},          {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    struct options options = {.only = NULL};
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (option) {
        case 'p':
            rig_provider = optarg;
            break;
        case 'o':
            options.only = optarg;
            break;
        case 'r':
            options.risky = true;
            break;
        case 'l':
            options.list = true;
            break;
        case 'h':
            usage(stdout);
            return EXIT_SUCCESS;
        default:
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (!options.list && !provider_is_there()) {
        return EXIT_NO_NIC;
    }
    return run_all(&options) > 0 ? EXIT_DIFFERENT : EXIT_SUCCESS;
}
