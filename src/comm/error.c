/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mpix_queue.h"
#include "util/lock.h"
#include "util/log.h"

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

#define MPIXQ_ERROR(name, kind_, text_)                                                            \
    _Static_assert(sizeof text_ <= MPIXQ_ERROR_ROOM, "text of " #name);
#include "error_defs.h"
#undef MPIXQ_ERROR

#define N_KINDS (sizeof kind_texts / sizeof kind_texts[0])

/* Codes whose texts say what happened. Each kind has a few, which are used in turn, so that an
 * error does not change the text of the one before it. Causes have others than what calls return,
 * so that calls which fail for one cause, again and again, do not take its text away. */
enum { RING = 8, MPI_RINGS = 4 };
struct ring {
    atomic_int codes[RING]; /* 0: not added yet. Written under the lock, and once. */
    int next;               /* this and what follows: under the lock */
    char texts[RING][MPIXQ_ERROR_ROOM];
    size_t why[RING]; /* of a cause: where in its text it no longer says which request */
};
static struct {
    /* Written once under once_codes, constant afterwards. 0 where MPI gave no code. */
    pthread_once_t once_codes;
    int codes[MPIXQ_E_COUNT];
    int classes[N_KINDS];
    atomic_bool has_codes; /* for those who do not want to make them: codes is constant */
    /* Guards the rest. */
    struct mpixq_lock lock;
    struct ring rings[N_KINDS], causes[N_KINDS];
    /* In MPI's own classes, those that came first. */
    struct {
        int class; /* 0: nobody's yet */
        bool is_impossible;
        struct ring ring;
    } mpi_rings[MPI_RINGS];
} made = {.once_codes = PTHREAD_ONCE_INIT, .lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_ERROR)};

static void add_text(int code, const char *text)
{
    if (PMPI_Add_error_string(code, text) != MPI_SUCCESS) {
        mpixq_warn("no text could be added to error code %d", code);
    }
}

static void add_codes(void)
{
    for (size_t k = 1; k < N_KINDS; k++) {
        if (PMPI_Add_error_class(&made.classes[k]) == MPI_SUCCESS) {
            add_text(made.classes[k], kind_texts[k]);
        }
    }
    for (size_t e = 1; e < MPIXQ_E_COUNT; e++) {
        int class = made.classes[definitions[e].kind];

        if (class != 0 && PMPI_Add_error_code(class, &made.codes[e]) == MPI_SUCCESS) {
            add_text(made.codes[e], definitions[e].text);
        }
    }
    atomic_store_explicit(&made.has_codes, true, memory_order_release);
}

int mpixq_error_code(enum mpixq_error error)
{
    if (error == MPIXQ_E_NONE) {
        return MPI_SUCCESS;
    }
    if (error == MPIXQ_E_TRUNCATE) {
        return MPI_ERR_TRUNCATE;
    }
    (void)pthread_once(&made.once_codes, add_codes);
    return made.codes[error] != 0 ? made.codes[error] : MPI_ERR_OTHER;
}

/* Does MPI tell a code that was added to a class of its own from those it has there? MPICH 4.0 does
 * not: it gives such a code the text of another error. */
static bool keeps_text(int code, int class, const char *text)
{
    char said[MPI_MAX_ERROR_STRING];
    int found = MPI_SUCCESS, length;

    return PMPI_Error_class(code, &found) == MPI_SUCCESS && found == class &&
           PMPI_Error_string(code, said, &length) == MPI_SUCCESS && strcmp(said, text) == 0;
}

/* The place in the ring that has this text, or the next one, which has from now on; -1 without one.
 * Under the lock. */
static int ring_place(struct ring *ring, int class, const char *text)
{
    int place = ring->next, code;

    for (int i = 0; i < RING; i++) {
        if (atomic_load(&ring->codes[i]) != 0 && strcmp(ring->texts[i], text) == 0) {
            return i;
        }
    }
    code = atomic_load(&ring->codes[place]);
    if (code == 0 && (class == 0 || PMPI_Add_error_code(class, &code) != MPI_SUCCESS)) {
        return -1;
    }
    add_text(code, text);
    (void)snprintf(ring->texts[place], sizeof ring->texts[place], "%s", text);
    atomic_store(&ring->codes[place], code);
    ring->next = (place + 1) % RING;
    return place;
}

/* A code of this kind; 0 without one. */
static int say(struct ring *of_kinds, int kind, const char *text, size_t why)
{
    struct ring *ring = &of_kinds[kind];
    int place, code = 0;

    mpixq_lock_acquire(&made.lock);
    place = ring_place(ring, made.classes[kind], text);
    if (place >= 0) {
        ring->why[place] = why;
        code = atomic_load(&ring->codes[place]);
    }
    mpixq_lock_release(&made.lock);
    return code;
}

