/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Tags of the fallback channel: the receiver chooses one per pair, different from all others in
 * use with the same source, so that a message can only go where it was matched to. Under the
 * matching lock.
 */
#ifndef MPIXQ_TAGS_H
#define MPIXQ_TAGS_H

struct mpixq_tags {
    int largest;
    struct mpixq_tag_source *sources; /* with which some tag was in use, by rank */
};

/* Begin with those up to largest; closing frees what tags has, and leaves no source. */
void mpixq_tags_open(struct mpixq_tags *tags, int largest);
void mpixq_tags_close(struct mpixq_tags *tags);
/* A tag that is not in use with this source, or -1: all are in use, or there is no memory. */
int mpixq_tag_take(struct mpixq_tags *tags, int source);
/* Nothing sent with the tag can arrive any more. */
void mpixq_tag_give_back(struct mpixq_tags *tags, int source, int tag);

#endif
