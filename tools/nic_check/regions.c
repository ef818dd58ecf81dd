/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * regions.c - behaviours of memory regions, keys, and of what fi_getinfo offers
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void key_duplicate(void)
{
    static uint64_t memory[2];
    struct fid_mr *mr;
    int rc;

    rig_open();
    mr_open(memory, sizeof(memory), 200, NULL);
    rc = mr_register(memory, sizeof(memory), 200, &mr);
    found(rc == -FI_ENOKEY ? "refused" : "accepted");
}

static void key_wide(void)
{
    static uint64_t memory;
    struct fid_mr *mr;

    rig_open();
    found(mr_register(&memory, sizeof(memory), 1ULL << 32, &mr) == -FI_EKEYREJECTED ? "refused"
                                                                                    : "accepted");
}

static void key_provider(void)
{
    static uint64_t memory;
    struct fi_info *hints = rig_hints();
    struct fid_mr *mr = NULL;
    bool late;

    hints->domain_attr->mr_mode |= FI_MR_PROV_KEY;
    rig_open_with(hints, true);
    must(mr_register(&memory, sizeof(memory), 0, &mr), "fi_mr_reg");
    late = fi_mr_key(mr) == FI_KEY_NOTAVAIL;
    must(mr_complete(mr, NULL), "fi_mr_enable");
    found(late && fi_mr_key(mr) != FI_KEY_NOTAVAIL ? "when enabled" : "at once");
}

/* Keys below 100 have hardware of their own, of which there is little. */
static void keys_optimized(void)
{
    static uint64_t memory[100];

    rig_open();
    for (uint64_t key = 0; key < 100; key++) {
        struct fid_mr *mr;

        must(mr_register(&memory[key], sizeof(memory[key]), key, &mr), "fi_mr_reg");
        if (mr_complete(mr, NULL) != 0) {
            found("used up");
        }
    }
    found("100 of them");
}

static void bind_enabled(void)
{
    static uint64_t memory;
    struct fid_ep *ep;
    struct fid_mr *mr;

    rig_open();
    must(fi_endpoint(rig.domain, rig.info, &ep, NULL), "fi_endpoint");
    must(mr_register(&memory, sizeof(memory), 200, &mr), "fi_mr_reg");
    found(fi_mr_bind(mr, &ep->fid, 0) == 0 ? "accepted" : "refused");
}

static void bind_counter(void)
{
    static uint64_t memory;
    struct fid_cntr *cntr;
    struct fid_mr *mr;

    rig_open();
    cntr = cntr_open();
    must(mr_register(&memory, sizeof(memory), 200, &mr), "fi_mr_reg");
    if (fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ) == 0) {
        found("for reads as well");
    }
    must(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), "fi_mr_bind");
    found(fi_mr_bind(mr, &cntr_open()->fid, FI_REMOTE_WRITE) == 0 ? "more than one"
                                                                  : "one, for writes");
}

static void close_region(void)
{
    static uint64_t memory;
    struct fid_mr *mr;

    rig_open();
    mr = mr_open(&memory, sizeof(memory), 200, NULL);
    found(fi_close(&mr->fid) == 0 ? "works" : "refused");
}

/* Of an allocation of a GPU a part is registered, and another one is sent by its description: at
 * once, for that of deferred writes is not looked at; and more than fits into a command. */
static void allocation(void)
{
    enum { WORDS = 1 << 17, PART = 4096, SENT = WORDS / 2 };
    static uint64_t data[WORDS], target[PART / sizeof(uint64_t)];
    struct fi_info *hints = rig_hints();
    struct fi_cxi_dom_ops *ops = NULL;
    struct iovec iov = {.iov_len = PART};
    struct fi_mr_attr attr = {
        .mr_iov = &iov, .iov_count = 1, .access = FI_WRITE | FI_REMOTE_READ, .requested_key = 201};
    struct fid_mr *mr = NULL;
    uint64_t *memory;

    data[SENT] = 43;
    memory = gpu_memory(data, sizeof(data), &attr.iface);
    hints->caps |= FI_HMEM;
    hints->domain_attr->mr_mode |= FI_MR_HMEM;
    rig_open_with(hints, true);
    must(fi_open_ops(&rig.domain->fid, FI_CXI_DOM_OPS_2, 0, (void **)&ops, NULL),
         "fi_open_ops of the domain");
    must(ops->enable_hybrid_mr_desc(&rig.domain->fid, true), "enable_hybrid_mr_desc");
    mr_open(target, sizeof(target), 200, NULL);
    iov.iov_base = memory;
    must(fi_mr_regattr(rig.domain, &attr, 0, &mr), "fi_mr_regattr of memory of a GPU");
    must(mr_complete(mr, NULL), "fi_mr_enable");
    must((int)fi_write(rig.ep, &memory[SENT], PART, fi_mr_desc(mr), rig.self, 0, 200, NULL),
         "fi_write");
    found(await_word(target, 43) ? "is mapped as a whole" : "is mapped in parts");
}

/* A region that this counter counts at, for work of its own. */
static struct fid_cntr *open_counted(struct work *work, void *target, size_t bytes)
{
    struct fid_cntr *count;

    rig_open();
    count = cntr_open();
    work->trigger = cntr_open();
    work->counted = cntr_open();
    mr_open(target, bytes, 200, count);
    return count;
}

