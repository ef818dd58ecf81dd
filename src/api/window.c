/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows, signals and blocks. */
#include "mpix_queue_rma.h"

#include <stddef.h>
#include <string.h>

#include "api.h"
#include "rma/rma.h"
#include "stream/memory.h"
#include "util/alloc.h"
#include "util/ranges.h"

/* A code, by the error handler of a communicator. */
static int report(const struct mpixq_call *call, MPI_Comm comm, int code)
{
    struct mpixq_fault fault = MPIXQ_FAULT_NONE;

    fault.comm = comm;
    return mpixq_fault_raise_code(call, &fault, code);
}

static int check_comm(const struct mpixq_call *call, MPI_Comm comm)
{
    int inter = 0;

    if (comm == MPI_COMM_NULL) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_COMM);
    }
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) {
        return report(call, comm, mpixq_error_code(MPIXQ_E_ARG_COMM));
    }
    return MPI_SUCCESS;
}

static int create(const struct mpixq_call *call, const struct mpixq_window_spec *spec,
                  MPI_Aint bytes, MPI_Comm comm, MPIXQ_Window *win)
{
    enum mpixq_error error = win == NULL ? MPIXQ_E_ARG_WINDOW_P
                             : bytes < 0 ? MPIXQ_E_ARG_RANGE
                                         : MPIXQ_E_NONE;
    int rc = check_comm(call, comm);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (error != MPIXQ_E_NONE) {
        return report(call, comm, mpixq_error_code(error));
    }
    return report(call, comm, mpixq_rma_window_create(spec, comm, win));
}

int PMPIXQ_Window_create(void *base, MPI_Aint bytes, MPI_Comm comm, MPI_Info info,
                         MPIXQ_Window *win)
{
    static const struct mpixq_call call = {"MPIX_Window_create", false};
    struct mpixq_window_spec spec = {.base = base, .bytes = (uint64_t)bytes};
    int rc = mpixq_api_enter_interposed(&call);

    (void)info; /* this version knows no hints */
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (base == NULL && bytes > 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BASE);
    }
    return create(&call, &spec, bytes, comm, win);
}
MPIXQ_PROFILED(Window_create);

/* Which memory info asks for. The value, if there is one, is the caller's to free. */
static int read_memory(const struct mpixq_call *call, MPI_Info info, char **value_p,
                       struct mpixq_window_spec *spec)
{
    int rc = mpixq_api_info(call, info, "mpixq_memory", value_p);

    if (rc != MPI_SUCCESS || *value_p == NULL || strcmp(*value_p, "host") == 0) {
        return rc;
    }
    spec->wants = mpixq_memory_kind(*value_p);
    return spec->wants != NULL ? MPI_SUCCESS : mpixq_api_fail(call, MPIXQ_E_ARG_MEMORY_INFO);
}

int PMPIXQ_Window_allocate(MPI_Aint bytes, MPI_Comm comm, MPI_Info info, void *base,
                           MPIXQ_Window *win)
{
    static const struct mpixq_call call = {"MPIX_Window_allocate", false};
    struct mpixq_window_spec spec = {.bytes = (uint64_t)bytes, .allocates = true};
    int rc = mpixq_api_enter_interposed(&call);
    char *value = NULL;
    void *made;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (base == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BASE);
    }
    rc = read_memory(&call, info, &value, &spec);
    rc = rc ? rc : create(&call, &spec, bytes, comm, win);
    mpixq_free(value);
    if (rc == MPI_SUCCESS) {
        made = mpixq_rma_window_base(*win);
        memcpy(base, &made, sizeof made); /* of a type that the caller has chosen */
    }
    return rc;
}
MPIXQ_PROFILED(Window_allocate);

/* The start of each function on a live window. */
static int enter(const struct mpixq_call *call, MPIXQ_Window win)
{
    int rc = mpixq_api_enter_advancing(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return mpixq_rma_window_is_live(win) ? MPI_SUCCESS : mpixq_api_fail(call, MPIXQ_E_ARG_WINDOW);
}

int PMPIXQ_Window_free(MPIXQ_Window *win)
{
    static const struct mpixq_call call = {"MPIX_Window_free", false};
    int rc = mpixq_api_enter(&call);
    bool freed;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (win == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_WINDOW_P);
    }
    if (*win == MPIXQ_WINDOW_NULL) {
        return MPI_SUCCESS;
    }
    rc = enter(&call, *win);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = mpixq_rma_window_destroy(*win, &freed);
    *win = freed ? MPIXQ_WINDOW_NULL : *win;
    return report(&call, MPI_COMM_NULL, rc);
}
MPIXQ_PROFILED(Window_free);

int PMPIXQ_Window_flush(MPIXQ_Window win)
{
    static const struct mpixq_call call = {"MPIX_Window_flush", false};
    int rc = enter(&call, win);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_range_push(call.name, 0);
    rc = mpixq_rma_flush(win);
    mpixq_range_pop();
    return report(&call, MPI_COMM_NULL, rc);
}
MPIXQ_PROFILED(Window_flush);

