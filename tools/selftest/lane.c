/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * lane.c - memory and a stream, and what is put on that
 *
 * Lane 0 is memory of the host on a host stream. Each vendor of GPUs has two: its memory, and
 * pinned memory of the host, on a stream of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/node.h"
#include "selftest.h"
#include "stream/gpu.h"
#include "stream/gpu_share.h"

const char *lane_stream(int lane)
{
    return lane == 0 ? "host" : mpixq_gpus[(lane - 1) / 2]->name;
}

const char *lane_memory(int lane)
{
    return lane % 2 == 0 ? "host" : lane_stream(lane);
}

bool is_well(int code, const char *what, char why[TEXT])
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
        (void)snprintf(why, TEXT, "%s: %.*s", what, TEXT - 40, text);
    }
    return code == MPI_SUCCESS;
}

static bool is_well_there(const struct mpixq_gpu *gpu, int code, const char *what, char why[TEXT])
{
    if (code != 0) {
        (void)snprintf(why, TEXT, "%s, to %s: %s", gpu->name, what, gpu->text(code));
    }
    return code == 0;
}

static bool open_queue(struct lane *lane, char why[TEXT])
{
    void *stream = lane->gpu != NULL ? (void *)&lane->gpu_stream : (void *)&lane->host_stream;
    MPI_Info info;
    int code;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", lane->gpu != NULL ? lane->gpu->kind : "mpix_host_stream");
    code = MPIXQ_Queue_init_info(&lane->queue, MPIXQ_QUEUE_AUTO, stream, info);
    MPI_Info_free(&info);
    lane->is_there = is_well(code, "a queue", why);
    return lane->is_there;
}

static bool open_host(struct lane *lane, char why[TEXT])
{
    unsigned char **all[] = {&lane->send, &lane->recv, &lane->source, &lane->seen};

    for (int i = 0; i < 4; i++) {
        *all[i] = need(malloc(i < 2 ? SPAN : (size_t)STEPS * SPAN));
    }
    return is_well(MPIXQ_Host_stream_create(&lane->host_stream), "a host stream", why) &&
           open_queue(lane, why);
}

static int alloc_buffer(const struct lane *lane, void **address_p)
{
    return lane->in_gpu ? lane->gpu->alloc(SPAN, address_p)
                        : mpixq_gpu_host_alloc(lane->gpu, SPAN, address_p);
}

static bool open_gpu(struct lane *lane, char why[TEXT])
{
    const struct mpixq_gpu *gpu = lane->gpu;

    return is_well_there(gpu, alloc_buffer(lane, (void **)&lane->send), "allocate", why) &&
           is_well_there(gpu, alloc_buffer(lane, (void **)&lane->recv), "allocate", why) &&
           is_well_there(gpu,
                         mpixq_gpu_host_alloc(gpu, (size_t)STEPS * SPAN, (void **)&lane->source),
                         "allocate for the host", why) &&
           is_well_there(gpu, mpixq_gpu_host_alloc(gpu, (size_t)STEPS * SPAN, (void **)&lane->seen),
                         "allocate for the host", why) &&
           is_well_there(gpu, mpixq_gpu_own_stream(gpu, &lane->gpu_stream), "make a stream", why) &&
           open_queue(lane, why);
}

/* Ranks of a node take its GPUs in turn. True too if there is none. */
static bool open_vendor(struct lane lanes[2], const struct mpixq_gpu *gpu, char bus[BUS],
                        char why[TEXT])
{
    char name[MPIXQ_GPU_NAME_ROOM] = "";
    int count = 0, device;

    now_at(false, "the GPUs of %s", gpu->library);
    if (!gpu->find(true) || mpixq_gpu_count(gpu, &count) != 0 || count < 1) {
        return true;
    }
    device = mpixq_node_rank() % count;
    if (!is_well_there(gpu, gpu->use(device), "use a GPU", why)) {
        return false;
    }
    if (mpixq_gpu_describe(gpu, device, name, bus) != 0) {
        (void)snprintf(bus, BUS, "GPU %d", device);
    }
    for (int i = 0; i < 2; i++) {
        lanes[i].gpu = gpu;
        lanes[i].in_gpu = i == 0;
        if (!open_gpu(&lanes[i], why)) {
            return false;
        }
    }
    return true;
}

