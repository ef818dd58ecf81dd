/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Where the threads of the library run, read back from the system:
 *
 *     affinity SCENARIO [CPU]    CPU: begin anew bound to that one of the process's CPUs, as by a
 *                                launcher
 */
#include "mtest.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TAG = 1, ROUNDS = 200 };

static cpu_set_t start; /* what the process was started with */
static MPIX_Queue queue = MPIX_QUEUE_NULL;
static const char *scenario;

/* ---- What the library does ------------------------------------------------------------------ */

static atomic_long yields;

static int is_library(const void *address)
{
    Dl_info from;

    return dladdr(address, &from) != 0 && strstr(from.dli_fname, "libmpix_queue") != NULL;
}

/* The library's waits come here. */
int sched_yield(void)
{
    atomic_fetch_add(&yields, is_library(__builtin_return_address(0)));
    return (int)syscall(SYS_sched_yield);
}

static atomic_long looks; /* at other processes, one by one, or at the list of all */

/* Does the path name another process, or the folder of all? */
static int is_of_others(const char *path)
{
    static const char folder[] = "/proc/";
    size_t n = strlen(folder);

    if (strcmp(path, "/proc") == 0) {
        return 1;
    }
    /* One file lists the children of the launcher. */
    return strncmp(path, folder, n) == 0 && path[n] >= '0' && path[n] <= '9' &&
           atoi(path + n) != (int)getpid() && strstr(path, "/children") == NULL;
}

/* What the library opens comes here. */
FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*next)(const char *, const char *);

    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "fopen");

        memcpy(&next, &symbol, sizeof(next));
    }
    atomic_fetch_add(&looks, is_library(__builtin_return_address(0)) && is_of_others(path));
    return next(path, mode);
}

DIR *opendir(const char *path)
{
    static DIR *(*next)(const char *);

    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "opendir");

        memcpy(&next, &symbol, sizeof(next));
    }
    atomic_fetch_add(&looks, is_library(__builtin_return_address(0)) && is_of_others(path));
    return next(path);
}

static atomic_int moments; /* looks at the main thread to come that find it bound */
static atomic_int narrowed;
static int bound_to;

/* The library looks at its process, at a moment in which something has bound the main thread. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
    long rc = syscall(SYS_sched_getaffinity, pid, size, mask);

    if (rc >= 0 && (size_t)rc < size) {
        memset((char *)mask + rc, 0, size - (size_t)rc);
    }
    if (pid == getpid() && is_library(__builtin_return_address(0)) && atomic_load(&moments) > 0 &&
        atomic_fetch_sub(&moments, 1) > 0) {
        memset(mask, 0, size);
        CPU_SET(bound_to, mask);
    }
    return rc < 0 ? -1 : 0;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)
{
    int mine = is_library(__builtin_return_address(0));

    atomic_fetch_add(&narrowed, mine && CPU_COUNT_S(size, mask) < CPU_COUNT(&start));
    return (int)syscall(SYS_sched_setaffinity, pid, size, mask);
}

struct thread {
    char name[32];
    cpu_set_t cpus;
};

/* The library's threads; returns how many. */
static int find_threads(struct thread threads[], int room)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int n = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL && n < room) {
        struct thread *thread = &threads[n];
        char path[300];
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "r");
        if (file == NULL) {
            continue;
        }
        if (fgets(thread->name, sizeof(thread->name), file) != NULL &&
            strncmp(thread->name, "mpixq-", 6) == 0) {
            thread->name[strcspn(thread->name, "\n")] = '\0';
            MTEST_EQ(sched_getaffinity(atoi(entry->d_name), sizeof(cpu_set_t), &thread->cpus), 0);
            n++;
        }
        fclose(file);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return n;
}

static int is_there(const char *name)
{
    struct thread threads[16];
    int n = find_threads(threads, 16);
    int found = 0;

    for (int i = 0; i < n; i++) {
        found += strcmp(threads[i].name, name) == 0;
    }
    return found;
}

static int holds(const cpu_set_t *threads)
{
    struct thread found[16];
    int n = find_threads(found, 16);
    int good = n > 0;

    for (int i = 0; i < n; i++) {
        good = good && CPU_EQUAL(&found[i].cpus, threads);
    }
    return good;
}

/* All threads of the library soon have this mask: each takes its place when it begins to run. */
static void expect(int line, const char *when, const cpu_set_t *mask)
{
    unsigned tries = 0;
    struct thread threads[16];
    int n;

    for (int i = 0; i < 2000 && !holds(mask); i++) {
        mtest_backoff(&tries);
    }
    n = find_threads(threads, 16);
    if (n == 0) {
        mtest_fail(__FILE__, line, "%s: the library has no thread", when);
    }
    for (int i = 0; i < n; i++) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &threads[i].cpus) != !CPU_ISSET(cpu, mask)) {
                mtest_fail(__FILE__, line, "%s: %s may %srun on CPU %d", when, threads[i].name,
                           CPU_ISSET(cpu, &threads[i].cpus) ? "" : "not ", cpu);
            }
        }
    }
}
#define EXPECT(when, mask) expect(__LINE__, when, mask)

