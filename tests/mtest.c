/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mtest.c - verdict, checks and waiting for the MPI test programs
 */
#include "mtest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REPORTS = 25 };

int mtest_rank = -1;
int mtest_size = -1;

static atomic_int failures;
static atomic_int skipped;
/* Handler calls in all threads, and those that a check has expected. */
static atomic_int handler_calls;
static atomic_int handler_expected;
static _Thread_local struct mtest_errors seen;
static MPI_Errhandler counting_handler = MPI_ERRHANDLER_NULL;

static void count_error(MPI_Comm *comm, int *code, ...)
{
    atomic_fetch_add(&handler_calls, 1);
    seen.in_thread++;
    seen.code = *code;
    seen.comm = *comm;
}

void mtest_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    char text[1024];
    const char *base = strrchr(file, '/');
    int before = atomic_fetch_add(&failures, 1);

    if (before >= MAX_REPORTS) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s:%d: rank %d: %s\n", base ? base + 1 : file, line, mtest_rank, text);
}

int mtest_failures(void)
{
    return atomic_load(&failures);
}

void mtest_skip(const char *reason)
{
    if (atomic_exchange(&skipped, 1) == 0) {
        fprintf(stderr, "skipped: rank %d: %s\n", mtest_rank, reason);
    }
}

static char captured_name[256];
static int captured_from = -1; /* the real standard error */

const char *mtest_capture(void)
{
    const char *folder = getenv("TMPDIR");
    int fd;

    (void)snprintf(captured_name, sizeof captured_name, "%.200s/mtest-XXXXXX",
                   folder != NULL ? folder : "/tmp");
    fd = mkstemp(captured_name);
    fflush(stderr);
    captured_from = dup(STDERR_FILENO);
    if (fd < 0 || captured_from < 0 || dup2(fd, STDERR_FILENO) < 0) {
        perror("mtest_capture");
        exit(MTEST_HARD);
    }
    (void)close(fd);
    return captured_name;
}

void mtest_captured(char *text_p, size_t room)
{
    size_t length = 0;
    FILE *file;
    int c;

    fflush(stderr);
    (void)dup2(captured_from, STDERR_FILENO);
    (void)close(captured_from);
    file = fopen(captured_name, "r");
    while (file != NULL && (c = getc(file)) != EOF) {
        (void)putc(c, stderr);
        if (length + 1 < room) {
            text_p[length++] = (char)c;
        }
    }
    if (room > 0) {
        text_p[length] = '\0';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)unlink(captured_name);
}

void mtest_count_errors(MPI_Comm comm)
{
    MPI_Comm_set_errhandler(comm, counting_handler);
}

void mtest_adopt(void)
{
    const char *promised = getenv("MPIXQ_TEST_RANKS");

    MPI_Comm_rank(MPI_COMM_WORLD, &mtest_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mtest_size);
    if (promised != NULL && atoi(promised) != mtest_size) {
        fprintf(stderr, "rank %d: %d ranks, promised %s\n", mtest_rank, mtest_size, promised);
        MPI_Finalize();
        exit(MTEST_HARD);
    }
    MPI_Comm_create_errhandler(count_error, &counting_handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting_handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting_handler);
}

void mtest_begin(int *argc, char ***argv, int level)
{
    int provided = -1;

    MPI_Init_thread(argc, argv, level, &provided);
    mtest_adopt();
    if (provided < level) {
        fprintf(stderr, "rank %d: thread level %d, asked for %d\n", mtest_rank, provided, level);
        MPI_Finalize();
        exit(MTEST_HARD);
    }
}

int mtest_verdict(void)
{
    static const int codes[] = {0, MTEST_SKIP, 1};
    int calls = atomic_load(&handler_calls);
    int expected = atomic_load(&handler_expected);
    int mine = 0;
    int all = 2;

    if (calls != expected) {
        mtest_fail(__FILE__, __LINE__, "%d error handler calls, %d expected", calls, expected);
    }
    if (atomic_load(&failures) > 0) {
        mine = 2;
    } else if (atomic_load(&skipped)) {
        mine = 1;
    }
    if (MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) {
        all = 2;
    }
    if (mtest_failures() > MAX_REPORTS) {
        fprintf(stderr, "rank %d: %d failures in all\n", mtest_rank, mtest_failures());
    }
    return codes[all];
}

int mtest_end(void)
{
    int code = mtest_verdict();

    MPI_Errhandler_free(&counting_handler);
    MPI_Finalize();
    return code;
}

struct mtest_errors mtest_errors(void)
{
    return seen;
}

void mtest_forgive(int calls)
{
    atomic_fetch_add(&handler_expected, calls);
}

