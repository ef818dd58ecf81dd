/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * segment.c - the segment that the processes of a node share
 */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fi_errno.h>

#include "switches.h"

#define SEGMENT_VERSION 3U

struct nic_segment *nic_segment;
uint32_t nic_my_slot;

static char segment_name[128];
static int segment_fd = -1;

/* Field 22 of the process's stat file; what precedes it may hold blanks, but ends in ')'. 0 if
 * there is no such process, or one that has ended and is only not yet waited for. */
static uint64_t start_time_of(pid_t pid)
{
    char path[64], text[1024];
    const char *place;
    unsigned long long value = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    place = fgets(text, sizeof(text), file) == NULL ? NULL : strrchr(text, ')');
    fclose(file);
    if (place != NULL && strlen(place) > 2 && (place[2] == 'Z' || place[2] == 'X')) {
        return 0;
    }
    for (int field = 2; place != NULL && field < 22; field++) {
        place = strchr(place + 1, ' ');
    }
    if (place == NULL || sscanf(place, "%llu", &value) != 1) {
        return 0;
    }
    return value;
}

static bool is_running(const struct nic_slot *slot)
{
    return slot->pid != 0 && (kill(slot->pid, 0) == 0 || errno == EPERM) &&
           start_time_of(slot->pid) == slot->start_time;
}

static int pool_limit(unsigned place, enum nic_pool pool)
{
    enum { LEFT = 16 };
    const int limits[] = {nic_switches.tles, nic_switches.cntrs, nic_switches.ptltes,
                          nic_switches.les};
    bool is_crowded = pool == NIC_CNTRS && (int)(place / NIC_GROUPS) == nic_switches.crowded;

    return is_crowded && limits[pool] > LEFT ? LEFT : limits[pool];
}

int nic_place_find(unsigned nic_number, uint32_t service, unsigned *place_p)
{
    for (unsigned i = 0; i < NIC_GROUPS; i++) {
        unsigned place = nic_number * NIC_GROUPS + i;
        uint32_t found = 0;

        if (atomic_compare_exchange_strong(&nic_segment->groups[place], &found, service) ||
            found == service) {
            *place_p = place;
            return 0;
        }
    }
    return -FI_ENOSPC;
}

/* What is not of a service is kept with the first. */
static unsigned pool_place(unsigned place, enum nic_pool pool)
{
    bool is_shared = pool != NIC_TLES || nic_is_wrong("work-service");

    return is_shared ? place - place % NIC_GROUPS : place;
}

bool nic_pool_take(unsigned place, enum nic_pool pool, int count)
{
    unsigned at = pool_place(place, pool);
    _Atomic int *total = &nic_segment->pools[at][pool];

    if (atomic_fetch_add(total, count) + count > pool_limit(at, pool)) {
        atomic_fetch_sub(total, count);
        return false;
    }
    atomic_fetch_add(&nic_segment->slots[nic_my_slot].pools[at][pool], count);
    return true;
}

void nic_pool_give(unsigned place, enum nic_pool pool, int count)
{
    unsigned at = pool_place(place, pool);

    atomic_fetch_sub(&nic_segment->slots[nic_my_slot].pools[at][pool], count);
    atomic_fetch_sub(&nic_segment->pools[at][pool], count);
}

int nic_service_add(uint32_t number, uint32_t ep)
{
    for (int i = 0; i < NIC_SLOTS; i++) {
        struct nic_service *service = &nic_segment->services[i];
        uint32_t none = 0;

        if (atomic_compare_exchange_strong(&service->number, &none, number)) {
            service->slot = nic_my_slot;
            service->ep = ep;
            service->generation = atomic_load(&nic_segment->slots[nic_my_slot].generation);
            return 0;
        }
    }
    return -FI_ENOSPC;
}

