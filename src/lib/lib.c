/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "lib.h"

#include <mpi.h>
#include <stddef.h>
#include <string.h>

#include "comm/comm.h"
#include "comm/ops.h"
#include "core/channels.h"
#include "core/failure.h"
#include "core/graphs.h"
#include "core/tally.h"
#include "core/handles.h"
#include "core/parted.h"
#include "core/stats.h"
#include "host/host.h"
#include "match/control.h"
#include "match/match.h"
#include "match/opener.h"
#include "mpix_queue.h"
#include "queue/queues.h"
#include "report/dump.h"
#include "report/liveness.h"
#include "report/trace_tell.h"
#include "report/watchdog.h"
#include "rma/rma.h"
#include "stream/host_stream.h"
#include "stream/stream.h"
#include "util/affinity.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/facts.h"
#include "util/log.h"
#include "util/mpi_turns.h"
#include "util/node.h"
#include "util/progress.h"
#include "util/ranges.h"
#include "util/trace.h"

/* A record has arrived. */
static void hear(const struct mpixq_record *record, int source)
{
    if (record->kind == MPIXQ_WIRE_STATS || record->kind == MPIXQ_WIRE_MISSED) {
        mpixq_stats_record(&mpixq_lib.stats, record, source);
    } else if (record->kind == MPIXQ_WIRE_TRACE) {
        mpixq_trace_record(record, source);
    } else {
        mpixq_match_record(record, source);
    }
}

static void drive(void)
{
    mpixq_channels_drive();
    mpixq_tallies_drive();
    mpixq_rma_drive();
}

/* Who calls whom upwards: the parts below know these functions only by such tables. */
static const struct mpixq_control_user control_user = {
    .record = hear, .strange = mpixq_match_end_strange, .drive = drive};
static const struct mpixq_failure_listener failure_listener = {.abandoned = mpixq_match_abandon,
                                                               .failed = mpixq_match_fail};

/* What graphs that are replayed have done comes first: looks of the matching are at that too. */
static void kick(void)
{
    mpixq_tallies_drive(); /* it may be all that the progress thread does */
    mpixq_graphs_look();
    mpixq_match_kick();
    mpixq_host_reap_later();
}

static long sleep_ms(void)
{
    long watchdog = mpixq_watchdog_sleep_ms(), graphs = mpixq_graphs_sleep_ms();

    return graphs < 0 || (watchdog >= 0 && watchdog < graphs) ? watchdog : graphs;
}

static bool is_pending(void)
{
    bool expects = mpixq_tallies_expect();

    return mpixq_host_is_needed() || expects || mpixq_rma_is_needed();
}

static bool any_graph_waits(void)
{
    return mpixq_graphs_any_wait() || mpixq_rma_any_replay();
}

/* Not where control messages are driven, under the matching lock. */
static void drive_all(void)
{
    drive();
    mpixq_parted_drive();
}

static const struct mpixq_progress_work progress_work = {
    .drive = drive_all, .is_pending = is_pending, .kick = kick, .sleep_ms = sleep_ms};

struct mpixq_lib mpixq_lib = {.phase = MPIXQ_BEFORE};

int mpixq_lib_thread_level(void)
{
    return mpixq_lib.thread_level;
}

bool mpixq_lib_ready(bool interposed, enum mpixq_error *error_p)
{
    int initialised = 0, finalised = 0, now = atomic_load(&mpixq_lib.phase);

    *error_p = MPIXQ_E_NONE;
    if (now == MPIXQ_UP && interposed) {
        return true;
    }
    if (now == MPIXQ_AFTER) {
        return false;
    }
    if (now == MPIXQ_BEFORE) {
        /* Our MPI_Init was not called: nobody's was, or one that did not come by us. */
        (void)PMPI_Initialized(&initialised);
        (void)PMPI_Finalized(&finalised);
        if (!initialised || finalised) {
            return false;
        }
    }
    *error_p = interposed ? MPIXQ_E_INIT_UNSEEN : MPIXQ_E_INTERPOSE;
    return false;
}

static void count_matched(struct mpixq_request *req, void *arg)
{
    *(int *)arg += mpixq_request_state(req) != MPIXQ_UNMATCHED;
}

static void recall(struct mpixq_request *req, void *arg)
{
    (void)arg;
    if (req->pair.channel != NULL) {
        mpixq_channel_recall(&req->pair);
    }
}

/* What the program has not freed. */
static void tell_left(int queues, int requests, int windows, int streams)
{
    if (queues + requests > 0) {
        mpixq_warn("MPI_Finalize: not freed: %d queues, %d matched requests", queues, requests);
    }
    if (windows > 0) {
        mpixq_warn("MPI_Finalize: not freed: %d windows", windows);
    }
    if (streams > 0) {
        /* Nothing is lost: what they were to do is done. */
        mpixq_info("MPI_Finalize: not destroyed: %d host streams", streams);
    }
}

/* The callback of an attribute of MPI_COMM_SELF: MPI_Finalize deletes those first of all, whichever
 * way it is called, the last that was set first. This one was set in MPI_Init, so the callbacks of
 * the program have the library. */