/* ---- Masks ---------------------------------------------------------------------------------- */

/* The n-th CPU of those that the process was started with, counted round. */
static int nth(int n)
{
    n %= CPU_COUNT(&start);
    for (int cpu = 0;; cpu++) {
        if (CPU_ISSET(cpu, &start) && n-- == 0) {
            return cpu;
        }
    }
}

static cpu_set_t only(int cpu)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    return mask;
}

static void bind_main(int cpu)
{
    cpu_set_t mask = only(cpu);

    MTEST_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
}

/* Of the first two CPUs, all that the process gets: with more, the threads would avoid others of a
 * core too, and the promise would depend on the machine. */
static cpu_set_t other_than(int cpu)
{
    cpu_set_t mask = start;

    CPU_CLR(cpu, &mask);
    return mask;
}

/* ---- Scenarios ------------------------------------------------------------------------------ */

static void exchange(void)
{
    int peer = mtest_size - 1 - mtest_rank;

    for (int i = 0; i < ROUNDS; i++) {
        MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    }
}

/* Its thread is made when there is something to drive, and not before. */
static void use_progress_thread(void)
{
    int peer = mtest_size - 1 - mtest_rank;
    int data[2] = {-1, 5};
    MPI_Request r[2];
    MPI_Request match = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Imatchall(2, r, &match));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(data[0], 5);
    MTEST_EQ(is_there("mpixq-progress"), 1);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

static void make_threads(void)
{
    MTEST_EQ(is_there("mpixq-stream"), 0);
    MTEST_EQ(is_there("mpixq-progress"), 0);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_EQ(is_there("mpixq-progress"), 0);
    use_progress_thread();
}

/* Nobody is bound: as the program. */
static void test_free(void)
{
    make_threads();
    EXPECT("nobody is bound", &start);
    exchange();
}

/* Neighbours are found without a look at each process of the machine. */
static void test_looks(void)
{
    long before = atomic_load(&looks);

    make_threads();
    exchange();
    MTEST_EQ(atomic_load(&looks) - before, 0);
}

/* Something binds the main thread for a moment, as libraries do that look at the machine. */
static void test_moment(void)
{
    bound_to = nth(0);
    atomic_store(&moments, 1);
    make_threads();
    EXPECT("bound for a moment", &start);
    MTEST_EQ(atomic_load(&moments), 0);
    MTEST_EQ(atomic_load(&narrowed), 0);
    exchange();
}

static void use_until(const cpu_set_t *mask)
{
    unsigned tries = 0;
    int mine, all = 0;

    for (int i = 0; i < 3000 && !all; i++) {
        MTEST_OK(MPIX_Queue_wait(queue));
        use_progress_thread();
        mtest_backoff(&tries);
        mine = holds(mask);
        MTEST_OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    }
}

/* The last rank is bound, and then no more. */
static void test_neighbour(void)
{
    cpu_set_t others = other_than(nth(0));

    if (mtest_rank == mtest_size - 1) {
        bind_main(nth(0));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    make_threads();
    EXPECT("a rank is bound", &others);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == mtest_size - 1) {
        MTEST_EQ(sched_setaffinity(0, sizeof(start), &start), 0);
    }
    use_until(&start);
    EXPECT("no rank is bound any more", &start);
}

/* The program binds its main thread, before or after MPI_Init; the same CPU on all ranks. */
static void test_bound_main(void)
{
    cpu_set_t mask = other_than(nth(0));

    make_threads();
    EXPECT("the main thread is bound", &mask);
    exchange();
}

/* Each rank its own: all are taken, the threads share them and yield. */
static void test_all_taken(void)
{
    bind_main(nth(mtest_rank));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    make_threads();
    EXPECT("all CPUs are taken", &start);
    exchange();
}

/* The main thread is bound when the threads run already. */
static void test_bound_later(void)
{
    cpu_set_t mask = other_than(nth(1));

    make_threads();
    EXPECT("at first", &start);
    bind_main(nth(1));
    use_until(&mask);
    EXPECT("bound later", &mask);
}

static void test_inherit(void)
{
    cpu_set_t mask = only(nth(1));

    bind_main(nth(1));
    make_threads();
    EXPECT("MPIXQ_AFFINITY is none", &mask);
}

/* By the launcher: not beyond it. */
static void test_launcher(void)
{
    make_threads();
    EXPECT("bound by the launcher", &start);
    exchange();
}