const struct nic_service *nic_service_find(uint32_t number)
{
    for (int i = 0; i < NIC_SLOTS; i++) {
        if (atomic_load(&nic_segment->services[i].number) == number) {
            return &nic_segment->services[i];
        }
    }
    return NULL;
}

static void services_clear(uint32_t slot, uint32_t ep)
{
    for (int i = 0; i < NIC_SLOTS; i++) {
        struct nic_service *service = &nic_segment->services[i];

        if (service->slot == slot && (ep == UINT32_MAX || service->ep == ep)) {
            atomic_store(&service->number, 0);
        }
    }
}

void nic_service_remove(uint32_t ep)
{
    services_clear(nic_my_slot, ep);
}

static void slot_clear(struct nic_slot *slot)
{
    services_clear((uint32_t)(slot - nic_segment->slots), UINT32_MAX);
    for (int i = 0; i < NIC_PLACES; i++) {
        for (int pool = 0; pool < NIC_POOLS; pool++) {
            atomic_fetch_sub(&nic_segment->pools[i][pool],
                             atomic_exchange(&slot->pools[i][pool], 0));
        }
    }
    atomic_store(&slot->generation, 0);
    slot->pid = 0;
}

/* Also frees the slots of dead processes. Under the lock of the file. */
static int slot_claim(uint32_t *slot_p)
{
    int found = -1;

    for (int i = 0; i < NIC_SLOTS; i++) {
        struct nic_slot *slot = &nic_segment->slots[i];

        if (slot->pid != 0 && !is_running(slot)) {
            slot_clear(slot);
        }
        if (slot->pid == 0 && found < 0) {
            found = i;
        }
    }
    if (found < 0) {
        return -FI_ENOSPC;
    }
    *slot_p = (uint32_t)found;
    return 0;
}

static void slot_start(struct nic_slot *slot)
{
    slot->pid = getpid();
    slot->start_time = start_time_of(slot->pid);
    slot->inbox.head = slot->inbox.tail;
    atomic_store(&slot->generation, 1 + atomic_fetch_add(&nic_segment->generations, 1));
}

/* The locks live as long as the file: a late message may come to a slot that is claimed again. */
static void segment_start(void)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < NIC_SLOTS; i++) {
        pthread_mutex_init(&nic_segment->slots[i].inbox.lock, &attr);
    }
    pthread_mutexattr_destroy(&attr);
    nic_segment->version = SEGMENT_VERSION;
}

