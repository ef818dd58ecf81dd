/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * device_gpu.h - has the device headers that are included behind it compile as for a GPU, for a
 * thread of the host that stands for one of its threads: what only GPUs have, and what tests watch
 */
#ifndef MPIXQ_TEST_DEVICE_GPU_H
#define MPIXQ_TEST_DEVICE_GPU_H

#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device_words.h"

static unsigned thread; /* which one it stands for, of its block */
static mpixq_dev_word clock_ns;

static void put_two(mpixq_dev_word *words, mpixq_dev_word first, mpixq_dev_word second);
static void look_again(void);

static unsigned from_lane(unsigned value, unsigned further)
{
    (void)further;
    return value;
}

static void add_shared(unsigned *word, unsigned value)
{
    *word += value;
}

#undef MPIXQ_DEV_HOST
#define MPIXQ_DEV_HOST 0
#define shared unused
#define mpixq_dev_from_lane from_lane
#define mpixq_dev_add_shared add_shared
#define mpixq_dev_put_two put_two
#define mpixq_dev_pause look_again
#define mpixq_dev_clock() clock_ns
#define mpixq_dev_rank_in_block() thread

#endif
