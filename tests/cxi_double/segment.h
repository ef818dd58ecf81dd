/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * segment.h - what the processes of a node share: the NIC's pools and one inbox per process
 *
 * The segment is a file in shared memory, CXI_DOUBLE_NAME (default: "default") and the user's
 * number in its name. The first process makes it, the last removes it, and what a dead process
 * held is taken back by the next that comes.
 */
#ifndef CXI_DOUBLE_SEGMENT_H
#define CXI_DOUBLE_SEGMENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { NIC_SLOTS = 64, NIC_CELLS = 64, NIC_PAYLOAD = 16384, NIC_NICS = 4, NIC_GROUPS = 8 };

/* What a NIC has for all processes together; of trigger entries each service of Slingshot on it has
 * its own. A place is a service on a NIC. */
enum { NIC_PLACES = NIC_NICS * NIC_GROUPS };
enum nic_pool { NIC_TLES, NIC_CNTRS, NIC_PTLTES, NIC_LES, NIC_POOLS };

enum nic_message_kind { NIC_M_WRITE, NIC_M_AMO, NIC_M_READ, NIC_M_SEND, NIC_M_REPLY };

enum {
    NIC_F_TAGGED = 1,
    NIC_F_DATA = 2,
    NIC_F_DELIVERY = 4, /* the answer says that the target's memory has the data */
    NIC_F_ORDERED = 8,
    NIC_F_FETCH = 16,
    NIC_F_COMPARE = 32,
    NIC_F_FAIL = 64, /* an injected fault: the target refuses it */
    NIC_F_LATE = 128
};

/* Head of a message; its body follows in the payload of one or more cells. */
struct nic_header {
    enum nic_message_kind kind;
    uint32_t flags;
    uint32_t source, source_generation; /* slot of the sender */
    uint32_t source_ep, target_ep;
    uint32_t op, op_generation; /* the initiator's operation, which the answer is for */
    int32_t rc;                 /* of an answer */
    uint32_t datatype, operation, count;
    uint64_t key, offset, length, tag, data;
    uint64_t body; /* bytes of the body */
};

struct nic_cell {
    struct nic_header header;
    uint32_t used;
    unsigned char payload[NIC_PAYLOAD];
};

/* Messages to one process. Any process puts, one takes; lock orders them. */
struct nic_inbox {
    pthread_mutex_t lock;
    uint64_t head, tail;
    struct nic_cell cells[NIC_CELLS];
};

struct nic_slot {
    /* Written under the lock of the file. */
    pid_t pid;
    uint64_t start_time; /* a number of a process is used again */
    _Atomic uint32_t generation;
    _Atomic int pools[NIC_PLACES][NIC_POOLS]; /* what this process has of them */
    /* Raised by whoever has something for the process, waited for by its engine (futex). */
    _Atomic uint32_t bell;
    _Atomic uint32_t sleeping;
    struct nic_inbox inbox;
};

/* An endpoint that was opened for a service number, so that others find it by that. */
struct nic_service {
    _Atomic uint32_t number; /* 0: free */
    uint32_t slot, generation, ep;
};

struct nic_segment {
    uint32_t version;
    _Atomic uint32_t generations;
    _Atomic int pools[NIC_PLACES][NIC_POOLS]; /* in use, by all processes */
    _Atomic uint32_t groups[NIC_PLACES];      /* number of the service of a place; 0: none yet */
    struct nic_service services[NIC_SLOTS];
    struct nic_slot slots[NIC_SLOTS];
};

extern struct nic_segment *nic_segment;
extern uint32_t nic_my_slot;

int nic_segment_attach(void);
void nic_segment_detach(void);
void nic_segment_leave(void);

/* The place of a service on a NIC; -FI_ENOSPC: there are too many. */
int nic_place_find(unsigned nic_number, uint32_t service, unsigned *place_p);

/* Takes count entries at a place if there are that many, which the switches say. */
bool nic_pool_take(unsigned place, enum nic_pool pool, int count);
void nic_pool_give(unsigned place, enum nic_pool pool, int count);

int nic_service_add(uint32_t number, uint32_t ep);
const struct nic_service *nic_service_find(uint32_t number);
void nic_service_remove(uint32_t ep);

bool nic_slot_is_alive(uint32_t slot, uint32_t generation);
/* The same with a longer look, which knows the dead that nobody has waited for. */
bool nic_slot_is_running(uint32_t slot, uint32_t generation);

/* False when the inbox is full. */
bool nic_inbox_put(uint32_t slot, const struct nic_header *header, const void *payload,
                   uint32_t used);
bool nic_inbox_take(struct nic_cell *cell_p);

/* Safe in a signal handler. */
void nic_bell_ring(uint32_t slot);
/* Until the bell has been rung since value was read from it, or the time is over. */
void nic_bell_wait(uint32_t value, uint64_t timeout_ns);
uint32_t nic_bell_read(void);

#endif
