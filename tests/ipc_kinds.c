/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: kinds of device memory that other processes open by files. Each with each other;
 * buffers in more than one chunk, and in memory that cannot be opened, which go by another channel;
 * memory that is freed and comes again at the same address, and pools that are ended and come again
 * with the same handle; and that no file is left open, nor given to programs that are executed.
 * With an argument, what if a file cannot be had:
 *
 *     refused R     the system refuses the files of others to rank R, or (R is 2) to both
 *     hidden R      rank R lets nobody have its files
 *     failing R     at rank R the GPU's library fails to export (a double of HIP's runtime)
 *
 * For two ranks, with MTEST_STREAM and MTEST_BUFFER=device.
 */
#include "mtest.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mtest_gpu.h"

enum { TAG = 60, BOTH = 2, PIDFD_GETFD = 438, KINDS = 3, AGAIN = 40, TIMES = 5, MOST_TIMES = 50 };

static const char *const kinds[KINDS] = {"device", "pool", "chunk"};

static MPIX_Queue queue;
static void *stream;
static int peer;

/* Memory that a test has made, of which some bytes are a buffer. */
struct part {
    unsigned char *memory, *at;
    size_t room;
    int bytes;
};

static void *make(const char *kind, size_t bytes)
{
    (void)setenv("MTEST_BUFFER", kind, 1);
    return mtest_gpu_alloc(MTEST_DEVICE, bytes);
}

static void copy(void *to, const void *from, size_t bytes)
{
    mtest_gpu_copy(stream, to, from, bytes);
    mtest_gpu_synchronize(stream);
}

/* Guards everywhere, and data in the buffer of a sender. */
static void fill(const struct part *p, bool sends, int seed)
{
    unsigned char *host = mtest_gpu_alloc(MTEST_PINNED, p->room);

    memset(host, 0xA7, p->room);
    for (int i = 0; sends && i < p->bytes; i++) {
        host[(p->at - p->memory) + i] = mtest_pattern(seed, (size_t)i);
    }
    copy(p->memory, host, p->room);
    mtest_gpu_free(MTEST_PINNED, host);
}

static void check(const struct part *p, int seed)
{
    unsigned char *host = mtest_gpu_alloc(MTEST_PINNED, p->room);
    size_t first = (size_t)(p->at - p->memory), wrong = 0;

    copy(host, p->memory, p->room);
    for (size_t i = 0; i < p->room; i++) {
        bool is_data = i >= first && i < first + (size_t)p->bytes;

        wrong += host[i] != (is_data ? mtest_pattern(seed, i - first) : 0xA7);
    }
    MTEST_EQ(wrong, 0);
    mtest_gpu_free(MTEST_PINNED, host);
}

static MPI_Request request(const struct part *p, int sender, int tag)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(mtest_rank == sender
                 ? MPI_Send_init(p->at, p->bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &r)
                 : MPI_Recv_init(p->at, p->bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &r));
    return r;
}