/* Beyond it, if the variable says so. start is what the launcher gave. */
static void test_cpuset(void)
{
    struct thread threads[16];
    int n;

    make_threads();
    exchange();
    n = find_threads(threads, 16);
    MTEST_CHECK(n > 0);
    for (int i = 0; i < n; i++) {
        MTEST_EQ(CPU_ISSET(nth(0), &threads[i].cpus), 0);
        MTEST_CHECK(CPU_COUNT(&threads[i].cpus) > 0);
    }
}

/* The stream waits for a message that is sent a moment later. */
static void wait_for_late_message(void)
{
    int peer = mtest_size - 1 - mtest_rank;
    int data[2] = {-1, 6};
    MPI_Request r[2];
    MPIX_Queue late = MPIX_QUEUE_NULL;

    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    (void)usleep(20000);
    MTEST_OK(MPIX_Queue_init(&late, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_start(late, &r[1]));
    MTEST_OK(MPIX_Enqueue_wait(late, &r[1]));
    MTEST_OK(MPIX_Queue_wait(late));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&late));
    MTEST_EQ(data[0], 6);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* More ranks than CPUs: waits yield, and all goes on. A wait may have used up its time for polls
 * before it polls twice, if others have the CPU for so long; not all of many. */
static void test_crowd(void)
{
    int mine, all = 0;

    make_threads();
    EXPECT("a crowd", &start);
    exchange();
    for (int i = 0; i < 50 && !all; i++) {
        wait_for_late_message();
        mine = atomic_load(&yields) > 0;
        MTEST_OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    }
    MTEST_CHECK(mtest_size <= CPU_COUNT(&start) || atomic_load(&yields) > 0);
}

/* MPIXQ_AFFINITY is a list with the second CPU of the machine. */
static void test_list(void)
{
    cpu_set_t mask = only(1);

    make_threads();
    if (!CPU_ISSET(1, &start)) {
        mtest_skip("skip: the process may not run on CPU 1");
        return;
    }
    EXPECT("a list", &mask);
    exchange();
}

/* Whatever comes out: for tests of what is said. */
static void test_any(void)
{
    make_threads();
    exchange();
}

/* A list with a CPU that no machine has: a warning, and all goes on. */
static void test_bad_list(void)
{
    make_threads();
    EXPECT("a list that cannot be", &start);
    exchange();
}

static const struct {
    const char *name;
    void (*run)(void);
    int cpus;       /* needed; the process is restricted to so many */
    int bind_early; /* the main thread, before MPI_Init */
} scenarios[] = {
    {"free", test_free, 1, 0},
    {"looks", test_looks, 1, 0},
    {"bound-before", test_bound_main, 2, 1},
    {"bound-after", test_bound_main, 2, 0},
    {"bound-later", test_bound_later, 2, 0},
    {"moment", test_moment, 2, 0},
    {"neighbour", test_neighbour, 2, 0},
    {"all-taken", test_all_taken, 2, 0},
    {"inherit", test_inherit, 2, 0},
    {"launcher", test_launcher, 1, 0},
    {"cpuset", test_cpuset, 2, 0},
    {"crowd", test_crowd, 1, 0},
    {"list", test_list, 2, 0},
    {"any", test_any, 1, 0},
    {"bad-list", test_bad_list, 1, 0},
};

/* Run this program again, as if a launcher had bound it. */
static void begin_anew(char **argv, const cpu_set_t *mask)
{
    if (getenv("MPIXQ_TEST_BOUND") == NULL) {
        if (sched_setaffinity(0, sizeof(*mask), mask) != 0 ||
            setenv("MPIXQ_TEST_BOUND", "1", 1) != 0 || execv("/proc/self/exe", argv) != 0) {
            perror("affinity");
            exit(MTEST_HARD);
        }
    }
}

int main(int argc, char **argv)
{
    size_t n = sizeof(scenarios) / sizeof(scenarios[0]);
    size_t which = 0;
    cpu_set_t mask;
    int enough;

    scenario = argc > 1 ? argv[1] : "";
    while (which < n && strcmp(scenarios[which].name, scenario) != 0) {
        which++;
    }
    if (which == n || sched_getaffinity(0, sizeof(start), &start) != 0) {
        return MTEST_HARD;
    }
    enough = CPU_COUNT(&start) >= scenarios[which].cpus;
    if (argc > 2) {
        mask = only(nth(atoi(argv[2])));
        enough = enough || getenv("MPIXQ_TEST_BOUND") != NULL;
        if (enough) {
            begin_anew(argv, &mask);
        }
    } else if (enough && scenarios[which].cpus == 2) {
        mask = only(nth(0));
        CPU_SET(nth(1), &mask);
        begin_anew(argv, &mask);
    }
    if (enough && scenarios[which].bind_early) {
        bind_main(nth(0));
    }
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!enough) {
        mtest_skip("skip: the process has one CPU only");
        return mtest_end();
    }
    if (strcmp(scenario, "bound-after") == 0) {
        bind_main(nth(0));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    scenarios[which].run();
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
