/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts, gets and plans, by the host and enqueued. */
#include "mpix_queue_rma.h"

#include <stddef.h>

#include "api.h"
#include "queue/queues.h"
#include "rma/rma.h"

static int report(const struct mpixq_call *call, int code)
{
    return mpixq_fault_raise_code(call, &MPIXQ_FAULT_NONE, code);
}

static int enter_put(const struct mpixq_call *call, const MPIXQ_Blk *local, const MPIXQ_Blk *remote)
{
    int rc = mpixq_api_enter_advancing(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return local == NULL || remote == NULL ? mpixq_api_fail(call, MPIXQ_E_ARG_BLK) : MPI_SUCCESS;
}

static int enter_plan(const struct mpixq_call *call, MPIXQ_Plan plan)
{
    int rc = mpixq_api_enter_advancing(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return mpixq_rma_plan_is_live(plan) ? MPI_SUCCESS : mpixq_api_fail(call, MPIXQ_E_ARG_PLAN);
}

int PMPIXQ_Put(const MPIXQ_Blk *local, const MPIXQ_Blk *remote)
{
    static const struct mpixq_call call = {"MPIX_Put", false};
    int rc = enter_put(&call, local, remote);

    return rc ? rc : report(&call, mpixq_rma_put(local, remote));
}
MPIXQ_PROFILED(Put);

int PMPIXQ_Get(const MPIXQ_Blk *local, const MPIXQ_Blk *remote)
{
    static const struct mpixq_call call = {"MPIX_Get", false};
    int rc = enter_put(&call, local, remote);

    return rc ? rc : report(&call, mpixq_rma_get(local, remote));
}
MPIXQ_PROFILED(Get);

int PMPIXQ_Plan_create(int count, const MPIXQ_Blk local[], const MPIXQ_Blk remote[],
                       MPIXQ_Plan *plan)
{
    static const struct mpixq_call call = {"MPIX_Plan_create", false};
    int rc = mpixq_api_enter_advancing(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count < 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_COUNT);
    }
    if ((local == NULL || remote == NULL) && count > 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BLK);
    }
    if (plan == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_PLAN_P);
    }
    return report(&call, mpixq_rma_plan_create(count, local, remote, plan));
}
MPIXQ_PROFILED(Plan_create);

int PMPIXQ_Plan_start(MPIXQ_Plan plan)
{
    static const struct mpixq_call call = {"MPIX_Plan_start", false};
    int rc = enter_plan(&call, plan);

    return rc ? rc : report(&call, mpixq_rma_plan_start(plan));
}
MPIXQ_PROFILED(Plan_start);

int PMPIXQ_Plan_free(MPIXQ_Plan *plan)
{
    static const struct mpixq_call call = {"MPIX_Plan_free", false};
    int rc = mpixq_api_enter_advancing(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (plan == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_PLAN_P);
    }
    if (*plan == MPIXQ_PLAN_NULL) {
        return MPI_SUCCESS;
    }
    rc = enter_plan(&call, *plan);
    rc = rc ? rc : mpixq_fault_raise(&call, &MPIXQ_FAULT_NONE, mpixq_rma_plan_destroy(*plan));
    if (rc == MPI_SUCCESS) {
        *plan = MPIXQ_PLAN_NULL;
    }
    return rc;
}
MPIXQ_PROFILED(Plan_free);

/* ---- Enqueued ------------------------------------------------------------------------------- */

static int check_queue(const struct mpixq_call *call, MPIXQ_Queue queue)
{
    return mpixq_queue_is_live(queue) ? MPI_SUCCESS : mpixq_api_fail(call, MPIXQ_E_ARG_QUEUE);
}

int PMPIXQ_Enqueue_put(MPIXQ_Queue queue, const MPIXQ_Blk *local, const MPIXQ_Blk *remote)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_put", false};
    struct mpixq_fault fault;
    int rc = enter_put(&call, local, remote);

    rc = rc ? rc : check_queue(&call, queue);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = mpixq_rma_enqueue_put(queue, local, remote, &fault);
    return mpixq_fault_raise_code(&call, &fault, rc);
}
MPIXQ_PROFILED(Enqueue_put);

int PMPIXQ_Enqueue_plan_start(MPIXQ_Queue queue, MPIXQ_Plan plan)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_plan_start", false};
    struct mpixq_fault fault;
    int rc = enter_plan(&call, plan);

    rc = rc ? rc : check_queue(&call, queue);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = mpixq_rma_enqueue_plan(queue, plan, &fault);
    return mpixq_fault_raise_code(&call, &fault, rc);
}
MPIXQ_PROFILED(Enqueue_plan_start);

typedef int enqueue_fn(struct mpixq_queue *, struct mpixq_signal *, struct mpixq_fault *);

static int enqueue_signal(const struct mpixq_call *call, MPIXQ_Queue queue, MPIXQ_Signal sig,
                          enqueue_fn *fn)
{
    struct mpixq_fault fault;
    int rc = mpixq_api_enter_advancing(call);

    rc = rc ? rc : check_queue(call, queue);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (!mpixq_rma_signal_is_live(sig)) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_SIGNAL);
    }
    rc = fn(queue, sig, &fault);
    return mpixq_fault_raise_code(call, &fault, rc);
}

int PMPIXQ_Enqueue_signal_wait(MPIXQ_Queue queue, MPIXQ_Signal sig)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_signal_wait", false};

    return enqueue_signal(&call, queue, sig, mpixq_rma_enqueue_wait);
}
MPIXQ_PROFILED(Enqueue_signal_wait);

int PMPIXQ_Enqueue_signal_reset(MPIXQ_Queue queue, MPIXQ_Signal sig)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_signal_reset", false};

    return enqueue_signal(&call, queue, sig, mpixq_rma_enqueue_reset);
}
MPIXQ_PROFILED(Enqueue_signal_reset);

int PMPIXQ_Enqueue_signal_wait_reset(MPIXQ_Queue queue, MPIXQ_Signal sig)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_signal_wait_reset", false};

    return enqueue_signal(&call, queue, sig, mpixq_rma_enqueue_wait_reset);
}
MPIXQ_PROFILED(Enqueue_signal_wait_reset);
