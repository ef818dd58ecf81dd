/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a partitioned request consists of. */
#include "partitions.h"

#include <stddef.h>

#include "comm/comm.h"
#include "comm/layout.h"
#include "util/alloc.h"

void mpixq_partitions_free(struct mpixq_partitions *partitions)
{
    if (partitions != NULL) {
        mpixq_parted_free_parts(&partitions->parted);
        mpixq_free(partitions->parted.split);
        mpixq_free((void *)partitions->ready);
        mpixq_free((void *)partitions->claimed);
        mpixq_free((void *)partitions->arrived);
        mpixq_free((void *)partitions->begun);
        mpixq_free(partitions);
    }
}

static void forget(struct mpixq_parts_base *parts)
{
    mpixq_partitions_free((struct mpixq_partitions *)(void *)parts);
}

static int most_messages(int n, int most)
{
    return n < 1 ? 1 : n < most ? n : most;
}

static void matched(struct mpixq_request *req)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);

    partitions->is_staged = partitions->of_gpus = req->pair.in_gpu = false;
    for (int i = 0; i <= partitions->n_parts; i++) {
        const struct mpixq_pair *part = &partitions->parted.parts[i]->pair;

        if (part->in_gpu) { /* whether a device was reset is asked of what has a handle */
            req->pair.in_gpu = true;
            req->pair.message.life = part->message.life;
        }
        partitions->is_staged |= part->staging != NULL;
        partitions->of_gpus |= part->channel->of_gpus;
    }
    partitions->parted.pair = &req->pair;
    req->pair.channel = &mpixq_channel_partitions;
}

struct mpixq_partitions *mpixq_partitions_create(int n, int most, bool is_send)
{
    struct mpixq_partitions *made = mpixq_alloc(sizeof *made); /* freed in partitions_free */
    size_t n_messages = (size_t)most_messages(n, most);

    if (made == NULL) {
        return NULL;
    }
    made->parted.base.forget = forget;
    made->parted.matched = matched;
    made->parted.go_on = mpixq_partitions_go_on_with;
    made->n = n;
    made->most = most;
    if (is_send) {
        made->ready = mpixq_alloc(((size_t)n + 1) * sizeof *made->ready);
        made->claimed = mpixq_alloc(((size_t)n + 1) * sizeof *made->claimed);
        made->arrived = mpixq_alloc(n_messages * sizeof *made->arrived);
        made->begun = mpixq_alloc(n_messages * sizeof *made->begun);
        if (made->ready == NULL || made->claimed == NULL || made->arrived == NULL ||
            made->begun == NULL) {
            mpixq_partitions_free(made);
            return NULL;
        }
    }
    return made;
}

bool mpixq_partitions_renew(struct mpixq_request *req)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    struct mpixq_parted *parted = &partitions->parted;
    int n = most_messages(partitions->n, partitions->most) + 1;

    if (!mpixq_parted_make_room(parted, n)) {
        return false;
    }
    for (; parted->n_room < n; parted->n_room++) {
        parted->parts[parted->n_room] = mpixq_request_make_part(req, req->pair.message.type);
        if (parted->parts[parted->n_room] == NULL) {
            mpixq_parted_free_parts(parted);
            return false;
        }
    }
    return true;
}

int mpixq_partitions_agree(int n, int most, int other_n, int other_most)
{
    int a = n, b = other_n, limit = most < other_most ? most : other_most;

    if (n < 1 || other_n < 1) {
        return 1; /* nothing moves */
    }
    while (b != 0) {
        int rest = a % b;

        a = b;
        b = rest;
    }
    for (int parts = a < limit ? a : limit; parts > 1; parts--) {
        if (a % parts == 0) {
            return parts;
        }
    }
    return 1;
}

void mpixq_partitions_cut(struct mpixq_request *req, int n_parts)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    const struct mpixq_message *whole = &req->pair.message;
    bool is_send = mpixq_request_is_send(req);
    MPI_Count count = whole->count / n_parts;
    MPI_Aint lower, extent = 0;

    (void)PMPI_Type_get_extent(whole->type, &lower, &extent);
    partitions->n_parts = n_parts;
    partitions->parted.n_used = n_parts + 1;
    partitions->of_each = partitions->n / n_parts;
    for (int i = 0; i <= n_parts; i++) {
        struct mpixq_request *part = partitions->parted.parts[i];
        struct mpixq_message *message = &part->pair.message;

        part->channels = req->channels;
        part->op_index = i;
        if (i == n_parts) { /* the other way */
            message->mode = is_send ? MPIXQ_MODE_RECV : MPIXQ_MODE_SEND;
            message->count = 0;
        } else {
            message->mode = whole->mode;
            message->count = count;
            message->buffer = (const char *)whole->buffer + i * count * extent;
        }
    }
}
