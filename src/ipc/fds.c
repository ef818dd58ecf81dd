/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Files of peers, which stand for pools and chunks of their memory. Any thread, under any lock: no
 * library of a GPU is called, and nothing blocks.
 *
 * The receiver of a pair acts for both ends. It takes the sender's file by pidfd_getfd, and gives
 * the sender its own once it has opened what it needs itself: by a socket of the sender, which it
 * takes in the same way, so that the file is there when the sender looks, whatever the system would
 * let the sender do. Which file it is says the identity of the
 * process with a number that is used once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

#include "process.h"
#include "util/alloc.h"

/* Numbers of system calls, the same for all kinds of machines, which headers may be too old for. */
enum { PIDFD_OPEN = 434, PIDFD_GETFD = 438 };
enum { READ, WRITE, ROOM = 1 << 20, FILES = 4 /* of a message: one, if it is of ours */ };

struct ipc_fd {
    struct mpixq_process process;
    uint32_t id;
    int file;
    int users;     /* ends that have matched */
    int unclaimed; /* that will, if the answer comes */
    struct ipc_fd *next;
};

/* What comes with a file. No padding. */
struct note {
    struct mpixq_process process;
    uint64_t id;
};

int mpixq_ipc_mailbox(void)
{
    static const int room = ROOM;
    int ends[2], box;

    mpixq_lock_acquire(&mpixq_ipc.fds.lock);
    if (mpixq_ipc.fds.mailbox[WRITE] < 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0) {
        mpixq_ipc.fds.mailbox[READ] = ends[0];
        mpixq_ipc.fds.mailbox[WRITE] = ends[1];
        /* As much as the system gives. */
        (void)setsockopt(mpixq_ipc.fds.mailbox[WRITE], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    }
    box = mpixq_ipc.fds.mailbox[WRITE];
    mpixq_lock_release(&mpixq_ipc.fds.lock);
    return box;
}

static struct ipc_fd *find(const struct mpixq_process *process, uint32_t id)
{
    struct ipc_fd *fd;

    LL_FOREACH(mpixq_ipc.fds.first, fd)
    {
        if (fd->id == id && memcmp(&fd->process, process, sizeof *process) == 0) {
            break;
        }
    }
    return fd;
}

/* Takes the file over; NULL: no memory. */
static struct ipc_fd *add(const struct mpixq_process *process, uint32_t id, int file)
{
    struct ipc_fd *fd = mpixq_alloc(sizeof *fd); /* freed in drop */

    if (fd == NULL) {
        (void)close(file);
        return NULL;
    }
    *fd = (struct ipc_fd){.process = *process, .id = id, .file = file};
    LL_PREPEND(mpixq_ipc.fds.first, fd);
    return fd;
}

static const char *why_not(int error)
{
    switch (error) {
    case EPERM:
        return "the system does not let this process have files of the peer (pidfd_getfd)";
    case ENOSYS:
        return "the system cannot give this process files of the peer (pidfd_getfd)";
    case EMFILE:
    case ENFILE:
        return "too many files are open";
    default:
        return "a file of the peer is not to be had (pidfd_getfd)";
    }
}

/* A copy of another process's file, or -1, and why. */
static int copy_file(const struct mpixq_process *process, int file, const char **why_p)
{
    int of_process = (int)syscall(PIDFD_OPEN, (pid_t)process->pid, 0U), copy = -1;

    if (of_process >= 0) {
        copy = (int)syscall(PIDFD_GETFD, of_process, file, 0U);
    }
    if (copy < 0) {
        *why_p = why_not(errno);
    }
    if (of_process >= 0) {
        (void)close(of_process);
    }
    return copy;
}

/* Theirs, for one more end. */
static struct ipc_fd *pull(const struct ipc_blob *theirs, const char **why_p)
{
    struct ipc_fd *fd;

    mpixq_lock_acquire(&mpixq_ipc.fds.lock);
    fd = find(&theirs->process, theirs->buffer.id);
    if (fd == NULL) {
        int file = copy_file(&theirs->process, theirs->buffer.file, why_p);

        if (file >= 0) {
            fd = add(&theirs->process, theirs->buffer.id, file);
            *why_p = fd == NULL ? "no memory" : NULL;
        }
    }
    if (fd != NULL) {
        fd->users++;
    }
    mpixq_lock_release(&mpixq_ipc.fds.lock);
    return fd;
}

static bool send_file(int box, const struct note *note, int file)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {(void *)note, sizeof *note};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};

    memset(&control, 0, sizeof control);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(&control.head), &file, sizeof file);
    return sendmsg(box, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof *note;
}