/* ---- Signals -------------------------------------------------------------------------------- */

int PMPIXQ_Signal_init(MPIXQ_Window win, int num_event, MPIXQ_Signal *sig)
{
    static const struct mpixq_call call = {"MPIX_Signal_init", false};
    int rc = enter(&call, win);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (num_event < 1) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_EVENTS);
    }
    if (sig == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_SIGNAL_P);
    }
    return report(&call, MPI_COMM_NULL, mpixq_rma_signal_create(win, num_event, sig));
}
MPIXQ_PROFILED(Signal_init);

static int enter_signal(const struct mpixq_call *call, MPIXQ_Signal sig)
{
    int rc = mpixq_api_enter_advancing(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return mpixq_rma_signal_is_live(sig) ? MPI_SUCCESS : mpixq_api_fail(call, MPIXQ_E_ARG_SIGNAL);
}

int PMPIXQ_Signal_reset(MPIXQ_Signal sig)
{
    static const struct mpixq_call call = {"MPIX_Signal_reset", false};
    int rc = enter_signal(&call, sig);

    return rc ? rc : report(&call, MPI_COMM_NULL, mpixq_rma_signal_reset(sig));
}
MPIXQ_PROFILED(Signal_reset);

int PMPIXQ_Signal_test(MPIXQ_Signal sig, int *flag)
{
    static const struct mpixq_call call = {"MPIX_Signal_test", false};
    int rc = enter_signal(&call, sig);
    bool complete;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (flag == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_FLAG);
    }
    rc = report(&call, MPI_COMM_NULL, mpixq_rma_signal_test(sig, &complete));
    if (rc == MPI_SUCCESS) {
        *flag = complete;
    }
    return rc;
}
MPIXQ_PROFILED(Signal_test);

static int wait_for(const struct mpixq_call *call, MPIXQ_Signal sig,
                    int (*wait)(struct mpixq_signal *signal))
{
    int rc = enter_signal(call, sig);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_range_push(call->name, 0);
    rc = wait(sig);
    mpixq_range_pop();
    return report(call, MPI_COMM_NULL, rc);
}

int PMPIXQ_Signal_wait(MPIXQ_Signal sig)
{
    static const struct mpixq_call call = {"MPIX_Signal_wait", false};

    return wait_for(&call, sig, mpixq_rma_signal_wait);
}
MPIXQ_PROFILED(Signal_wait);

int PMPIXQ_Signal_wait_reset(MPIXQ_Signal sig)
{
    static const struct mpixq_call call = {"MPIX_Signal_wait_reset", false};

    return wait_for(&call, sig, mpixq_rma_signal_wait_reset);
}
MPIXQ_PROFILED(Signal_wait_reset);

int PMPIXQ_Signal_free(MPIXQ_Signal *sig)
{
    static const struct mpixq_call call = {"MPIX_Signal_free", false};
    int rc = mpixq_api_enter(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (sig == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_SIGNAL_P);
    }
    if (*sig == MPIXQ_SIGNAL_NULL) {
        return MPI_SUCCESS;
    }
    rc = enter_signal(&call, *sig);
    rc = rc ? rc : mpixq_fault_raise(&call, &MPIXQ_FAULT_NONE, mpixq_rma_signal_destroy(*sig));
    if (rc == MPI_SUCCESS) {
        *sig = MPIXQ_SIGNAL_NULL;
    }
    return rc;
}
MPIXQ_PROFILED(Signal_free);

/* ---- Blocks --------------------------------------------------------------------------------- */

int PMPIXQ_Blk_init(MPIXQ_Window win, MPI_Aint offset, MPI_Aint bytes, MPIXQ_Signal sig,
                    MPIXQ_Blk *blk)
{
    static const struct mpixq_call call = {"MPIX_Blk_init", false};
    int rc = enter(&call, win);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (blk == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BLK);
    }
    if (offset < 0 || bytes < 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_RANGE);
    }
    if (sig != MPIXQ_SIGNAL_NULL && !mpixq_rma_signal_is_live(sig)) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_SIGNAL);
    }
    return mpixq_fault_raise(&call, &MPIXQ_FAULT_NONE,
                             mpixq_rma_blk_make(win, (uint64_t)offset, (uint64_t)bytes, sig, blk));
}
MPIXQ_PROFILED(Blk_init);

int PMPIXQ_Blk_set_signal(MPIXQ_Blk *blk, const MPIXQ_Blk *from)
{
    static const struct mpixq_call call = {"MPIX_Blk_set_signal", false};
    int rc = mpixq_api_enter(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (blk == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BLK);
    }
    return report(&call, MPI_COMM_NULL, mpixq_rma_blk_set_signal(blk, from));
}
MPIXQ_PROFILED(Blk_set_signal);
