/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranges in NVTX, whose version 3 is in its headers: the first call loads the library of the
 * profiler that NVTX_INJECTION64_PATH names, as Nsight Systems sets it, and without one all calls
 * return at once. Built only where the headers are. */
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>

#include "ranges.h"

static bool open_nvtx(struct mpixq_range_calls *calls_p)
{
    calls_p->domain = nvtxDomainCreateA("mpix_queue");
    return calls_p->domain != NULL; /* NULL: there is no profiler, or it knows no domains */
}

static void push(const struct mpixq_range_calls *calls, const char *name, int n)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .payloadType = NVTX_PAYLOAD_TYPE_INT32,
                                   .payload.iValue = n,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = name};

    (void)nvtxDomainRangePushEx(calls->domain, &event);
}

static void pop(const struct mpixq_range_calls *calls)
{
    (void)nvtxDomainRangePop(calls->domain);
}

const struct mpixq_range_taker mpixq_nvtx = {.open = open_nvtx, .push = push, .pop = pop};
