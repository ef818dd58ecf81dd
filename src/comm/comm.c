/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "comm.h"

#include <stdatomic.h>

#include "asked.h"
#include "ranks.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/table.h"

/* How a child was made, for mpixq_ident_child. */
enum { CHILD_COLLECTIVE = 1, CHILD_DUP = 2, CHILD_GROUP = 3, CHILD_INTERCOMM = 4 };

/* How often create_group was called with the same group and tag. */
struct group_count {
    struct mpixq_ident key;
    uint64_t calls;
    UT_hash_handle hh;
};

struct mpixq_comm {
    atomic_int references;
    struct mpixq_ident ident;
    uint64_t children; /* under lock */
    _Atomic uint64_t collectives;
    struct group_count *groups; /* under lock */
    MPI_Comm handle;            /* under lock; MPI_COMM_NULL once freed */
    bool described;             /* under lock; the rest is constant once set */
    int rank, size, own_size;
    MPI_Group peers;
    struct mpixq_ranks ranks; /* in MPI_COMM_WORLD, of peers */
};

static struct {
    /* One lock for all records; taken for a few instructions and local MPI calls. */
    struct mpixq_lock lock;
    /* Makes finding no record and attaching one a single step. MPI takes the other lock in it. */
    struct mpixq_lock attach_lock;
    int keyval;
    MPI_Group world; /* of MPI_COMM_WORLD; constant until MPI_Finalize */
    /* Communicators freed so far: tells when a remembered record is stale. */
    atomic_ulong n_frees;
    /* Set in MPI_Finalize, from where on deleted attributes must not call MPI any more. */
    atomic_bool closed;
} comms = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_COMM),
           .attach_lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_COMM_ATTACH),
           .keyval = MPI_KEYVAL_INVALID,
           .world = MPI_GROUP_NULL};

static struct mpixq_comm *record_create(struct mpixq_ident ident)
{
    struct mpixq_comm *record = mpixq_alloc(sizeof *record); /* freed in mpixq_comm_put */

    if (record != NULL) {
        atomic_init(&record->references, 1);
        record->ident = ident;
        record->handle = MPI_COMM_NULL;
        record->peers = MPI_GROUP_NULL;
    }
    return record;
}

struct mpixq_comm *mpixq_comm_hold(struct mpixq_comm *record)
{
    atomic_fetch_add(&record->references, 1);
    return record;
}

uint64_t mpixq_comm_count_collective(struct mpixq_comm *record)
{
    return atomic_fetch_add(&record->collectives, 1) + 1;
}

void mpixq_comm_put(struct mpixq_comm *record)
{
    struct group_count *g, *next;

    if (record == NULL || atomic_fetch_sub(&record->references, 1) != 1) {
        return;
    }
    if (record->peers != MPI_GROUP_NULL && !atomic_load(&comms.closed)) {
        (void)PMPI_Group_free(&record->peers);
    }
    HASH_ITER(hh, record->groups, g, next)
    {
        HASH_DEL(record->groups, g);
        mpixq_free(g);
    }
    mpixq_free(record);
}

/* Attribute callbacks: MPI calls them inside dup and free. */

void mpixq_comm_group_begin(void)
{
    mpixq_asked.makes_group = true;
}

void mpixq_comm_group_end(void)
{
    mpixq_asked.makes_group = false;
}

static int copy_record(MPI_Comm old, int key, void *extra, void *value, void *copy_p, int *flag)
{
    struct mpixq_comm *parent = value, *child;
    uint64_t n;

    (void)old;
    (void)key;
    (void)extra;
    *flag = 0;
    if (mpixq_asked.makes_group) {
        return MPI_SUCCESS;
    }
    mpixq_lock_acquire(&comms.lock);
    n = parent->children++;
    mpixq_lock_release(&comms.lock);
    child = mpixq_ident_is_none(parent->ident)
                ? NULL
                : record_create(mpixq_ident_child(parent->ident, CHILD_DUP, n));
    *flag = child != NULL;
    *(void **)copy_p = child;
    return MPI_SUCCESS;
}

