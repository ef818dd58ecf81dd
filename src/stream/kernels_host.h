/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels as functions of the host.
 */
#ifndef MPIXQ_KERNELS_HOST_H
#define MPIXQ_KERNELS_HOST_H

#include <stdint.h>

#include "pieces.h"

void mpixq_ring(uint64_t *word, uint64_t value);
void mpixq_wait(const uint64_t *gate, uint64_t value, uint64_t *word, uint64_t passed);
void mpixq_ring_all(struct mpixq_words all);
void mpixq_wait_all(struct mpixq_words all);
void mpixq_wait_plain(struct mpixq_words all);
void mpixq_wait_combine(struct mpixq_words all);
void mpixq_copy(struct mpixq_pieces all);
void mpixq_move_all(struct mpixq_moves all);
void mpixq_move_plain(struct mpixq_moves all);
void mpixq_pass_all(struct mpixq_moves all);
void mpixq_pass_plain(struct mpixq_moves all);
void mpixq_pass_combine(struct mpixq_moves all);
void mpixq_call_back(struct mpixq_recall one);
void mpixq_try_end(mpixq_word_t *word, mpixq_word_t *outcome);
void mpixq_put_all(struct mpixq_puts all);
void mpixq_set_signal(struct mpixq_set one);
void mpixq_await_signal(struct mpixq_await one);
void mpixq_combine_all(struct mpixq_combine all);
void mpixq_combine_wide(struct mpixq_combine all);

#endif
