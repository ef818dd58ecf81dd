/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * limits.c - what a program can bring the provider to: queues that are full, a lock that is taken
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { SETTLE_MS = 50, MISSING_KEY = 999 };

static uint64_t source[2] = {41, 42}, target[2];

/* Writes without data, which need no request, until the command queue behind the entries has no
 * room. */
static void fill_commands(const struct work *work)
{
    int rc = 0, refused = 0;

    for (int i = 0; i < 16384 && refused < 50; i++) {
        rc = queue_write(work);
        refused = rc == -FI_EAGAIN ? refused + 1 : 0;
        if (refused > 0) {
            pause_ms(1);
        }
    }
    if (rc != -FI_EAGAIN) {
        found("the command queue has no end");
    }
}

static struct work open_and_fill(void)
{
    struct work work;

    mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(uint64_t));
    work.length = 0;
    fill_commands(&work);
    return work;
}

/* Does a read that is called when the queue has no room ask again later? */
static void cached_lost(void)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .flags = FI_CXI_CNTR_CACHED};
    struct fid_cntr *cntr;
    struct work work;

    rig_open();
    must(fi_cntr_open(rig.domain, &attr, &cntr, NULL), "fi_cntr_open");
    pause_ms(SETTLE_MS);
    work = open_and_fill();
    (void)fi_cntr_read(cntr);
    must(fi_cntr_add(work.trigger, 1), "fi_cntr_add");
    pause_ms(500);
    must(fi_cntr_add(cntr, 5), "fi_cntr_add");
    for (int i = 0; i < 10; i++) {
        pause_ms(10);
        if (fi_cntr_read(cntr) == 5) {
            found("asks again");
        }
    }
    must(fi_cntr_seterr(cntr, 0), "fi_cntr_seterr");
    pause_ms(SETTLE_MS);
    found(fi_cntr_read(cntr) == 5 ? "old value until a reset" : "old value for ever");
}

static void change_lost(void)
{
    struct fid_cntr *trigger, *changed;
    struct work work;

    rig_open();
    trigger = cntr_open();
    changed = cntr_open();
    work = open_and_fill();
    if (queue_change(trigger, 0, FI_OP_CNTR_ADD, changed, 1, NULL) != 0) {
        found("refused");
    }
    must(fi_cntr_add(work.trigger, 1), "fi_cntr_add");
    pause_ms(500);
    found(fi_cntr_read(changed) == 0 ? "accepted, and lost" : "executed");
}

/* The event queue is as small as it can be. */
static void open_small(void)
{
    struct fi_info *hints = rig_hints();

    must(-setenv("FI_CXI_DISABLE_EQ_HUGETLB", "1", 1), "setenv");
    hints->tx_attr->size = 16;
    rig.cq_size = 16;
    rig_open_with(hints, true);
}

static ssize_t write_nothing(uint64_t key)
{
    return fi_write(rig.ep, source, 0, NULL, rig.self, 0, key, NULL);
}

/* Failures are events, whatever they are of; too many of them stop all posts until they are read. */
static void saturation(void)
{
    struct fi_cq_err_entry error = {.err = 0};
    struct fi_cq_entry entry;
    ssize_t rc = 0;

    open_small();
    for (int i = 0; i < 20000 && rc == 0; i++) {
        rc = write_nothing(MISSING_KEY);
        /* No more may be on the way than there is room for, or the program ends. */
        if (i % 8 == 7) {
            pause_ms(1);
        }
    }
    if (rc != -FI_EAGAIN) {
        found(rc == 0 ? "no limit" : "another error");
    }
    pause_ms(SETTLE_MS);
    if (write_nothing(MISSING_KEY) != -FI_EAGAIN) {
        found("for a while");
    }
    while (fi_cq_read(rig.cq, &entry, 1) == -FI_EAVAIL && fi_cq_readerr(rig.cq, &error, 0) == 1) {
    }
    found(write_nothing(MISSING_KEY) == 0 ? "until they are read" : "for ever");
}

/* What was posted before it was full ends all the same. */
static void overflow(void)
{
    struct work work;
    struct fi_cq_entry entry;
    int rc = 0;

    open_small();
    work = work_of(source, sizeof(uint64_t));
    work.length = 0;
    work.key = MISSING_KEY;
    work.counted = NULL;
    for (int i = 0; i < 480 && rc == 0; i++) {
        rc = queue_write(&work);
        pause_ms(i % 16 == 0);
    }
    must(fi_cntr_add(work.trigger, 1), "fi_cntr_add");
    pause_ms(500);
    (void)fi_cq_read(rig.cq, &entry, 1);
    found("survives");
}

/* Two threads, and when each was in a call. */
struct span {
    uint64_t from_ns, to_ns;
};
enum { REGIONS = 100, FEWEST_REGIONS = 10, POSTS = 1 << 20 };
static const uint64_t ENOUGH_NS = 200000000;
static struct span calls[2 * REGIONS], posts[POSTS];
static _Atomic int n_calls, n_posts;
static _Atomic bool have_called;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *post_on(void *arg)
{
    (void)arg;
    for (int n = 0; n < POSTS && !atomic_load(&have_called); n++) {
        posts[n].from_ns = now_ns();
        (void)write_nothing(200);
        posts[n].to_ns = now_ns();
        atomic_store(&n_posts, n + 1);
    }
    return NULL;
}