/* Opens and locks the file; opens again if the last process removed it meanwhile. */
static int file_open(void)
{
    const char *name = getenv("CXI_DOUBLE_NAME");
    struct stat status;
    int fd;

    snprintf(segment_name, sizeof(segment_name), "/cxi_double_%u_%s", (unsigned)getuid(),
             name == NULL ? "default" : name);
    for (;;) {
        fd = shm_open(segment_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &status) != 0) {
            break;
        }
        if (status.st_nlink > 0) {
            if (status.st_size >= (off_t)sizeof(struct nic_segment) ||
                ftruncate(fd, (off_t)sizeof(struct nic_segment)) == 0) {
                return fd;
            }
            break;
        }
        close(fd);
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

int nic_segment_attach(void)
{
    void *memory = MAP_FAILED;
    int rc = -FI_ENOMEM;
    int fd = file_open();

    if (fd < 0) {
        return -FI_EACCES;
    }
    memory = mmap(NULL, sizeof(struct nic_segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        goto err_close;
    }
    nic_segment = memory;
    if (nic_segment->version == 0) {
        segment_start();
    }
    rc = nic_segment->version == SEGMENT_VERSION ? slot_claim(&nic_my_slot) : -FI_EINVAL;
    if (rc != 0) {
        goto err_unmap;
    }
    slot_start(&nic_segment->slots[nic_my_slot]);
    flock(fd, LOCK_UN);
    segment_fd = fd;
    return 0;

err_unmap:
    munmap(memory, sizeof(struct nic_segment));
    nic_segment = NULL;
err_close:
    close(fd);
    return rc;
}

/* For a process that ends without closing its domains; its engine may still look around. */
void nic_segment_leave(void)
{
    bool last = true;

    if (nic_segment == NULL || nic_segment->slots[nic_my_slot].pid != getpid()) {
        return;
    }
    flock(segment_fd, LOCK_EX);
    slot_clear(&nic_segment->slots[nic_my_slot]);
    for (int i = 0; i < NIC_SLOTS; i++) {
        last = last && !is_running(&nic_segment->slots[i]);
    }
    if (last) {
        shm_unlink(segment_name);
    }
    flock(segment_fd, LOCK_UN);
}

void nic_segment_detach(void)
{
    nic_segment_leave();
    munmap(nic_segment, sizeof(struct nic_segment));
    nic_segment = NULL;
    close(segment_fd);
    segment_fd = -1;
}

bool nic_slot_is_running(uint32_t slot, uint32_t generation)
{
    return slot < NIC_SLOTS && atomic_load(&nic_segment->slots[slot].generation) == generation &&
           is_running(&nic_segment->slots[slot]);
}

/* Asked for every message, so without a look at the start time: the generation serves as well. */
bool nic_slot_is_alive(uint32_t slot, uint32_t generation)
{
    return slot < NIC_SLOTS && atomic_load(&nic_segment->slots[slot].generation) == generation &&
           kill(nic_segment->slots[slot].pid, 0) == 0;
}

static void inbox_lock(struct nic_inbox *inbox)
{
    if (pthread_mutex_lock(&inbox->lock) == EOWNERDEAD) {
        /* A cell is complete before the tail moves, so there is nothing to mend. */
        pthread_mutex_consistent(&inbox->lock);
    }
}

bool nic_inbox_put(uint32_t slot, const struct nic_header *header, const void *payload,
                   uint32_t used)
{
    struct nic_inbox *inbox = &nic_segment->slots[slot].inbox;
    bool room;

    inbox_lock(inbox);
    room = inbox->tail - inbox->head < NIC_CELLS;
    if (room) {
        struct nic_cell *cell = &inbox->cells[inbox->tail % NIC_CELLS];

        cell->header = *header;
        cell->used = used;
        if (used > 0) {
            memcpy(cell->payload, payload, used);
        }
        inbox->tail++;
    }
    pthread_mutex_unlock(&inbox->lock);
    if (room) {
        nic_bell_ring(slot);
    }
    return room;
}

bool nic_inbox_take(struct nic_cell *cell_p)
{
    struct nic_inbox *inbox = &nic_segment->slots[nic_my_slot].inbox;
    bool some;

    inbox_lock(inbox);
    some = inbox->tail != inbox->head;
    if (some) {
        const struct nic_cell *cell = &inbox->cells[inbox->head % NIC_CELLS];

        cell_p->header = cell->header;
        cell_p->used = cell->used;
        memcpy(cell_p->payload, cell->payload, cell->used);
        inbox->head++;
    }
    pthread_mutex_unlock(&inbox->lock);
    return some;
}

void nic_bell_ring(uint32_t slot)
{
    struct nic_slot *to = &nic_segment->slots[slot];

    atomic_fetch_add(&to->bell, 1);
    if (atomic_load(&to->sleeping) != 0) {
        syscall(SYS_futex, &to->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

uint32_t nic_bell_read(void)
{
    return atomic_load(&nic_segment->slots[nic_my_slot].bell);
}

void nic_bell_wait(uint32_t value, uint64_t timeout_ns)
{
    struct nic_slot *me = &nic_segment->slots[nic_my_slot];
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                               .tv_nsec = (long)(timeout_ns % 1000000000)};

    atomic_store(&me->sleeping, 1);
    syscall(SYS_futex, &me->bell, FUTEX_WAIT, value, &timeout, NULL, 0);
    atomic_store(&me->sleeping, 0);
}