static void text_of(int code, char text[MPI_MAX_ERROR_STRING])
{
    int length = 0;

    text[0] = '\0';
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        (void)snprintf(text, MPI_MAX_ERROR_STRING, "(code %d has no text)", code);
    }
}

int mtest_kind_of(int code)
{
    int kind = -1;

    MPIX_Error_kind(code, &kind);
    return kind;
}

/* Exactly one handler call in this thread, with the code that was returned. */
static void expect_one_call(const char *file, int line, const char *call, int rc,
                            struct mtest_errors before)
{
    int calls = seen.in_thread - before.in_thread;

    atomic_fetch_add(&handler_expected, calls);
    if (calls != 1) {
        mtest_fail(file, line, "%s: %d error handler calls, expected 1", call, calls);
    } else if (seen.code != rc) {
        mtest_fail(file, line, "%s: returned %d, handler was given %d", call, rc, seen.code);
    }
}

void mtest_ok(const char *file, int line, const char *call, int rc, struct mtest_errors before)
{
    int calls = seen.in_thread - before.in_thread;
    char text[MPI_MAX_ERROR_STRING];

    atomic_fetch_add(&handler_expected, calls);
    if (rc != MPI_SUCCESS) {
        text_of(rc, text);
        mtest_fail(file, line, "%s: %s", call, text);
    } else if (calls != 0) {
        mtest_fail(file, line, "%s: success, but %d error handler calls", call, calls);
    }
}

void mtest_kind(const char *file, int line, const char *call, int rc, int kind, const char *word,
                struct mtest_errors before)
{
    char text[MPI_MAX_ERROR_STRING];

    if (rc == MPI_SUCCESS) {
        mtest_fail(file, line, "%s: succeeded, expected error kind %d", call, kind);
        return;
    }
    expect_one_call(file, line, call, rc, before);
    text_of(rc, text);
    if (mtest_kind_of(rc) != kind) {
        mtest_fail(file, line, "%s: kind %d (%s), expected %d", call, mtest_kind_of(rc), text,
                   kind);
    }
    if (strlen(text) < 8) {
        mtest_fail(file, line, "%s: text \"%s\" says nothing", call, text);
    }
    if (word != NULL && strstr(text, word) == NULL) {
        mtest_fail(file, line, "%s: \"%s\" does not say \"%s\"", call, text, word);
    }
}

void mtest_class(const char *file, int line, const char *call, int rc, int error_class,
                 struct mtest_errors before)
{
    char text[MPI_MAX_ERROR_STRING];
    int got = MPI_SUCCESS;

    if (rc == MPI_SUCCESS) {
        mtest_fail(file, line, "%s: succeeded, expected error class %d", call, error_class);
        return;
    }
    expect_one_call(file, line, call, rc, before);
    MPI_Error_class(rc, &got);
    if (error_class != MTEST_ANY_CLASS && got != error_class) {
        text_of(rc, text);
        mtest_fail(file, line, "%s: class %d (%s), expected %d", call, got, text, error_class);
    }
}

void mtest_other(const char *file, int line, const char *call, int rc, struct mtest_errors before)
{
    if (rc != MPI_ERR_OTHER) {
        mtest_fail(file, line, "%s: returned %d, expected MPI_ERR_OTHER", call, rc);
    }
    if (seen.in_thread != before.in_thread) {
        mtest_fail(file, line, "%s: called an error handler", call);
    }
}

int mtest_transfer(MPIX_Queue queue, MPI_Request *request)
{
    int rc = MPIX_Enqueue_start(queue, request);

    if (rc == MPI_SUCCESS) {
        rc = MPIX_Enqueue_wait(queue, request);
    }
    return rc == MPI_SUCCESS ? MPIX_Queue_wait(queue) : rc;
}

int mtest_early_rank(void)
{
    const char *mpich = getenv("PMI_RANK"), *openmpi = getenv("OMPI_COMM_WORLD_RANK");

    return atoi(mpich != NULL ? mpich : openmpi != NULL ? openmpi : "0");
}

void mtest_backoff(unsigned *tries)
{
    unsigned shift = *tries < 8 ? *tries : 8;
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 10000L << shift};

    *tries += 1;
    nanosleep(&pause, NULL);
}

void mtest_gate_fn(void *gate)
{
    struct mtest_gate *g = gate;
    unsigned tries = 0;

    atomic_store(&g->reached, 1);
    while (!atomic_load(&g->open)) {
        mtest_backoff(&tries);
    }
}

void mtest_gate_wait_reached(struct mtest_gate *gate)
{
    unsigned tries = 0;

    while (!atomic_load(&gate->reached)) {
        mtest_backoff(&tries);
    }
}

void mtest_gate_open(struct mtest_gate *gate)
{
    atomic_store(&gate->open, 1);
}

unsigned mtest_random(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(*state >> 33);
}
