/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "log.h"
#include "mpix_queue.h"

struct definition {
    int kind;
    const char *text;
};

static const struct definition definitions[MPIXQ_E_COUNT] = {
#define MPIXQ_ERROR(name, kind_, text_) [MPIXQ_E_##name] = {.kind = kind_, .text = text_},
#include "error_defs.h"
#undef MPIXQ_ERROR
};

static const char *const kind_texts[] = {
    [MPIXQ_ERR_INTERPOSE] = "mpix_queue: MPI calls do not come by the library",
    [MPIXQ_ERR_ARG] = "mpix_queue: invalid argument",
    [MPIXQ_ERR_REQUEST] = "mpix_queue: unknown request",
    [MPIXQ_ERR_STATE] = "mpix_queue: not allowed in this state",
    [MPIXQ_ERR_MATCH] = "mpix_queue: requests cannot be matched",
    [MPIXQ_ERR_UNSUPPORTED] = "mpix_queue: not supported",
    [MPIXQ_ERR_RESOURCES] = "mpix_queue: no resources left",
    [MPIXQ_ERR_THREAD_LEVEL] = "mpix_queue: thread level of MPI too low",
    [MPIXQ_ERR_COMM] = "mpix_queue: communication failed",
    [MPIXQ_ERR_TIMEOUT] = "mpix_queue: the watchdog ended a wait or a match",
};

/* Open MPI refuses longer texts. */
#define MPIXQ_ERROR(name, kind_, text_) _Static_assert(sizeof text_ <= 256, "text of " #name);
#include "error_defs.h"
#undef MPIXQ_ERROR

#define N_KINDS (sizeof kind_texts / sizeof kind_texts[0])

/* Written once under once_codes, constant afterwards. 0 where MPI gave no code. */
static int codes[MPIXQ_E_COUNT];
static pthread_once_t once_codes = PTHREAD_ONCE_INIT;
static atomic_bool has_codes; /* for those who do not want to make them: codes is constant */

static void add_text(int code, const char *text)
{
    if (PMPI_Add_error_string(code, text) != MPI_SUCCESS) {
        mpixq_warn("no text could be added to error code %d", code);
    }
}

static void add_codes(void)
{
    int classes[N_KINDS] = {0};

    for (size_t k = 1; k < N_KINDS; k++) {
        if (PMPI_Add_error_class(&classes[k]) == MPI_SUCCESS) {
            add_text(classes[k], kind_texts[k]);
        }
    }
    for (size_t e = 1; e < MPIXQ_E_COUNT; e++) {
        int class = classes[definitions[e].kind];

        if (class != 0 && PMPI_Add_error_code(class, &codes[e]) == MPI_SUCCESS) {
            add_text(codes[e], definitions[e].text);
        }
    }
    atomic_store_explicit(&has_codes, true, memory_order_release);
}

int mpixq_error_code(enum mpixq_error error)
{
    if (error == MPIXQ_E_NONE) {
        return MPI_SUCCESS;
    }
    if (error == MPIXQ_E_TRUNCATE) {
        return MPI_ERR_TRUNCATE;
    }
    (void)pthread_once(&once_codes, add_codes);
    return codes[error] != 0 ? codes[error] : MPI_ERR_OTHER;
}

int mpixq_error_code_saying(enum mpixq_error error, const char *text)
{
    int code = mpixq_error_code(error);

    if (mpixq_error_kind(code) != MPIXQ_ERR_NONE) {
        add_text(code, text);
    }
    return code;
}

const char *mpixq_error_text(enum mpixq_error error)
{
    return error > MPIXQ_E_NONE && error < MPIXQ_E_COUNT ? definitions[error].text : "no error";
}

int mpixq_error_kind(int code)
{
    if (!atomic_load_explicit(&has_codes, memory_order_acquire)) {
        return MPIXQ_ERR_NONE;
    }
    for (size_t e = 1; e < MPIXQ_E_COUNT; e++) {
        if (code != 0 && codes[e] == code) {
            return definitions[e].kind;
        }
    }
    return MPIXQ_ERR_NONE;
}

int mpixq_error_raise(MPI_Comm comm, int code)
{
    if (code != MPI_SUCCESS) {
        (void)PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, code);
    }
    return code;
}