static int delete_record(MPI_Comm comm, int key, void *value, void *extra)
{
    struct mpixq_comm *record = value;

    (void)comm;
    (void)key;
    (void)extra;
    mpixq_lock_acquire(&comms.lock);
    record->handle = MPI_COMM_NULL;
    mpixq_lock_release(&comms.lock);
    atomic_fetch_add_explicit(&comms.n_frees, 1, memory_order_release);
    mpixq_comm_put(record);
    return MPI_SUCCESS;
}

static struct mpixq_comm *record_of(MPI_Comm comm)
{
    struct mpixq_comm *record;
    int found = 0;

    if (comms.keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL ||
        PMPI_Comm_get_attr(comm, comms.keyval, &record, &found) != MPI_SUCCESS || !found) {
        return NULL;
    }
    return record;
}

/* Fill in what the communicator can tell, while it exists. Under the lock. */
static bool describe(struct mpixq_comm *record, MPI_Comm comm)
{
    int inter = 0, rc;

    if (record->described) {
        return true;
    }
    rc = PMPI_Comm_test_inter(comm, &inter);
    rc = rc ? rc : PMPI_Comm_rank(comm, &record->rank);
    rc = rc ? rc : PMPI_Comm_size(comm, &record->own_size);
    if (inter) {
        rc = rc ? rc : PMPI_Comm_remote_size(comm, &record->size);
        rc = rc ? rc : PMPI_Comm_remote_group(comm, &record->peers);
    } else {
        record->size = record->own_size;
        rc = rc ? rc : PMPI_Comm_group(comm, &record->peers);
    }
    record->handle = comm;
    record->described = rc == MPI_SUCCESS;
    return record->described;
}

/* The record of a communicator that had none: without identity, it only tells when the communicator
 * is freed. Another thread may have been faster; its record must stay, since it is in use. */
static struct mpixq_comm *attach_anonymous(MPI_Comm comm)
{
    struct mpixq_comm *record;

    mpixq_lock_acquire(&comms.attach_lock);
    record = record_of(comm);
    if (record == NULL) {
        record = record_create((struct mpixq_ident){0});
        if (record != NULL && PMPI_Comm_set_attr(comm, comms.keyval, record) != MPI_SUCCESS) {
            mpixq_comm_put(record);
            record = NULL;
        }
    }
    mpixq_lock_release(&comms.attach_lock);
    return record;
}

/* The record of a communicator, described, without a reference. */
static struct mpixq_comm *look_up(MPI_Comm comm)
{
    struct mpixq_comm *record = record_of(comm);
    bool ok;

    if (record == NULL) {
        record = attach_anonymous(comm);
    }
    if (record == NULL) {
        return NULL;
    }
    mpixq_lock_acquire(&comms.lock);
    ok = describe(record, comm);
    mpixq_lock_release(&comms.lock);
    return ok ? record : NULL;
}

/* Out of line, so that the usual case below needs no frame. */
__attribute__((noinline)) static struct mpixq_comm *get_another(MPI_Comm comm, unsigned long frees)
{
    mpixq_asked.record = look_up(comm);
    mpixq_asked.comm = comm;
    mpixq_asked.frees = frees;
    if (mpixq_asked.record != NULL) {
        atomic_fetch_add_explicit(&mpixq_asked.record->references, 1, memory_order_relaxed);
    }
    return mpixq_asked.record;
}

struct mpixq_comm *mpixq_comm_get(MPI_Comm comm)
{
    unsigned long frees = atomic_load_explicit(&comms.n_frees, memory_order_acquire);
    struct mpixq_comm *record = mpixq_asked.record;

    if (record == NULL || mpixq_asked.comm != comm || mpixq_asked.frees != frees) {
        return get_another(comm, frees);
    }
    atomic_fetch_add_explicit(&record->references, 1, memory_order_relaxed);
    return record;
}