/* As say, in a class of MPI. */
static int say_in_class(int class, const char *text)
{
    int i = 0, place, code = 0;

    mpixq_lock_acquire(&made.lock);
    while (i < MPI_RINGS && made.mpi_rings[i].class != 0 && made.mpi_rings[i].class != class) {
        i++;
    }
    if (i < MPI_RINGS && !made.mpi_rings[i].is_impossible) {
        made.mpi_rings[i].class = class;
        place = ring_place(&made.mpi_rings[i].ring, class, text);
        code = place >= 0 ? atomic_load(&made.mpi_rings[i].ring.codes[place]) : 0;
        made.mpi_rings[i].is_impossible = code != 0 && !keeps_text(code, class, text);
        code = made.mpi_rings[i].is_impossible ? 0 : code;
    }
    mpixq_lock_release(&made.lock);
    return code;
}

static void cut(const char *text, char cut_p[MPIXQ_ERROR_ROOM])
{
    if (snprintf(cut_p, MPIXQ_ERROR_ROOM, "%s", text) >= MPIXQ_ERROR_ROOM) {
        memcpy(cut_p + MPIXQ_ERROR_ROOM - sizeof "...", "...", sizeof "...");
    }
}

int mpixq_error_code_saying(enum mpixq_error error, const char *text)
{
    char fits[MPIXQ_ERROR_ROOM];
    int code = mpixq_error_code(error), said;

    if (code == MPI_SUCCESS || code == MPI_ERR_OTHER) {
        return code;
    }
    cut(text, fits);
    if (error != MPIXQ_E_TRUNCATE) {
        said = say(made.rings, definitions[error].kind, fits, 0);
        return said != 0 ? said : code;
    }
    said = say_in_class(MPI_ERR_TRUNCATE, fits);
    if (said == 0) {
        mpixq_warn("%s", fits); /* MPI's own text says nothing of it */
    }
    return said != 0 ? said : code;
}

int mpixq_error_cause(enum mpixq_error error, const char *what, const char *why)
{
    char text[2 * MPIXQ_ERROR_ROOM], fits[MPIXQ_ERROR_ROOM];
    int code = mpixq_error_code(error), said;
    size_t where = what != NULL ? strlen(what) + strlen(": ") : 0;

    if (code == MPI_SUCCESS || code == MPI_ERR_OTHER) {
        return code;
    }
    (void)snprintf(text, sizeof text, "%s%s%s", what != NULL ? what : "", what != NULL ? ": " : "",
                   why);
    cut(text, fits);
    said = say(made.causes, definitions[error].kind, fits, where < strlen(fits) ? where : 0);
    return said != 0 ? said : code;
}

/* Of which kind is a cause, and its text? 0: the code is of none. */
static int find_cause(int code, bool names_request, char text_p[MPIXQ_ERROR_ROOM])
{
    for (size_t k = 1; k < N_KINDS; k++) {
        for (int i = 0; i < RING; i++) {
            if (atomic_load(&made.causes[k].codes[i]) == code) {
                mpixq_lock_acquire(&made.lock);
                (void)snprintf(text_p, MPIXQ_ERROR_ROOM, "%s",
                               made.causes[k].texts[i] +
                                   (names_request ? made.causes[k].why[i] : 0));
                mpixq_lock_release(&made.lock);
                return (int)k;
            }
        }
    }
    return 0;
}

int mpixq_error_code_at(int code, const char *where, bool names_request)
{
    char why[MPI_MAX_ERROR_STRING > MPIXQ_ERROR_ROOM ? MPI_MAX_ERROR_STRING : MPIXQ_ERROR_ROOM];
    char text[sizeof why + 2 * MPIXQ_ERROR_ROOM], fits[MPIXQ_ERROR_ROOM];
    int kind = find_cause(code, names_request, why), class = MPI_ERR_OTHER, length, said = 0;

    if (kind == 0 && (!names_request || mpixq_error_kind(code) != MPIXQ_ERR_NONE ||
                      PMPI_Error_class(code, &class) != MPI_SUCCESS ||
                      PMPI_Error_string(code, why, &length) != MPI_SUCCESS)) {
        return code;
    }
    (void)snprintf(text, sizeof text, "%s: %s", where, why);
    cut(text, fits);
    said = kind != 0 ? say(made.rings, kind, fits, 0) : say_in_class(class, fits);
    return said != 0 ? said : code;
}

enum mpixq_error mpixq_error_of(int code)
{
    for (int e = 1; code != 0 && e < MPIXQ_E_COUNT; e++) {
        if (atomic_load_explicit(&made.has_codes, memory_order_acquire) && made.codes[e] == code) {
            return (enum mpixq_error)e;
        }
    }
    return MPIXQ_E_NONE;
}

const char *mpixq_error_text(enum mpixq_error error)
{
    return error > MPIXQ_E_NONE && error < MPIXQ_E_COUNT ? definitions[error].text : "no error";
}

int mpixq_error_kind(int code)
{
    enum mpixq_error error = mpixq_error_of(code);

    if (error != MPIXQ_E_NONE) {
        return definitions[error].kind;
    }
    for (size_t k = 1; code != 0 && k < N_KINDS; k++) {
        for (int i = 0; i < RING; i++) {
            if (atomic_load(&made.rings[k].codes[i]) == code ||
                atomic_load(&made.causes[k].codes[i]) == code) {
                return (int)k;
            }
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
