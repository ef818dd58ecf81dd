/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave.h - what the cases of behave share
 */
#ifndef HIP_DOUBLE_BEHAVE_H
#define HIP_DOUBLE_BEHAVE_H

#include <stdbool.h>

#include "api.h"
#include "hip_double.h"

enum { BEHAVE_BROKEN = 3 };

struct behave_case {
    const char *name;
    bool (*look)(void); /* is it as README.md says? */
};

extern const struct behave_case behave_stream_cases[], behave_memory_cases[], behave_file_cases[],
    behave_capture_cases[], behave_graph_cases[], behave_reset_cases[], behave_hidden_cases[];

/* What a case takes for granted: otherwise it ends, and is broken. */
void behave_need(bool condition, const char *text, int line);
#define NEED(condition) behave_need(condition, #condition, __LINE__)
void behave_nap(unsigned ms);
/* Does the function end a process? */
bool behave_aborts(void (*function)(void *arg), void *arg);

/* The parameter of the kernels in kernels.c. */
struct behave_words {
    uint64_t *word;
    uint64_t value;
    unsigned char *memory;
    uint64_t bytes;
};
enum behave_kernel { BEHAVE_STORE, BEHAVE_WAIT, BEHAVE_ADD };
hipError_t behave_launch(enum behave_kernel which, hipStream_t stream, struct behave_words words);
/* A pinned word that is 0, and its address for devices. */
uint64_t *behave_word(uint64_t **there_p);
void behave_set(uint64_t *word, uint64_t value);
uint64_t behave_get(const uint64_t *word);
hipStream_t behave_stream(void);

#endif
