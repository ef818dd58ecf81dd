/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * double.h - the objects of the double and what its files call of each other
 *
 *     application thread --- fi_* call ---+                     +--> inbox of a process
 *     doorbell store ---> ring of stores -+--> state (nic.lock) +--> memory, counters
 *     inbox of this process --------------+        engine       +--> event queue of an endpoint
 *
 * One lock, nic.lock, guards everything but the ring of doorbell stores and the shared segment.
 * Calls change the state under it and raise the bell; the engine, one thread per process, does all
 * that a NIC does by itself. What a NIC leaves to software (counting messages, filling completion
 * queues, giving back requests) happens only in the calls that do it there: nic_ep_progress.
 */
#ifndef CXI_DOUBLE_DOUBLE_H
#define CXI_DOUBLE_DOUBLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>

#include "cxi/cxi_ext.h"
#include "segment.h"
#include "switches.h"

#define NIC_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

enum { NIC_AMO_BYTES = 1024, NIC_MR_BUCKETS = 1024, NIC_EPS = 128, NIC_TX_SIZE = 1024 };
/* Trigger entries that the provider keeps for itself. */
enum { NIC_KEPT_TLES = 8 };

/* Address of an endpoint, as fi_getname gives it; or, with slot NIC_SERVICE and the number of a
 * service for a generation, what fi_getinfo makes of a service. */
enum { NIC_SERVICE = UINT16_MAX };
struct nic_address {
    uint32_t slot, generation, ep;
};

struct nic_domain {
    struct fid_domain fid;
    struct nic_fabric *fabric;
    struct nic_domain *next;
    struct nic_mr *mrs[NIC_MR_BUCKETS];
    struct nic_command *commands, **commands_end; /* the trigger command queue */
    int command_count;
    struct nic_cntr *cntrs;
    uint64_t next_key;
    int refs;
    int cntrs_used; /* of the pool; kept until the domain is closed */
    int left;       /* references to mappings, by posts that were refused */
    unsigned place; /* its service on its NIC */
    bool prov_key, hybrid, hmem;
    uint64_t mr_mode, tx_order;
    struct nic_mr *all_mrs;
};

struct nic_cntr {
    struct fid_cntr fid;
    struct nic_domain *domain;
    struct nic_cntr *next;
    uint64_t success, failure;
    uint64_t *wb, own_wb;         /* where the NIC writes it back */
    struct nic_command *triggers; /* by threshold, then in the order of queueing */
    int refs;                     /* endpoints and regions that it is bound to */
    int unreaped;                 /* deferred operations that count on it */
    int requests, left;           /* that know it, and that were refused */
    bool closed;                  /* but not freed, as requests still count on it */
    int reads;                    /* reads on their way in the command queue */
    uint64_t reads_done, last_read;
    uint32_t bell; /* its page of doorbells */
    bool cached, no_wait;
};

struct nic_mr {
    struct fid_mr fid;
    struct nic_domain *domain;
    struct nic_mr *next; /* in its bucket, while enabled */
    struct nic_mr *next_of_all;
    char *base;             /* for the NIC */
    char *gpu;              /* for the program, if it is memory of a GPU; else NULL */
    const void *allocation; /* then that, which is mapped as a whole */
    size_t allocated;
    size_t length;
    uint64_t access, flags;
    struct nic_ep *ep;
    struct nic_cntr *cntr;
    int deliveries; /* on their way to it */
    enum nic_pool pool;
    bool enabled, has_key;
};

struct nic_av {
    struct fid_av fid;
    struct nic_domain *domain;
    struct nic_address *addresses;
    bool *used;
    size_t count, size;
    int refs;
};

struct nic_completion {
    struct nic_completion *next;
    struct fi_cq_err_entry entry; /* err is 0 for a success */
    fi_addr_t source;
};

struct nic_cq {
    struct fid_cq fid;
    struct nic_domain *domain;
    enum fi_cq_format format;
    size_t size;
    struct nic_completion *first, **last;
    int refs;
};