bool lanes_open(struct lane lanes[LANES], struct who *who, char why[TEXT])
{
    bool is_good;

    memset(lanes, 0, LANES * sizeof *lanes);
    now_at(false, "a host stream");
    is_good = open_host(&lanes[0], why);
    for (int i = 0; !opts.no_gpu && i < MOST_VENDORS && mpixq_gpus[i] != NULL; i++) {
        is_good &= open_vendor(&lanes[1 + 2 * i], mpixq_gpus[i], who->bus[i], why);
    }
    for (int i = 0; i < LANES; i++) {
        who->lanes |= lanes[i].is_there ? 1u << i : 0;
    }
    return is_good;
}

void lanes_ask(struct lane lanes[LANES])
{
    for (int i = 0; i < LANES; i++) {
        MPI_Info info;
        int is_set;

        if (lanes[i].is_there && MPIXQ_Queue_get_info(lanes[i].queue, &info) == MPI_SUCCESS) {
            MPI_Info_get(info, "mpixq_stream_by", sizeof lanes[i].by - 1, lanes[i].by, &is_set);
            MPI_Info_free(&info);
        }
    }
}

/* What a broken one keeps, goes with the process. */
void lanes_close(struct lane lanes[LANES])
{
    for (int i = 0; i < LANES; i++) {
        if (lanes[i].is_there && MPIXQ_Queue_free(&lanes[i].queue) == MPI_SUCCESS &&
            lanes[i].gpu == NULL) {
            (void)MPIXQ_Host_stream_destroy(&lanes[i].host_stream);
        }
    }
}

void lanes_free(struct lane lanes[LANES])
{
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &lanes[i];
        unsigned char *all[] = {lane->send, lane->recv, lane->source, lane->seen};

        for (int j = 0; j < 4; j++) {
            if (lane->gpu == NULL) {
                free(all[j]);
            } else if (all[j] != NULL && j < 2 && lane->in_gpu) {
                mpixq_gpu_free(lane->gpu, all[j]);
            } else if (all[j] != NULL) {
                mpixq_gpu_host_free(lane->gpu, all[j]);
            }
        }
    }
}

static void do_job(void *arg)
{
    const struct job *job = arg;

    memcpy(job->to, job->from, job->bytes);
}

bool lane_copy(struct lane *lane, void *to, const void *from, size_t bytes, char why[TEXT])
{
    struct job *job = &lane->jobs[lane->n_jobs];

    if (lane->gpu != NULL) {
        return is_well_there(lane->gpu, lane->gpu->copy(lane->gpu_stream, to, from, bytes), "copy",
                             why);
    }
    lane->n_jobs++;
    *job = (struct job){.to = to, .from = from, .bytes = bytes};
    return is_well(MPIXQ_Host_stream_launch(lane->host_stream, do_job, job), "a launch", why);
}

/* The queue knows errors of communication, the stream whether the last copy is done. */
bool lane_finish(struct lane *lane, char why[TEXT])
{
    bool is_good = is_well(MPIXQ_Queue_wait(lane->queue), "MPIX_Queue_wait", why);

    lane->n_jobs = 0;
    if (lane->gpu != NULL) {
        int code = mpixq_gpu_finish(lane->gpu, lane->gpu_stream);

        return is_good && is_well_there(lane->gpu, code, "wait for a stream", why);
    }
    return is_well(MPIXQ_Host_stream_synchronize(lane->host_stream), "a host stream",
                   is_good ? why : (char[TEXT]){0}) &&
           is_good;
}