void mpixq_comm_view(const struct mpixq_comm *record, struct mpixq_comm_view *view_p)
{
    view_p->ident = record->ident;
    view_p->rank = record->rank;
    view_p->size = record->size;
    view_p->own_size = record->own_size;
}

int mpixq_comm_world_rank(struct mpixq_comm *record, int peer)
{
    return mpixq_ranks_of_peer(&record->ranks, comms.world, record->peers, peer);
}

MPI_Comm mpixq_comm_handle(const struct mpixq_comm *record)
{
    MPI_Comm comm;

    if (record == NULL) {
        return MPI_COMM_NULL;
    }
    mpixq_lock_acquire(&comms.lock);
    comm = record->handle;
    mpixq_lock_release(&comms.lock);
    return comm;
}

struct mpixq_comm *mpixq_comm_free_begin(MPI_Comm comm)
{
    struct mpixq_comm *record = record_of(comm);

    return record != NULL ? mpixq_comm_hold(record) : NULL;
}

void mpixq_comm_free_end(struct mpixq_comm *record, bool freed)
{
    if (record != NULL && freed) {
        mpixq_lock_acquire(&comms.lock);
        record->handle = MPI_COMM_NULL;
        mpixq_lock_release(&comms.lock);
    }
    mpixq_comm_put(record);
}

struct mpixq_ident mpixq_comm_child(MPI_Comm parent)
{
    struct mpixq_comm *record = record_of(parent);
    uint64_t n;

    if (record == NULL || mpixq_ident_is_none(record->ident)) {
        return (struct mpixq_ident){0};
    }
    mpixq_lock_acquire(&comms.lock);
    n = record->children++;
    mpixq_lock_release(&comms.lock);
    return mpixq_ident_child(record->ident, CHILD_COLLECTIVE, n);
}

static bool add_to_hash(const int *world, int n, void *arg)
{
    struct mpixq_ident *hash = arg;

    *hash = mpixq_ident_add(*hash, world, (size_t)n * sizeof world[0]);
    return true;
}

struct mpixq_ident mpixq_comm_group_child(MPI_Comm parent, MPI_Group group, int tag)
{
    struct mpixq_comm *record = record_of(parent);
    struct mpixq_ident key, none = {0};
    struct group_count *count;
    uint64_t n;

    /* A null group is for MPI to complain about. */
    if (record == NULL || mpixq_ident_is_none(record->ident) || group == MPI_GROUP_NULL) {
        return none;
    }
    key = mpixq_ident_child(record->ident, CHILD_GROUP, (uint64_t)tag);
    if (!mpixq_ranks_each(comms.world, group, add_to_hash, &key)) {
        return none;
    }
    mpixq_lock_acquire(&comms.lock);
    HASH_FIND(hh, record->groups, &key, sizeof key, count);
    if (count == NULL) {
        count = mpixq_alloc(sizeof *count); /* freed with the record */
        if (count != NULL) {
            count->key = key;
            HASH_ADD(hh, record->groups, key, sizeof key, count);
        }
        if (count == NULL || !mpixq_in_table(count->hh)) {
            mpixq_lock_release(&comms.lock);
            mpixq_free(count);
            return none;
        }
    }
    n = count->calls++;
    mpixq_lock_release(&comms.lock);
    return mpixq_ident_child(key, CHILD_GROUP, n);
}

void mpixq_comm_name_child(MPI_Comm child, struct mpixq_ident ident)
{
    struct mpixq_comm *record;

    if (child == MPI_COMM_NULL || mpixq_ident_is_none(ident)) {
        return;
    }
    record = record_create(ident);
    if (record == NULL || PMPI_Comm_set_attr(child, comms.keyval, record) != MPI_SUCCESS) {
        mpixq_warn("a communicator was made without identity: its requests cannot be matched");
        mpixq_comm_put(record);
    }
}