enum nic_kind { NIC_WRITE, NIC_READ, NIC_AMO, NIC_FETCH, NIC_COMPARE, NIC_SEND };

/* One transfer at its initiator, from the call or from the firing of its entry to its end. */
struct nic_op {
    struct nic_op *next;
    enum nic_kind kind;
    struct nic_ep *ep; /* NULL: closed meanwhile */
    struct nic_address to;
    uint64_t key, offset, tag, data, flags;
    size_t length;
    const void *source;
    const void *compare;
    void *result;
    enum fi_datatype datatype;
    enum fi_op operation;
    size_t count;
    void *context;
    struct nic_cntr *cntr; /* counts its end */
    /* Of the source and the result, if the caller names them and that is enabled; else NULL. */
    const struct nic_mr *region, *result_region;
    bool tagged, deferred, tracked, report, captured;
    void *owned; /* a copy of the source */
    unsigned char operand[NIC_AMO_BYTES];
    uint32_t id, generation;
    uint32_t fault; /* flags of the message, and the two below */
    bool lost, twice, sent;
    uint64_t started_ns;
    int rc;
};

/* A receive: posted, or matched and waiting for software. */
struct nic_receive {
    struct nic_receive *next;
    void *buffer;
    size_t length, got;
    uint64_t tag, ignore, flags, data;
    fi_addr_t source;
    void *context;
    struct nic_cntr *cntr;
    bool tagged, report, deferred, has_data;
    int rc;
};

struct nic_unexpected; /* match.c */

struct nic_ep {
    struct fid_ep fid;
    struct nic_domain *domain;
    uint32_t index;
    struct nic_av *av;
    struct nic_cq *tx_cq, *rx_cq;
    bool tx_selective, rx_selective, enabled;
    struct nic_cntr *write_cntr, *read_cntr, *send_cntr, *recv_cntr;
    struct nic_cntr *remote_cntr; /* by the generic rules only */
    uint64_t caps, op_flags, order;
    size_t tx_size;
    void *overflow; /* buffers for messages that nobody expects */
    int outstanding, refs;
    int unfired;                                /* deferred work that waits for its threshold */
    struct nic_op *ended, **ended_end;          /* the event queue */
    size_t events, event_room;                  /* in it, and most that may be */
    bool held;                                  /* its lock, while the NIC is waited for */
    struct nic_receive *matched, **matched_end; /* also of it */
    struct nic_receive *posted;
    struct nic_unexpected *unexpected;
};

struct nic_fabric {
    struct fid_fabric fid;
    int refs;
};

struct nic {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* with nic.lock: somebody's wait may be over */
    struct nic_domain *domains;
    struct nic_ep *eps[NIC_EPS];
    int users;   /* domains: the engine runs while there are any */
    bool stands; /* no command is taken from any queue: hooks.c */
    bool refuses_all, no_regions;
    uint64_t deferred_events, regions_made, counter_reads;
    int refused, attempts; /* to post what CXI_DOUBLE_REFUSE chooses */
    int passes;            /* so many attempts are taken before */
};

extern struct nic nic;

/* engine.c */
void nic_lock(void);
uint64_t nic_lock_calls(void);
void nic_polled(bool found);
typedef void nic_event_fn(void *arg);
int nic_engine_start(void);
void nic_engine_halt(void);
void nic_engine_stop(void);
uint64_t nic_now(void);
uint64_t nic_random_delay(void);
void nic_at(uint64_t due_ns, nic_event_fn *fn, void *arg);
void nic_wake(void);
void nic_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* transmit.c: the initiator's side */
struct nic_op *nic_op_new(struct nic_ep *ep, enum nic_kind kind);
int nic_op_admit(struct nic_op *op);
const struct nic_mr *nic_op_region(const struct nic_ep *ep, void *const *desc);
/* Does the provider need a request for this one? */
bool nic_op_is_tracked(const struct nic_op *op);
void nic_op_start(struct nic_op *op);
/* request.c: of an operation that is admitted, over, and refused with -FI_EAGAIN */
void nic_request_take(const struct nic_op *op);
void nic_request_give(const struct nic_op *op);
void nic_request_leave(const struct nic_op *op);
void nic_op_free(struct nic_op *op);
void nic_op_answered(const struct nic_header *header, const void *body);
void nic_ops_check_peers(void);
void nic_ops_orphan(const struct nic_ep *ep);
void nic_ops_free_all(void);
/* Faults are counted from now on. */
void nic_faults_reset(void);
int nic_fault_hits(void);