/* Rank 0 sends, or rank 1. Returns the starts that went by the channel. */
static long transfer(const struct part *p, int sender, int rounds)
{
    long before = mtest_queue_count(queue, "mpixq_starts_ipc");
    bool sends = mtest_rank == sender;
    MPI_Request r = request(p, sender, TAG);

    MTEST_OK(MPIX_Match(&r));
    for (int seed = 1; seed <= rounds; seed++) {
        fill(p, sends, seed);
        MTEST_OK(MPIX_Enqueue_start(queue, &r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        MTEST_OK(MPIX_Queue_wait(queue));
        check(p, seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* only then it may be freed */
    return mtest_queue_count(queue, "mpixq_starts_ipc") - before;
}

/* A buffer somewhere in memory of a kind. */
static long transfer_in(const char *kind, int bytes, size_t offset, int sender)
{
    struct part p = {.room = (size_t)bytes + 2 * offset, .bytes = bytes};
    long starts;

    p.memory = make(kind, p.room);
    p.at = p.memory + offset;
    starts = transfer(&p, sender, 2);
    mtest_gpu_free(MTEST_DEVICE, p.memory);
    return starts;
}

static void test_each(void)
{
    for (int sender = 0; sender < 2; sender++) {
        for (int i = 0; i < KINDS * KINDS; i++) {
            const char *kind = kinds[mtest_rank == sender ? i / KINDS : i % KINDS];

            MTEST_EQ(transfer_in(kind, 100, 33, sender), 2);
            MTEST_EQ(transfer_in(kind, 200001, 257, sender), 2);
        }
    }
}

/* At the first end of rank 0, what lies across the border of two chunks. */
static void test_border(void)
{
    size_t each;
    struct part p = {.memory = mtest_gpu_chunks_alloc(3, &each), .bytes = 5001};

    p.room = 3 * each;
    for (int sender = 0; sender < 2; sender++) {
        p.at = p.memory + 2 * each - (mtest_rank == 0 ? 13 : 5001);
        MTEST_EQ(transfer(&p, sender, 2), 0); /* rank 0 cannot share it */
        p.at = p.memory + (mtest_rank == 0 ? each : 2 * each - 5001);
        MTEST_EQ(transfer(&p, sender, 2), 2);
        p.at = p.memory + 2 * each + 7;
        MTEST_EQ(transfer(&p, sender, 2), 2);
    }
    mtest_gpu_free(MTEST_DEVICE, p.memory);
}

static void test_private(void)
{
    for (int kind = 1; kind < KINDS; kind++) {
        struct part p = {.room = 1000, .bytes = 900};

        p.memory = mtest_rank == 0 ? mtest_gpu_private_alloc(kinds[kind], p.room)
                                   : make(kinds[kind], p.room);
        p.at = p.memory + 11;
        MTEST_EQ(transfer(&p, 0, 2), 0);
        MTEST_EQ(transfer(&p, 1, 2), 0);
        mtest_gpu_free(MTEST_DEVICE, p.memory);
    }
}

/* Another piece or chunk each time. */
static void test_again(void)
{
    for (int i = 0; i < AGAIN; i++) {
        MTEST_EQ(transfer_in(kinds[1 + i / 2 % 2], i % 3 == 0 ? 100 : 70000, 1 + (size_t)i, i % 2),
                 2);
    }
}

/* A receive of rank 1 that its queue waits for, until its peer has started as well. */
static void start_and_wait(MPI_Request *r)
{
    MTEST_OK(MPIX_Enqueue_start(queue, r));
    MTEST_OK(MPIX_Enqueue_wait(queue, r));
}

/* Rank 1 frees a receive, ends the pool of its buffer and makes a new one, to which the GPU's
 * library may give the handle of the old one. Nothing of the old one is closed by then if a wait is
 * in a stream, and its words are still used if the peer keeps its send. */
static void test_new_pool(bool is_waiting, bool peer_keeps)
{
    struct part p = {.room = 80000, .bytes = 70000}, other = {.room = 20000, .bytes = 20000};
    MPI_Request r[2];

    p.memory = make(mtest_rank == 1 ? "pool" : "device", p.room);
    p.at = p.memory + 5;
    other.memory = other.at = make("device", other.room);
    r[0] = request(&p, 0, TAG + 1);
    r[1] = request(&other, 0, TAG + 2);
    MTEST_OK(MPIX_Matchall(2, r));
    if (mtest_rank == 1 && is_waiting) {
        start_and_wait(&r[1]);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1 || !peer_keeps) {
        MTEST_OK(MPI_Request_free(&r[0]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        mtest_gpu_free(MTEST_DEVICE, p.memory);
        mtest_gpu_pool_end();
        p.memory = make("pool", p.room);
        p.at = p.memory + 5;
    }
    if (mtest_rank == 0 && is_waiting) {
        start_and_wait(&r[1]);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_EQ(transfer(&p, 0, 2), 2);
    for (int i = 0; i < 2; i++) {
        if (r[i] != MPI_REQUEST_NULL) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_gpu_free(MTEST_DEVICE, p.memory);
    mtest_gpu_free(MTEST_DEVICE, other.memory);
}

/* Files that are open, and how many of them go to other programs. */
static int count_files(int *open_to_others_p)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int n = 0;

    MTEST_CHECK(folder != NULL);
    *open_to_others_p = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int file = atoi(entry->d_name);

        if (entry->d_name[0] != '.' && file != dirfd(folder)) {
            n++;
            *open_to_others_p += (fcntl(file, F_GETFD) & FD_CLOEXEC) == 0;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return n;
}

/* The end of a sender stays until its peer has freed its own, and what that leaves behind goes with
 * some later match or free. */
static int settle(void)
{
    int files, before = -1, others, is_same, done = 0;

    for (int i = 0; i < MOST_TIMES && done < 3; i++) {
        (void)transfer_in("device", 100, 1, i % 2);
        files = count_files(&others);
        is_same = files == before;
        before = files;
        MTEST_OK(MPI_Allreduce(MPI_IN_PLACE, &is_same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        done = is_same ? done + 1 : 0;
    }
    return before;
}

/* One pair, of which nothing starts. */
static void match_once(const struct part *p)
{
    int before, others_before, others;
    MPI_Request r;

    before = count_files(&others_before);
    r = request(p, 0, TAG);
    MTEST_OK(MPIX_Match(&r));
    MTEST_CHECK(count_files(&others) > before);
    /* A driver may have its own ways. */
    MTEST_CHECK(others == others_before || dlsym(RTLD_DEFAULT, "hip_double_calls") == NULL);
    MTEST_OK(MPI_Request_free(&r));
}

/* MPI too may open a file now and then, but not one for each pair. */
static void test_files(void)
{
    struct part p = {.room = 5000, .bytes = 5000};
    int before;

    for (int kind = 1; kind < KINDS; kind++) {
        (void)transfer_in(kinds[kind], 100, 1, 0); /* so that what stays open is */
        p.memory = make(kinds[kind], p.room);
        p.at = p.memory;
        before = settle();
        for (int i = 0; i < TIMES; i++) {
            match_once(&p);
            (void)settle();
        }
        MTEST_CHECK(settle() < before + TIMES);
        mtest_gpu_free(MTEST_DEVICE, p.memory);
    }
}

/* From now on this system call is not permitted. */
static void refuse(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PIDFD_GETFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

    MTEST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    /* For the threads that there are too. */
    MTEST_CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) ==
                0);
}

/* The next calls fail. */
static void let_fail(void)
{
    int (*fail)(const char *function, long n, int error) = NULL;

    *(void **)&fail = dlsym(RTLD_DEFAULT, "hip_double_fail");
    MTEST_CHECK(fail != NULL);
    if (fail != NULL) {
        MTEST_EQ(fail("hipMemPoolExportToShareableHandle", 1, 1), 0);
        MTEST_EQ(fail("hipMemExportToShareableHandle", 1, 1), 0);
    }
}

/* Whoever may look at any process can have files of a hidden one. Threads that come later are like
 * the calling one. */
static void drop_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &head, data) == 0) {
        data[0].effective &= ~(1U << CAP_SYS_PTRACE);
        data[0].permitted &= ~(1U << CAP_SYS_PTRACE);
        (void)syscall(SYS_capset, &head, data);
    }
}

/* Does the channel serve a pair? Who receives needs the other's files, and gives its own by one of
 * those. Rank: BOTH, or one of them. */
static bool serves(const char *what, int rank, int sender, int of_sender, int of_receiver)
{
    if (strcmp(what, "refused") == 0) {
        return rank == sender || (of_sender == 0 && of_receiver == 0);
    }
    if (strcmp(what, "failing") == 0) {
        return (of_sender == 0 || (rank != sender && rank != BOTH)) &&
               (of_receiver == 0 || rank == sender);
    }
    return false;
}

static void test_obstacle(const char *what, int rank)
{
    bool mine = rank == BOTH || rank == mtest_rank;

    if (strcmp(what, "refused") == 0 && mine) {
        refuse();
    } else if (strcmp(what, "hidden") == 0 && mine) {
        MTEST_CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    }
    for (int i = 0; i < 2 * KINDS * KINDS; i++) {
        int sender = i / (KINDS * KINDS), of_sender = i / KINDS % KINDS, of_receiver = i % KINDS;
        const char *kind = kinds[mtest_rank == sender ? of_sender : of_receiver];

        if (strcmp(what, "failing") == 0 && mine) {
            let_fail();
        }
        MTEST_EQ(transfer_in(kind, 3001, 5, sender),
                 serves(what, rank, sender, of_sender, of_receiver) ? 2 : 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "hidden") == 0) {
        drop_rights();
    }
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (mtest_gpu_memory() != MTEST_DEVICE || mtest_size != 2) {
        mtest_skip("MTEST_BUFFER is not device");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    stream = mtest_gpu_stream();
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    if (argc == 3) {
        test_obstacle(argv[1], atoi(argv[2]));
    } else {
        for (int i = 0; i < 4; i++) { /* before others have used the heap from which handles are */
            test_new_pool(i % 2 == 1, i / 2 == 1);
        }
        test_each();
        test_border();
        test_private();
        test_again();
        test_files();
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
