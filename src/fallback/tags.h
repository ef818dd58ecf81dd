/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Tags of the fallback channel: the receiver chooses one per pair, different from all others in
 * use with the same source, so that a message can only go where it was matched to. Under the
 * matching lock.
 */
#ifndef MPIXQ_TAGS_H
#define MPIXQ_TAGS_H

/* Set the largest tag there is. Before any other function here. */
void mpixq_tags_open(int largest);
void mpixq_tags_close(void);
int mpixq_tags_largest(void);
/* A tag that is not in use with this source, or -1: all are in use, or there is no memory. */
int mpixq_tag_take(int source);
/* Nothing sent with the tag can arrive any more. */
void mpixq_tag_give_back(int source, int tag);

#endif
