/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ops.h"

#include <stddef.h>

#include "util/alloc.h"
#include "util/lock.h"
#include "util/table.h"

/* An operation of the program that requests need. While it is here MPI has not freed it, so its
 * handle means nothing else. */
struct held {
    MPI_Op op;     /* the key */
    int count;     /* of requests */
    bool is_freed; /* by the program */
    UT_hash_handle hh;
};

static struct {
    struct mpixq_lock lock;
    struct held *table;
} ops = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_OPS)};

/* MPI does not say which they are. */
bool mpixq_op_is_predefined(MPI_Op op)
{
    const MPI_Op all[] = {MPI_OP_NULL, MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,
                          MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                          MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (op == all[i]) {
            return true;
        }
    }
    return false;
}

static struct held *find(MPI_Op op)
{
    struct held *held;

    HASH_FIND(hh, ops.table, &op, sizeof op, held);
    return held;
}

/* Under the lock. NULL: no memory. */
static struct held *add(MPI_Op op)
{
    struct held *held = mpixq_alloc(sizeof *held);

    if (held == NULL) {
        return NULL;
    }
    held->op = op;
    HASH_ADD(hh, ops.table, op, sizeof held->op, held);
    if (!mpixq_in_table(held->hh)) {
        mpixq_free(held);
        return NULL;
    }
    return held;
}

bool mpixq_op_hold(MPI_Op op)
{
    struct held *held;

    if (mpixq_op_is_predefined(op)) {
        return true;
    }
    mpixq_lock_acquire(&ops.lock);
    held = find(op);
    held = held != NULL ? held : add(op);
    if (held != NULL) {
        held->count++;
    }
    mpixq_lock_release(&ops.lock);
    return held != NULL;
}

/* It is in the table no more. */
static void let_go(struct held *held)
{
    if (held->is_freed) {
        /* The program's call has succeeded, and there is nobody to tell. */
        (void)PMPI_Op_free(&held->op);
    }
    mpixq_free(held);
}

void mpixq_op_put(MPI_Op op)
{
    struct held *held;
    bool is_last = false;

    if (mpixq_op_is_predefined(op)) {
        return;
    }
    mpixq_lock_acquire(&ops.lock);
    held = find(op);
    if (held != NULL && --held->count == 0) {
        HASH_DEL(ops.table, held);
        is_last = true;
    }
    mpixq_lock_release(&ops.lock);
    if (is_last) {
        let_go(held);
    }
}

bool mpixq_op_free_later(MPI_Op op)
{
    struct held *held;

    mpixq_lock_acquire(&ops.lock);
    held = find(op);
    if (held != NULL) {
        held->is_freed = true;
    }
    mpixq_lock_release(&ops.lock);
    return held != NULL;
}

void mpixq_ops_close(void)
{
    struct held *held, *next, *all;

    mpixq_lock_acquire(&ops.lock);
    all = ops.table;
    ops.table = NULL;
    mpixq_lock_release(&ops.lock);
    HASH_ITER(hh, all, held, next)
    {
        HASH_DEL(all, held);
        let_go(held);
    }
}
