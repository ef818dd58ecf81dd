/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The locks are those of open files: others of the process are dropped whenever it closes any
 * descriptor of the folder, as whoever lists it does. */
#include "gpu_seat.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
#include <utlist.h>

#include "util/alloc.h"

struct mpixq_gpu_seat {
    struct mpixq_gpu_seats *seats; /* constant, as is their folder while there are some */
    off_t number;                  /* constant */
    int users;
    struct mpixq_gpu_seat *next;
};

/* FNV-1a. */
static uint64_t hash(uint64_t so_far, const char *text)
{
    do {
        so_far = (so_far ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    } while (*text++ != '\0');
    return so_far;
}

static off_t number_of(const char *kind, const char *name)
{
    uint64_t both = hash(hash(UINT64_C(0xcbf29ce484222325), kind), name);

    return (off_t)(both >> 2); /* the byte behind it has a number, too */
}

static struct flock byte_at(off_t number, int type)
{
    return (struct flock){
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = number, .l_len = 1};
}

static bool set(const struct mpixq_gpu_seats *seats, off_t number, int type)
{
    struct flock byte = byte_at(number, type);

    return fcntl(seats->folder, F_OFD_SETLK, &byte) == 0;
}

/* Under the lock. */
static struct mpixq_gpu_seat *seat_new(struct mpixq_gpu_seats *seats, off_t number)
{
    struct mpixq_gpu_seat *seat = mpixq_alloc(sizeof *seat); /* freed with its last user */

    if (seats->first == NULL) {
        seats->folder = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (seat != NULL && seats->folder >= 0 && set(seats, number, F_RDLCK)) {
        seat->seats = seats;
        seat->number = number;
        LL_PREPEND(seats->first, seat);
        return seat;
    }
    if (seats->first == NULL && seats->folder >= 0) {
        (void)close(seats->folder); /* only read */
    }
    mpixq_free(seat);
    return NULL;
}

struct mpixq_gpu_seat *mpixq_gpu_seat_take(struct mpixq_gpu_seats *seats, const char *kind,
                                           const char *name)
{
    off_t number = number_of(kind, name);
    struct mpixq_gpu_seat *seat;

    mpixq_lock_acquire(&seats->lock);
    LL_SEARCH_SCALAR(seats->first, seat, number, number);
    seat = seat != NULL ? seat : seat_new(seats, number);
    if (seat != NULL) {
        seat->users++;
    }
    mpixq_lock_release(&seats->lock);
    return seat;
}

void mpixq_gpu_seat_leave(struct mpixq_gpu_seat *seat)
{
    struct mpixq_gpu_seats *seats;

    if (seat == NULL) {
        return;
    }
    seats = seat->seats;
    mpixq_lock_acquire(&seats->lock);
    if (--seat->users == 0) {
        LL_DELETE(seats->first, seat);
        (void)set(seats, seat->number, F_UNLCK); /* it is ours */
        mpixq_free(seat);
        if (seats->first == NULL) {
            (void)close(seats->folder); /* only read */
        }
    }
    mpixq_lock_release(&seats->lock);
}

bool mpixq_gpu_seat_is_shared(const struct mpixq_gpu_seat *seat)
{
    struct flock byte = byte_at(seat->number, F_WRLCK);

    return fcntl(seat->seats->folder, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}
