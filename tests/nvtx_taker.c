/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * For ranges.sh: what NVTX_INJECTION64_PATH names in place of a profiler's library. It takes the
 * functions on ranges of a domain, of which there is to be one. */
#include <nvtx3/nvToolsExt.h>
#include <string.h>

#include "range_taker.h"

static int n_domains;

static nvtxDomainHandle_t NVTX_API create(const char *name)
{
    if (strcmp(name, "mpix_queue") != 0 || n_domains++ > 0) {
        range_taker_fail("another domain");
    }
    return (nvtxDomainHandle_t)(void *)&n_domains;
}

static void look_at(nvtxDomainHandle_t domain)
{
    if (domain != (nvtxDomainHandle_t)(void *)&n_domains) {
        range_taker_fail("a range in another domain");
    }
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    look_at(domain);
    if (event->version != NVTX_VERSION || event->size != sizeof *event ||
        event->messageType != NVTX_MESSAGE_TYPE_ASCII ||
        event->payloadType != NVTX_PAYLOAD_TYPE_INT32) {
        range_taker_fail("attributes of another form");
        return 0;
    }
    range_taker_push(event->message.ascii, event->payload.iValue);
    return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    look_at(domain);
    range_taker_pop();
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;

    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainRangePop) {
        return 0;
    }
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