static void region_count(void)
{
    static uint64_t source[1024], target[1024];
    static uint64_t one = 1;
    struct work work = {.key = 200, .source = source, .length = sizeof(source)};
    struct fid_cntr *count;

    count = open_counted(&work, target, sizeof(target));
    must(queue_write(&work), "FI_QUEUE_WORK");
    work.length = 0;
    must(queue_write(&work), "FI_QUEUE_WORK");
    work.source = &one;
    must(queue_atomic(&work, FI_MAX), "FI_QUEUE_WORK");
    if (!await(work.counted, 3) || !await(count, 3)) {
        found("not each operation");
    }
    pause_ms(50);
    found(fi_cntr_read(count) == 3 ? "each operation once" : "more than the operations");
}

/* What may be read has no counter here, so that this need not be relied on. */
static void region_read(void)
{
    static uint64_t here[4], target[4];
    struct work work = {.key = 200, .source = here, .length = sizeof(here)};
    struct fid_cntr *count;

    count = open_counted(&work, target, sizeof(target));
    must(queue_read(&work), "FI_QUEUE_WORK");
    if (!await(work.counted, 1)) {
        found("does not end");
    }
    pause_ms(50);
    found(fi_cntr_read(count) == 0 ? "is not counted" : "is counted");
}

/* An operation that fails at the target is not counted there. */
static void region_failure(void)
{
    static uint64_t source[4], target[2];
    struct work work = {.key = 200, .source = source, .length = sizeof(source)};
    struct fid_cntr *count;

    count = open_counted(&work, target, sizeof(target));
    must(queue_write(&work), "FI_QUEUE_WORK");
    if (!await_failure(work.counted)) {
        found("initiator does not know");
    }
    pause_ms(50);
    found(fi_cntr_read(count) == 0 && fi_cntr_readerr(count) == 0 ? "target knows nothing"
                                                                  : "target counts");
}

static void sum_offered(void)
{
    struct fi_atomic_attr attr;

    rig_open();
    found(fi_query_atomic(rig.domain, FI_UINT64, FI_SUM, &attr, 0) == 0 ? "offered" : "denied");
}

static void atomic_count(void)
{
    struct fi_atomic_attr attr;

    rig_open();
    must(fi_query_atomic(rig.domain, FI_UINT64, FI_MAX, &attr, 0), "fi_query_atomic");
    found(attr.count == 1 ? "one at a time" : "several at a time");
}

static bool is_offered(struct fi_info *hints)
{
    struct fi_info *info = NULL;
    int rc = fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info);

    fi_freeinfo(hints);
    if (rc == 0) {
        fi_freeinfo(info);
    }
    return rc == 0;
}

static void info_limits(void)
{
    struct fi_info *many = rig_hints(), *automatic = rig_hints(), *basic = rig_hints();

    many->domain_attr->cntr_cnt = 17;
    automatic->domain_attr->data_progress = FI_PROGRESS_AUTO;
    basic->domain_attr->mr_mode = FI_MR_ALLOCATED;
    if (is_offered(many)) {
        found("more than 16 counters");
    }
    if (is_offered(automatic)) {
        found("automatic progress");
    }
    found(is_offered(basic) ? "regions of a domain" : "refused");
}

static void info_order(void)
{
    struct fi_info *hints = rig_hints();

    rig_open_with(rig_hints(), true);
    if (rig.info->tx_attr->msg_order != 0) {
        found("orders nobody asked for");
    }
    hints->tx_attr->msg_order = FI_ORDER_RMA_WAW;
    must(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &rig.info), "fi_getinfo");
    found(rig.info->tx_attr->msg_order == FI_ORDER_RMA_WAW ? "what was asked" : "other orders");
}

/* Who names no capabilities has them all, those that cost something too. */
static void info_all(void)
{
    struct fi_info *hints = rig_hints();

    hints->caps = 0;
    must(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &rig.info), "fi_getinfo");
    if ((rig.info->caps & (FI_RMA_EVENT | FI_FENCE)) != (FI_RMA_EVENT | FI_FENCE)) {
        found("not all");
    }
    found((rig.info->caps & (FI_SOURCE | FI_SOURCE_ERR)) == 0 ? "all but the source" : "all");
}

const struct behaviour region_behaviours[] = {
    {"key-duplicate", key_duplicate, "refused", false},
    {"key-wide", key_wide, "refused", false},
    {"key-provider", key_provider, "when enabled", false},
    {"key-optimized", keys_optimized, "used up", true},
    {"region-endpoint", bind_enabled, "refused", false},
    {"region-counter", bind_counter, "one, for writes", false},
    {"region-close", close_region, "works", false},
    {"region-allocation", allocation, "is mapped as a whole", false},
    {"region-count", region_count, "each operation once", false},
    {"region-read", region_read, "is not counted", false},
    {"region-failure", region_failure, "target knows nothing", false},
    {"atomic-sum", sum_offered, "offered", false},
    {"atomic-elements", atomic_count, "one at a time", false},
    {"info-limits", info_limits, "refused", false},
    {"info-all", info_all, "all but the source", false},
    {"info-order", info_order, "what was asked", false},
    {NULL, NULL, NULL, false},
};
