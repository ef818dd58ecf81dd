/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The reach of the channel: before a match the NIC is told of the buffer, and the end is made. */
#include "comm/layout.h"
#include "end.h"
#include "libfabric.h"
#include "nic.h"
#include "process.h"
#include "stripe.h"
#include "supply.h"
#include "util/log.h"

/* NULL: the NIC has the whole buffer now; or why not. */
static const char *register_buffer(struct cxi_nic *nic, const struct mpixq_pair *pair,
                                   const void *buffer, struct fi_mr_attr *attr,
                                   struct fid_mr **region_p)
{
    const struct mpixq_message *message = &pair->message;
    struct iovec iov = {.iov_base = (void *)buffer,
                        .iov_len = (size_t)mpixq_type_bytes(message->type, message->count)};
    struct fid_mr *region = NULL;
    int rc;

    attr->mr_iov = &iov;
    attr->iov_count = 1;
    attr->access = mpixq_pair_is_send(pair) ? FI_WRITE : FI_REMOTE_WRITE;
    rc = mpixq_cxi_register(nic, attr, &region);
    *region_p = rc == 0 ? region : NULL;
    return rc == 0 ? NULL : mpixq_cxi_strerror(rc);
}

static const char *register_of_gpu(struct cxi_nic *nic, struct mpixq_pair *pair, const char *kind,
                                   struct fid_mr **region_p)
{
    struct fi_mr_attr attr = {.iface = FI_HMEM_SYSTEM};
    const char *why =
        mpixq_cxi_find_gpu(kind, pair->message.buffer, !mpixq_pair_is_send(pair), &attr);

    why = why != NULL ? why : register_buffer(nic, pair, pair->message.buffer, &attr, region_p);
    if (why == NULL && !mpixq_memory_held(kind, pair->message.buffer)) {
        mpixq_cxi_region_close(region_p);
        why = "the program's copies of the memory cannot be made synchronous";
    }
    return why;
}

/* The buffer as it is, if NICs reach it in memory of a GPU. */
static struct fid_mr *region_of_gpu(struct cxi_nic *nic, struct mpixq_pair *pair, const char *kind,
                                    const char *why)
{
    struct fid_mr *region = NULL;
    char text[64];

    why = why != NULL ? why : register_of_gpu(nic, pair, kind, &region);
    mpixq_debug("%s: the NIC %s%s", mpixq_pair_describe(pair, text, sizeof text),
                why == NULL ? "can access its buffer itself" : "needs a staging buffer: ",
                why == NULL ? "" : why);
    return region;
}

/* Make an end on this NIC, for the buffer in a GPU if that can be. NULL: it lacks something that
 * another may have. */
static struct cxi_end *end_on(struct cxi_nic *nic, struct mpixq_pair *pair, const char *kind)
{
    struct fi_mr_attr attr = {.iface = FI_HMEM_SYSTEM};
    struct fid_mr *region = NULL;

    if (kind != NULL) {
        region = region_of_gpu(nic, pair, kind, nic->why_no_hmem);
        pair->in_place = region != NULL;
    }
    if (kind != NULL && region == NULL && pair->staging == NULL) {
        return NULL;
    }
    if (region == NULL && nic->why_no_hmem == NULL && pair->message.count > 0) {
        (void)register_buffer(nic, pair, mpixq_pair_buffer(pair), &attr, &region);
    }
    return mpixq_cxi_end_prepare(nic, pair, region);
}

/* Where it is now known to be, be it in a GPU or in the host. */
static struct cxi_end *share_on(struct cxi_nic *nic, struct mpixq_pair *pair, const char *kind)
{
    bool in_place = pair->in_place;
    struct cxi_end *end = end_on(nic, pair, in_place ? kind : NULL);

    pair->in_place = in_place;
    if (end != NULL && end->direct != in_place) {
        mpixq_cxi_end_leave(end);
        end = NULL;
    }
    return end;
}

/* A message that may be large enough has ends on several NICs; the match decides how many. */
static void add_shares(struct mpixq_pair *pair, const char *kind)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();
    struct cxi_end *first = pair->reached;
    int wanted = mpixq_cxi_stripes_wanted(pair, nics->n) - 1;

    for (int i = 1; wanted > 0 && i < nics->n; i++) {
        struct cxi_end *end = share_on(nics->of[(first->nic->number + i) % nics->n], pair, kind);

        wanted -= end != NULL && mpixq_cxi_stripe_add(first, end);
    }
    mpixq_cxi_stripes_lack(first, wanted);
}

/* In a domain for memory of GPUs any registration asks the GPU's library what memory that is, and
 * so those of the host's are made here too: a match may be made by the progress thread. */
void mpixq_cxi_reach(struct mpixq_pair *pair, const char *kind)
{
    const struct cxi_nics *nics;
    struct cxi_nic *nic = NULL;
    const char *why;

    pair->in_place = false;
    mpixq_cxi_ask_gpus(kind, kind != NULL ? pair->message.buffer : NULL, NULL);
    why = mpixq_cxi_obstacle(pair, &nic);
    if (why != NULL) {
        if (kind != NULL) {
            (void)region_of_gpu(nic, pair, kind, why); /* the log says so */
        }
        return;
    }
    pair->reached = end_on(nic, pair, kind);
    nics = mpixq_cxi_opened();
    for (int i = 0; pair->reached == NULL && i < nics->n; i++) {
        pair->reached = nics->of[i] != nic ? end_on(nics->of[i], pair, kind) : NULL;
    }
    if (pair->reached != NULL) {
        add_shares(pair, kind);
    } else {
        pair->in_place = false;
    }
}

void mpixq_cxi_unreach(struct mpixq_pair *pair)
{
    struct cxi_end *end = pair->reached;

    pair->reached = NULL;
    if (end != NULL) {
        mpixq_cxi_end_leave(end);
    }
}

bool mpixq_cxi_writes(const char *kind, const void *address)
{
    const struct cxi_nics *nics;
    struct fi_mr_attr attr;
    const char *why;

    mpixq_cxi_ask_gpus(kind, address, NULL);
    nics = mpixq_cxi_open(&why);
    return nics != NULL && nics->of[0]->why_no_hmem == NULL &&
           mpixq_cxi_find_gpu(kind, address, true, &attr) == NULL;
}