/* outqueue.c: messages on their way into inboxes */
void nic_out(uint32_t slot, const struct nic_header *header, const void *body, void *owned);
bool nic_out_run(void);
void nic_out_free_all(void);

/* events.c */
int nic_events_open(struct nic_ep *ep); /* or -FI_ENOSPC: the NIC has no queue left */
/* Too many to post anything more? */
bool nic_events_are_many(const struct nic_ep *ep);
void nic_event_put(struct nic_op *op);
void nic_events_check(const struct nic_ep *ep);
/* Until nobody has the endpoint's lock; and to have it as long as the NIC takes for a region. Both
 * give nic.lock up meanwhile. Not by the engine. */
void nic_ep_wait(struct nic_ep *ep);
void nic_ep_hold(struct nic_ep *ep);

/* hmem.c: memory of GPUs */
void nic_hmem_ask(const struct nic_domain *domain, const struct fi_mr_attr *attr);
int nic_hmem_open(struct nic_mr *mr, const struct fi_mr_attr *attr);
void nic_hmem_close(struct nic_mr *mr);
/* When an operation is posted, and what it reads then: a copy, or NULL if that is not of a GPU. */
void nic_hmem_look(const struct nic_op *op);
void *nic_hmem_read(const struct nic_op *op);
/* Where the NIC writes what an operation reads. */
unsigned char *nic_hmem_result(const struct nic_op *op);

/* target.c: the target's side */
void nic_target_cell(const struct nic_cell *cell);
void nic_target_free_all(void);
void nic_answer(const struct nic_header *to, int rc, void *body, uint64_t size);

/* amo.c */
size_t nic_type_size(enum fi_datatype datatype);
bool nic_amo_valid(enum nic_kind kind, enum fi_datatype datatype, enum fi_op op);
void nic_amo_apply(const struct nic_header *header, void *target, const void *operand,
                   const void *compare, void *result);

/* match.c */
void nic_match_message(struct nic_ep *ep, const struct nic_header *header, void *body);
int nic_match_post(struct nic_ep *ep, struct nic_receive *receive);
void nic_match_free_all(struct nic_ep *ep);
int nic_match_cancel(struct nic_ep *ep, void *context);

/* counter.c */
extern struct fi_ops_cntr nic_cntr_ops;
int nic_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr, struct fid_cntr **cntr_p,
                  void *context);
/* A deferred operation does not count on it any more. */
void nic_cntr_reaped(struct nic_cntr *cntr);
void nic_cntr_add(struct nic_cntr *cntr, uint64_t success, uint64_t failure);
void nic_cntr_set(struct nic_cntr *cntr, uint64_t value, bool failure);
void nic_cntr_write_back(struct nic_cntr *cntr);
uint64_t nic_cntr_level(const struct nic_cntr *cntr);
void nic_cntr_progress(struct nic_cntr *cntr);