/* Ours, for the other end; NULL, or why not. */
static const char *push(const struct ipc_blob *theirs, const struct mpixq_gpu_export *mine)
{
    const struct note note = {.process = mpixq_process_self(), .id = mine->id};
    const char *why = NULL;
    int box = copy_file(&theirs->process, theirs->mailbox, &why);

    if (box >= 0) {
        if (!send_file(box, &note, mine->file)) {
            why = "too many files are on their way to the peer";
        }
        (void)close(box);
    }
    return why;
}

/* May others open the files of this process by their numbers? */
static bool is_open_to_others(void)
{
    return prctl(PR_GET_DUMPABLE) == 1;
}

const char *mpixq_ipc_fd_take(const struct ipc_blob *theirs, struct ipc_fd **fd_p)
{
    const char *why = NULL;
    char path[64];

    *fd_p = NULL;
    (void)snprintf(path, sizeof path, "/proc/%llu/fd/%d", (unsigned long long)theirs->process.pid,
                   theirs->file);
    if (!is_open_to_others() || access(path, R_OK | W_OK) != 0) {
        return "one of the two processes cannot open files of the other (is it dumpable?)";
    }
    if (theirs->buffer.kind != MPIXQ_SHARED_HANDLE) {
        *fd_p = pull(theirs, &why);
    }
    return why;
}

const char *mpixq_ipc_fd_give(const struct ipc_blob *theirs, const struct mpixq_gpu_export *mine)
{
    return mine->kind != MPIXQ_SHARED_HANDLE ? push(theirs, mine) : NULL;
}

/* What is in a message, which need not be of ours. */
static void accept_files(struct msghdr *message, const struct note *note, bool is_note)
{
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int files[FILES];
    size_t n = 0;

    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        n = (head->cmsg_len - CMSG_LEN(0)) / sizeof files[0];
        memcpy(files, CMSG_DATA(head), n * sizeof files[0]);
    }
    if (is_note && n == 1) {
        struct ipc_fd *fd = find(&note->process, (uint32_t)note->id);

        if (fd != NULL) {
            (void)close(files[0]); /* it is there */
        } else {
            fd = add(&note->process, (uint32_t)note->id, files[0]);
        }
        if (fd != NULL) {
            fd->unclaimed++;
        }
        return;
    }
    while (n > 0) {
        (void)close(files[--n]);
    }
}

static void empty_mailbox(void)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(FILES * sizeof(int))];
    } control;
    struct note note;
    ssize_t n;

    do {
        struct iovec part = {&note, sizeof note};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};

        n = recvmsg(mpixq_ipc.fds.mailbox[READ], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n >= 0) {
            accept_files(&message, &note, n == sizeof note);
        }
    } while (n >= 0);
}

struct ipc_fd *mpixq_ipc_fd_receive(const struct ipc_blob *theirs)
{
    struct ipc_fd *fd;

    mpixq_lock_acquire(&mpixq_ipc.fds.lock);
    empty_mailbox();
    fd = find(&theirs->process, theirs->buffer.id);
    if (fd != NULL && fd->unclaimed > 0) {
        fd->unclaimed--;
        fd->users++;
    } else {
        fd = NULL;
    }
    mpixq_lock_release(&mpixq_ipc.fds.lock);
    return fd;
}

int mpixq_ipc_fd_number(const struct ipc_fd *fd)
{
    return fd != NULL ? fd->file : -1;
}

static void drop(struct ipc_fd *fd)
{
    (void)close(fd->file);
    mpixq_free(fd);
}

void mpixq_ipc_fd_leave(struct ipc_fd **fd_p)
{
    struct ipc_fd *fd = *fd_p;
    bool is_last = false;

    *fd_p = NULL;
    if (fd == NULL) {
        return;
    }
    mpixq_lock_acquire(&mpixq_ipc.fds.lock);
    fd->users--;
    if (fd->users == 0 && fd->unclaimed == 0) {
        LL_DELETE(mpixq_ipc.fds.first, fd);
        is_last = true;
    }
    mpixq_lock_release(&mpixq_ipc.fds.lock);
    if (is_last) {
        drop(fd);
    }
}

/* Those of answers that came too late are there still. */
void mpixq_ipc_fds_close(void)
{
    struct ipc_fd *fd;

    while ((fd = mpixq_ipc.fds.first) != NULL) {
        LL_DELETE(mpixq_ipc.fds.first, fd);
        drop(fd);
    }
    for (int i = READ; i <= WRITE; i++) {
        if (mpixq_ipc.fds.mailbox[i] >= 0) {
            (void)close(mpixq_ipc.fds.mailbox[i]);
            mpixq_ipc.fds.mailbox[i] = -1;
        }
    }
}
