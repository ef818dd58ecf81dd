/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "lib.h"

#include <mpi.h>
#include <stddef.h>

#include "affinity.h"
#include "backoff.h"
#include "channel.h"
#include "comm.h"
#include "control.h"
#include "env.h"
#include "handles.h"
#include "host.h"
#include "log.h"
#include "match.h"
#include "mpix_queue.h"
#include "progress.h"
#include "queue.h"
#include "stream/host_stream.h"
#include "stream/stream.h"

atomic_int mpixq_phase = MPIXQ_BEFORE;
static int thread_level;

int mpixq_lib_thread_level(void)
{
    return thread_level;
}

bool mpixq_lib_ready(bool interposed, enum mpixq_error *error_p)
{
    int initialised = 0, finalised = 0, now = atomic_load(&mpixq_phase);

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

/* Its deletion is the teardown: by mpixq_lib_close, or by MPI_Finalize, which deletes the
 * attributes of MPI_COMM_SELF first, whichever way it is called. */
static int teardown_key = MPI_KEYVAL_INVALID;

static void recall(struct mpixq_request *req, void *arg)
{
    (void)arg;
    if (req->channel != NULL) {
        req->channel->recall(req);
    }
}

static int teardown(MPI_Comm comm, int key, void *value, void *extra)
{
    int queues, streams, busy, requests = 0;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    atomic_store(&mpixq_phase, MPIXQ_AFTER);
    mpixq_request_each(count_matched, &requests);
    queues = mpixq_queues_close();
    streams = mpixq_host_streams_close();
    mpixq_progress_stop();
    mpixq_host_close();
    mpixq_handles_each(recall, NULL); /* no other thread is here any more */
    mpixq_match_stop();
    mpixq_control_close();
    mpixq_match_close(&busy);
    mpixq_requests_close();
    mpixq_channels_close();
    mpixq_streams_close();
    mpixq_comm_close();
    if (queues + streams + requests > 0) {
        mpixq_warn("MPI_Finalize: not freed: %d queues, %d host streams, %d matched requests",
                   queues, streams, requests);
    }
    if (busy > 0) {
        mpixq_warn(
            "MPI_Finalize: %d sends were started and never received: their buffers are in use "
            "until the process ends",
            busy);
    }
    return MPI_SUCCESS;
}

static int hook_finalize(void)
{
    int rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, teardown, &teardown_key, NULL);

    return rc ? rc : PMPI_Comm_set_attr(MPI_COMM_SELF, teardown_key, NULL);
}

void mpixq_lib_close(void)
{
    if (mpixq_lib_is_up()) {
        (void)PMPI_Comm_delete_attr(MPI_COMM_SELF, teardown_key);
        (void)PMPI_Comm_free_keyval(&teardown_key);
    }
}

static void print_choices(void)
{
    static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, level = thread_level == MPI_THREAD_MULTIPLE     ? 3
                        : thread_level == MPI_THREAD_SERIALIZED ? 2
                        : thread_level == MPI_THREAD_FUNNELED   ? 1
                                                                : 0;

    if (PMPI_Get_library_version(version, &length) != MPI_SUCCESS) {
        version[0] = '\0';
    }
    for (int i = 0; i < length; i++) {
        version[i] = version[i] == '\n' || version[i] == '\t' ? ' ' : version[i];
    }
    mpixq_print("version %d.%d.%d on %.60s", MPIXQ_VERSION_MAJOR, MPIXQ_VERSION_MINOR,
                MPIXQ_VERSION_PATCH, version);
    mpixq_print("thread level %s%s", levels[level], level < 3 ? ": queues cannot be made" : "");
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_print("channel %s: available, place %d", mpixq_channels[i]->name, i + 1);
    }
    if (mpixq_channel_by_id(MPIXQ_CHANNEL_CXI) == NULL) {
        mpixq_print("channel cxi: the library was built without libfabric");
    }
    mpixq_streams_print();
    mpixq_affinity_print();
    mpixq_print("%d ranks for each CPU: waits %s", mpixq_backoff_crowding(),
                mpixq_backoff_yields() ? "yield" : "spin");
    mpixq_env_print();
}

void mpixq_lib_open(int level)
{
    int rc;

    thread_level = level;
    mpixq_env_read();
    rc = PMPI_Comm_rank(MPI_COMM_WORLD, &mpixq_log_rank);
    rc = rc ? rc : mpixq_comm_open();
    rc = rc ? rc : mpixq_control_open();
    rc = rc ? rc : mpixq_channels_open();
    rc = rc ? rc : hook_finalize();
    if (mpixq_log_rank == 0) {
        mpixq_env_warn();
    }
    if (rc != MPI_SUCCESS) {
        mpixq_err("the library could not be set up (MPI error %d): nothing can be matched", rc);
        atomic_store(&mpixq_phase, MPIXQ_BROKEN);
        return;
    }
    mpixq_affinity_setup();
    mpixq_backoff_setup();
    mpixq_progress_setup(level);
    if (mpixq_env.info && mpixq_log_rank == 0) {
        print_choices();
    }
    atomic_store_explicit(&mpixq_phase, MPIXQ_UP, memory_order_release);
}