static int teardown(MPI_Comm comm, int key, void *value, void *extra)
{
    int queues, streams, windows, requests = 0;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    atomic_store(&mpixq_lib.phase, MPIXQ_AFTER);
    mpixq_request_each(count_matched, &requests);
    queues = mpixq_queues_close();
    streams = mpixq_host_streams_close();
    mpixq_dump_close();
    mpixq_progress_stop();
    mpixq_opener_stop();
    windows = mpixq_rma_close();
    mpixq_host_close();
    mpixq_streams_look_at_places();
    mpixq_handles_each(recall, NULL); /* no other thread is here any more */
    mpixq_graphs_close();
    mpixq_match_stop();
    mpixq_stats_tell(&mpixq_lib.stats);
    mpixq_trace_tell();
    mpixq_control_close();
    mpixq_stats_close(mpixq_lib.stats);
    mpixq_trace_end();
    mpixq_match_close();
    mpixq_requests_close();
    mpixq_channels_close();
    mpixq_streams_close();
    mpixq_ops_close();
    mpixq_comm_close();
    mpixq_node_close();
    tell_left(queues, requests, windows, streams);
    return MPI_SUCCESS;
}

static int hook_finalize(void)
{
    int key = MPI_KEYVAL_INVALID;
    int rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, teardown, &key, NULL);

    rc = rc ? rc : PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    return rc ? rc : PMPI_Comm_free_keyval(&key); /* lives on with the attribute */
}

void mpixq_lib_finalize(void)
{
    if (mpixq_lib_is_up()) {
        mpixq_mpi_close();
    }
}

static const char *level_name(void)
{
    return mpixq_lib.thread_level == MPI_THREAD_MULTIPLE     ? "multiple"
           : mpixq_lib.thread_level == MPI_THREAD_SERIALIZED ? "serialized"
           : mpixq_lib.thread_level == MPI_THREAD_FUNNELED   ? "funneled"
                                                             : "single";
}

/* In one line. */
static void mpi_version(char version[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length = 0;

    if (PMPI_Get_library_version(version, &length) != MPI_SUCCESS) {
        length = 0;
    }
    version[length] = '\0';
    for (int i = 0; i < length; i++) {
        version[i] = version[i] == '\n' || version[i] == '\t' ? ' ' : version[i];
    }
}

static const char *level_note(void)
{
    return mpixq_lib.thread_level == MPI_THREAD_MULTIPLE ? "" : ": queues cannot be made";
}

static void print_choices(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];

    mpi_version(version);
    mpixq_print("version %d.%d.%d on %.60s", MPIXQ_VERSION_MAJOR, MPIXQ_VERSION_MINOR,
                MPIXQ_VERSION_PATCH, version);
    mpixq_print("thread level %s%s", level_name(), level_note());
    mpixq_channels_print();
    mpixq_print("node: %d ranks of MPI_COMM_WORLD", mpixq_node_ranks());
    mpixq_streams_print();
    mpixq_affinity_print();
    mpixq_print("%d ranks for each CPU: waits %s", mpixq_backoff_crowding(),
                mpixq_backoff_yields() ? "yield" : "spin");
    mpixq_env_print();
}

void mpixq_lib_tell(struct mpixq_facts *facts)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];

    mpi_version(version);
    mpixq_fact(facts, "MPI", "%.60s", version);
    mpixq_fact(facts, "thread level", "%s%s", level_name(), level_note());
    mpixq_fact(facts, "ranks of the node", "%d", mpixq_node_ranks());
    mpixq_fact(facts, "waits", "%s (%d ranks for each CPU)",
               mpixq_backoff_yields() ? "yield" : "spin", mpixq_backoff_crowding());
}

/* One that may reach memory of GPUs, as far as is known before it is opened. */
static bool has_nic(void)
{
    const struct mpixq_channel *cxi = mpixq_channel_by_id(MPIXQ_CHANNEL_CXI);

    return cxi != NULL && mpixq_channel_set_has(&mpixq_env.channels, MPIXQ_CHANNEL_CXI) &&
           mpixq_env.cxi_gpu != MPIXQ_CXI_GPU_STAGED &&
           strncmp(mpixq_channel_availability(cxi), "available", strlen("available")) == 0;
}

void mpixq_lib_open(int level)
{
    int rc;

    mpixq_lib.thread_level = level;
    mpixq_env_read();
    mpixq_ranges_open();
    mpixq_failure_listen(&failure_listener);
    mpixq_graphs_set_looker(mpixq_rma_look);
    mpixq_streams_ask(any_graph_waits);
    mpixq_match_add_look(mpixq_watchdog_check, &mpixq_lib.watchdog);
    mpixq_match_add_look(mpixq_liveness_check, &mpixq_lib.liveness_ns);
    rc = PMPI_Comm_rank(MPI_COMM_WORLD, &mpixq_log_rank);
    rc = rc ? rc : mpixq_node_open();
    rc = rc ? rc : mpixq_comm_open();
    rc = rc ? rc : mpixq_control_open(&control_user);
    rc = rc ? rc : mpixq_channels_open();
    rc = rc ? rc : mpixq_nodes_compare(has_nic());
    rc = rc ? rc : hook_finalize();
    if (mpixq_log_rank == 0) {
        mpixq_env_warn();
    }
    if (rc != MPI_SUCCESS) {
        mpixq_err("the library could not be set up (MPI error %d): nothing can be matched", rc);
        atomic_store(&mpixq_lib.phase, MPIXQ_BROKEN);
        return;
    }
    mpixq_affinity_setup();
    mpixq_backoff_setup();
    mpixq_progress_setup(level, &progress_work);
    mpixq_dump_open();
    mpixq_trace_begin_job();
    if (mpixq_env.info && mpixq_log_rank == 0) {
        print_choices();
    }
    atomic_store_explicit(&mpixq_lib.phase, MPIXQ_UP, memory_order_release);
}
