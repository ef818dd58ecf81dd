/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "api.h"

#include <stdbool.h>
#include <stdio.h>

#include "lib/lib.h"
#include "match/match.h"
#include "pmpi/next.h"
#include "pmpi/pull.h"
#include "stream/stream.h"
#include "util/alloc.h"

/* An error that names who takes the calls. */
static int fail_passed_by(const struct mpixq_call *call)
{
    char why[MPIXQ_ERROR_ROOM] = "", text[2 * MPIXQ_ERROR_ROOM];

    (void)mpixq_pull_is_interposed(why, sizeof why); /* they do not, or nobody were here */
    (void)snprintf(text, sizeof text, "%s: %s", call->name, why);
    return mpixq_error_raise(MPI_COMM_NULL, mpixq_error_code_saying(MPIXQ_E_INTERPOSE, text));
}

static int enter(const struct mpixq_call *call, bool interposed, bool inside)
{
    enum mpixq_error error;

    if (!mpixq_lib_is_up() && mpixq_next_is_foreign()) {
        return MPI_ERR_OTHER;
    }
    if (!mpixq_lib_ready(interposed, &error)) {
        return error == MPIXQ_E_NONE        ? MPI_ERR_OTHER
               : error == MPIXQ_E_INTERPOSE ? fail_passed_by(call)
                                            : mpixq_api_fail(call, error);
    }
    if (!inside && mpixq_stream_inside()) {
        return mpixq_api_fail(call, MPIXQ_E_INSIDE);
    }
    return MPI_SUCCESS;
}

int mpixq_api_enter(const struct mpixq_call *call)
{
    /* While the library is not up, the first question is whether it can be. */
    return enter(call, mpixq_lib_is_up() || mpixq_pull(), false);
}

int mpixq_api_enter_advancing(const struct mpixq_call *call)
{
    int rc = mpixq_api_enter(call);

    if (rc == MPI_SUCCESS) {
        mpixq_match_advance();
    }
    return rc;
}

int mpixq_api_enter_inside(const struct mpixq_call *call)
{
    return enter(call, mpixq_lib_is_up() || mpixq_pull(), true);
}

int mpixq_api_enter_interposed(const struct mpixq_call *call)
{
    return enter(call, mpixq_pull(), false);
}

int mpixq_api_fail(const struct mpixq_call *call, enum mpixq_error error)
{
    return mpixq_fault_raise(call, &MPIXQ_FAULT_NONE, error);
}

int mpixq_api_info(const struct mpixq_call *call, MPI_Info info, const char *key, char **value_p)
{
    int length = 0, found = 0, rc;

    *value_p = NULL;
    if (info == MPI_INFO_NULL) {
        return MPI_SUCCESS;
    }
    rc = PMPI_Info_get_valuelen(info, key, &length, &found);
    if (rc != MPI_SUCCESS || !found) {
        return rc;
    }
    *value_p = mpixq_alloc((size_t)length + 1);
    if (*value_p == NULL) {
        return mpixq_api_fail(call, MPIXQ_E_NO_MEMORY);
    }
    return PMPI_Info_get(info, key, length, *value_p, &found);
}