/* dwq.c and command.c: deferred work, and the queue of commands that it goes through */
int nic_dwq_queue(struct nic_domain *domain, struct fi_deferred_work *work);
int nic_dwq_flush(struct nic_domain *domain);
struct cxi_double_post;
void nic_dwq_watch(void (*watch)(const struct cxi_double_post *post));
int nic_dwq_build(const struct fi_deferred_work *work, struct nic_command *command);
enum nic_command_kind { NIC_C_OP, NIC_C_ADD, NIC_C_SET, NIC_C_EVENT, NIC_C_GET, NIC_C_PUT };
struct nic_command {
    struct nic_command *next;
    enum nic_command_kind kind;
    struct nic_cntr *cntr;    /* triggers it; or is read or set */
    struct nic_cntr *counted; /* of C_ADD and C_SET */
    uint64_t threshold, value;
    struct nic_op *op;
    struct nic_receive *receive;   /* by the generic rules only */
    struct nic_ep *ep;             /* of op or receive */
    struct fi_deferred_work *work; /* read again when it fires */
    bool *fired_p;                 /* of C_EVENT, for fi_cntr_wait */
    bool reserved;                 /* has its trigger entry already */
};
int nic_command_put(struct nic_domain *domain, const struct nic_command *command);
bool nic_commands_run(struct nic_domain *domain);
bool nic_commands_stalled(const struct nic_domain *domain);
void nic_triggers_fire(struct nic_cntr *cntr);
void nic_triggers_cancel(struct nic_cntr *cntr, const struct nic_ep *ep);
void nic_command_free(struct nic_command *command);
void nic_trigger_forget(struct nic_cntr *cntr, const bool *fired);
void nic_commands_cancel(struct nic_domain *domain, const struct nic_cntr *cntr,
                         const struct nic_ep *ep);

/* doorbell.c */
int nic_bells_open(void);
void nic_bells_close(void);
void nic_bells_leave(void);
int nic_bell_open(struct nic_cntr *cntr);
void nic_bell_close(struct nic_cntr *cntr);
void *nic_bell_address(const struct nic_cntr *cntr);
void nic_bell_store(uint32_t page, uint32_t offset, uint64_t value);
bool nic_bells_run(void);
uint64_t nic_bell_stores(void);
void nic_bells_watch(void (*watch)(uint32_t counter, uint32_t offset, uint64_t value));

/* service.c */
struct cxi_auth_key nic_default_key(unsigned nic_number);
int nic_domain_place(const struct fi_info *info, unsigned nic_number, unsigned *place_p);

/* mr.c, av.c, cq.c, ep.c, post.c, provider.c, domain.c */
extern struct fi_ops_mr nic_mr_ops;
struct nic_mr *nic_mr_find(const struct nic_ep *ep, uint64_t key);
/* Is this region open, and has these bytes mapped, as the program sees them? */
bool nic_mr_holds(const struct nic_domain *domain, const struct nic_mr *mr, const void *memory,
                  size_t bytes);
int nic_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **av_p,
                void *context);
int nic_av_address(const struct nic_av *av, fi_addr_t addr, struct nic_address *address_p);
fi_addr_t nic_av_find(const struct nic_av *av, const struct nic_address *address);
int nic_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq_p,
                void *context);
void nic_cq_put(struct nic_cq *cq, const struct fi_cq_err_entry *entry, fi_addr_t source);
int nic_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep_p, void *context);
struct nic_ep *nic_ep_of(struct fid_ep *fid, uint64_t *flags_p);
void nic_ep_progress(struct nic_ep *ep);
extern struct fi_ops_msg nic_msg_ops;
extern struct fi_ops_tagged nic_tagged_ops;
extern struct fi_ops_rma nic_rma_ops;
extern struct fi_ops_atomic nic_atomic_ops;
int nic_domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **domain_p,
                    void *context);
int nic_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric_p, void *context);
int nic_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                const struct fi_info *hints, struct fi_info **info_p);
int nic_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
                     struct fi_atomic_attr *attr, uint64_t flags);

/* For the slots of tables that nobody needs. */
int nic_no_bind(struct fid *fid, struct fid *bound, uint64_t flags);
int nic_no_control(struct fid *fid, int command, void *arg);
int nic_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
