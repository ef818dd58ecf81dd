/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "pull.h"
#include "window.h"

#include "ipc/window.h"
#include "util/alloc.h"
#include "util/log.h"

static struct {
    struct mpixq_lock lock; /* of who adds one, or takes one for a new life */
    _Atomic(struct mpixq_rma_object *) made[MPIXQ_RMA_N_KINDS];
    _Atomic uint64_t last_window; /* its number; without the lock */
} objects = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_RMA_OBJECTS)};

enum { FREE = 0, TAKEN = 1 };

static unsigned magic_of(enum mpixq_rma_kind kind)
{
    return 0x6d717230 + (unsigned)kind;
}

void *mpixq_rma_object_new(enum mpixq_rma_kind kind, size_t bytes)
{
    struct mpixq_rma_object *object;

    mpixq_lock_acquire(&objects.lock);
    object = atomic_load(&objects.made[kind]);
    while (object != NULL && atomic_load(&object->magic) != FREE) {
        object = object->next_made;
    }
    if (object == NULL) {
        object = mpixq_alloc(bytes); /* kept until the process ends */
        if (object != NULL) {
            object->next_made = atomic_load(&objects.made[kind]);
            atomic_store(&objects.made[kind], object);
        }
    }
    if (object != NULL) {
        atomic_store(&object->magic, TAKEN);
    }
    mpixq_lock_release(&objects.lock);
    return object;
}

void mpixq_rma_object_live(void *object, enum mpixq_rma_kind kind)
{
    atomic_store_explicit(&((struct mpixq_rma_object *)object)->magic, magic_of(kind),
                          memory_order_release);
}

void mpixq_rma_object_free(void *object)
{
    atomic_store(&((struct mpixq_rma_object *)object)->magic, FREE);
}

uint64_t mpixq_rma_window_number(void)
{
    return atomic_fetch_add(&objects.last_window, 1) + 1;
}

bool mpixq_rma_object_is_live(const void *object, enum mpixq_rma_kind kind)
{
    return object != NULL && atomic_load_explicit(&((const struct mpixq_rma_object *)object)->magic,
                                                  memory_order_acquire) == magic_of(kind);
}

struct mpixq_rma_object *mpixq_rma_objects(enum mpixq_rma_kind kind)
{
    return atomic_load(&objects.made[kind]); /* links stay as they are */
}

struct mpixq_window *mpixq_rma_window_of(uint64_t id)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);

    for (; object != NULL; object = object->next_made) {
        struct mpixq_window *window = (struct mpixq_window *)object;

        if (mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW) && atomic_load(&window->id) == id) {
            return window;
        }
    }
    return NULL;
}

void mpixq_rma_window_fail(struct mpixq_window *window, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int none = MPI_SUCCESS, length;

    mpixq_rma_pull_end(window);
    if (atomic_compare_exchange_strong(&window->failed, &none, code)) {
        (void)PMPI_Error_string(code, text, &length);
        if (window->mapped != NULL) {
            mpixq_mapped_fail(window->mapped);
        }
        mpixq_err("window %llu failed: %.160s", (unsigned long long)window->number, text);
    }
}