/* The side of an intercommunicator with this group: its local communicator's identity alone is
 * shared by communicators without a common process, so a process is added. */
static bool side_ident(struct mpixq_ident *ident_p, MPI_Group group)
{
    int world;

    if (!mpixq_ranks_first(comms.world, group, &world)) {
        return false;
    }
    *ident_p = mpixq_ident_add(*ident_p, &world, sizeof world);
    return true;
}

/* Of an intercommunicator. Both are MPI_GROUP_NULL on failure; the caller frees them. */
static bool groups_of(MPI_Comm inter, MPI_Group *local_p, MPI_Group *remote_p)
{
    *remote_p = MPI_GROUP_NULL;
    if (PMPI_Comm_group(inter, local_p) != MPI_SUCCESS) {
        *local_p = MPI_GROUP_NULL;
        return false;
    }
    if (PMPI_Comm_remote_group(inter, remote_p) != MPI_SUCCESS) {
        (void)PMPI_Group_free(local_p);
        *remote_p = MPI_GROUP_NULL;
        return false;
    }
    return true;
}

/* The identity of an intercommunicator with these groups. */
static struct mpixq_ident exchange_idents(MPI_Comm inter, MPI_Group local, MPI_Group remote,
                                          struct mpixq_ident ident)
{
    uint64_t mine[2] = {ident.high, ident.low}, theirs[2] = {0, 0};
    struct mpixq_ident first = ident, second, both, none = {0};

    /* All ranks of a side hold the same value, so its maximum is the value; over an
     * intercommunicator each side receives that of the other. */
    if (PMPI_Allreduce(mine, theirs, 2, MPI_UINT64_T, MPI_MAX, inter) != MPI_SUCCESS) {
        return none;
    }
    second = (struct mpixq_ident){.high = theirs[0], .low = theirs[1]};
    if (mpixq_ident_is_none(first) || mpixq_ident_is_none(second) || !side_ident(&first, local) ||
        !side_ident(&second, remote)) {
        return none;
    }
    if (first.high > second.high || (first.high == second.high && first.low > second.low)) {
        both = first;
        first = second;
        second = both;
    }
    both = mpixq_ident_child(first, CHILD_INTERCOMM, 0);
    return mpixq_ident_add(both, &second, sizeof second);
}

void mpixq_comm_name_intercomm(MPI_Comm child, struct mpixq_ident local_ident)
{
    MPI_Group local, remote;

    if (child == MPI_COMM_NULL || comms.keyval == MPI_KEYVAL_INVALID ||
        !groups_of(child, &local, &remote)) {
        return;
    }
    /* The same on all processes of the communicator: if one of them is of another world, then it
     * is foreign to some, and the others are foreign to it. */
    if (mpixq_ranks_are_all(comms.world, local) && mpixq_ranks_are_all(comms.world, remote)) {
        mpixq_comm_name_child(child, exchange_idents(child, local, remote, local_ident));
    }
    (void)PMPI_Group_free(&local);
    (void)PMPI_Group_free(&remote);
}

int mpixq_comm_open(void)
{
    struct mpixq_ident world = {.high = 0, .low = 1}, self = {.high = 0, .low = 2};
    int rc = PMPI_Comm_create_keyval(copy_record, delete_record, &comms.keyval, NULL);

    rc = rc ? rc : PMPI_Comm_group(MPI_COMM_WORLD, &comms.world);
    if (rc == MPI_SUCCESS) {
        mpixq_comm_name_child(MPI_COMM_WORLD, world);
        mpixq_comm_name_child(MPI_COMM_SELF, self);
    }
    return rc;
}

void mpixq_comm_close(void)
{
    (void)PMPI_Comm_delete_attr(MPI_COMM_WORLD, comms.keyval);
    atomic_store(&comms.closed, true);
    if (comms.world != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&comms.world);
    }
    if (comms.keyval != MPI_KEYVAL_INVALID) {
        (void)PMPI_Comm_free_keyval(&comms.keyval);
    }
}