static void open_and_close(uint64_t key)
{
    static uint64_t memory;
    int n = atomic_load(&n_calls);
    struct fid_mr *mr;

    must(mr_register(&memory, sizeof(memory), key, &mr), "fi_mr_reg");
    must(fi_mr_bind(mr, &rig.ep->fid, 0), "fi_mr_bind");
    calls[n].from_ns = now_ns();
    must(fi_mr_enable(mr), "fi_mr_enable");
    calls[n].to_ns = calls[n + 1].from_ns = now_ns();
    must(fi_close(&mr->fid), "fi_close");
    calls[n + 1].to_ns = now_ns();
    atomic_store(&n_calls, n + 2);
    pause_ms(2);
}

/* A post that began and ended in the middle half of a call. */
static bool has_post_within(const struct span *call)
{
    uint64_t quarter = (call->to_ns - call->from_ns) / 4;
    int i = 0;

    while (i < n_posts &&
           (posts[i].from_ns < call->from_ns + quarter || posts[i].to_ns > call->to_ns - quarter)) {
        i++;
    }
    return i < n_posts;
}

/* The call waits for the NIC with the endpoint's lock, if nothing else is done meanwhile. */
static void region_lock(void)
{
    int within = 0, n;
    uint64_t begun_ns;
    pthread_t thread;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    must(-pthread_create(&thread, NULL, post_on, NULL), "pthread_create");
    begun_ns = now_ns();
    for (uint64_t i = 0; i < FEWEST_REGIONS || (i < REGIONS && now_ns() - begun_ns < ENOUGH_NS);
         i++) {
        open_and_close(300 + i);
    }
    atomic_store(&have_called, true);
    pthread_join(thread, NULL);
    n = atomic_load(&n_calls);
    for (int i = 0; i < n; i++) {
        within += has_post_within(&calls[i]);
    }
    if (posts[n_posts - 1].to_ns < calls[n - 1].from_ns) {
        found("too many posts");
    }
    found(2 * within < n ? "posts wait" : "posts go on");
}

static bool open_other(struct cxi_auth_key *key)
{
    struct fi_info *hints = rig_hints(), *info = NULL;
    struct fid_domain *domain = NULL;
    bool opened;

    hints->domain_attr->auth_key = malloc(sizeof(*key));
    if (hints->domain_attr->auth_key == NULL) {
        must(-FI_ENOMEM, "malloc");
    }
    memcpy(hints->domain_attr->auth_key, key, sizeof(*key));
    hints->domain_attr->auth_key_size = sizeof(*key);
    opened = fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info) == 0 &&
             fi_domain(rig.fabric, info, &domain, NULL) == 0;
    if (!opened) {
        fi_freeinfo(hints);
        return false;
    }
    must(fi_close(&domain->fid), "fi_close of a domain");
    rig_open_with(hints, true);
    return true;
}

/* All entries of the service are taken: has another one some? */
static void other_service(void)
{
    const struct cxip_nic_attr *attr;
    struct cxi_auth_key key = {.svc_id = 0};
    struct work work;
    unsigned own;

    rig_open();
    if (rig.info->nic == NULL || rig.info->nic->prov_attr == NULL) {
        found("nothing known of services");
    }
    attr = rig.info->nic->prov_attr;
    own = attr->default_rgroup_id;
    key.vni = (uint16_t)attr->default_vni;
    (void)open_and_fill();
    do {
        key.svc_id++;
    } while (key.svc_id < 256 && (key.svc_id == own || !open_other(&key)));
    if (key.svc_id == 256) {
        found("one service only");
    }
    mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(uint64_t));
    must(queue_write(&work), "FI_QUEUE_WORK");
    must(fi_cntr_add(work.trigger, 1), "fi_cntr_add");
    found(await_word(&target[0], 41) ? "has entries of its own" : "has none");
}

static void service_shown(void)
{
    const struct cxip_nic_attr *attr;

    rig_open();
    attr = rig.info->nic != NULL ? rig.info->nic->prov_attr : NULL;
    found(attr != NULL && attr->version > 0 && attr->default_rgroup_id != 0 ? "shown"
                                                                            : "not shown");
}

const struct behaviour limit_behaviours[] = {
    {"info-service", service_shown, "shown", false},
    {"work-service", other_service, "has entries of its own", true},
    {"work-change-lost", change_lost, "accepted, and lost", true},
    {"counter-cached-lost", cached_lost, "old value until a reset", true},
    {"event-saturation", saturation, "until they are read", false},
    {"event-overflow", overflow, "crash", false},
    {"region-lock", region_lock, "posts wait", false},
    {NULL, NULL, NULL, false},
};
