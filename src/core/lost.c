/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "lost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/error.h"
#include "failure.h"
#include "request.h"
#include "util/lock.h"

/* Requests that are lost, by their ids: what fails them takes locks, and so does who visits all. */
struct lost {
    uint64_t *ids;
    size_t n, room;
    bool again; /* there are, or may be later, others */
};

static struct {
    struct mpixq_lock lock; /* one thread looks */
    atomic_uint at;         /* so many lives were over; written under the lock */
} looks = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_LOST)};

/* Has it failed, and is it known why? The peer may have reset its device too, and said so first.
 * One that was collected is not looked at again, whatever has become of it: so each look ends. */
static bool is_known(const struct mpixq_request *req)
{
    return req->is_lost ||
           (mpixq_pair_has_failed(&req->pair) && (atomic_load(&req->pair.queue) != NULL ||
                                                  atomic_load(&req->pair.error) != MPI_SUCCESS));
}

/* A request that is being matched has nobody yet who could be told. */
static void collect(struct mpixq_request *req, void *arg)
{
    enum mpixq_state state = mpixq_request_state(req);
    struct lost *lost = arg;

    if (state == MPIXQ_UNMATCHED || !req->pair.in_gpu || is_known(req) ||
        !mpixq_memory_is_over(req->pair.message.life)) {
        return;
    }
    if (state == MPIXQ_MATCHING || lost->n == lost->room) {
        lost->again = true;
    }
    if (state != MPIXQ_MATCHING && lost->n < lost->room) {
        req->is_lost = true;
        lost->ids[lost->n++] = req->pair.id;
    }
}

static void fail(uint64_t id)
{
    mpixq_failure_of(id, mpixq_error_code(MPIXQ_E_GPU_RESET), "use of memory of a GPU");
}

static void look(unsigned over)
{
    enum { AT_A_TIME = 256 };
    uint64_t ids[AT_A_TIME];
    struct lost lost = {.ids = ids, .room = AT_A_TIME};

    do {
        lost.n = 0;
        lost.again = false;
        mpixq_request_each(collect, &lost);
        for (size_t i = 0; i < lost.n; i++) {
            fail(lost.ids[i]);
        }
    } while (lost.n == lost.room);
    if (!lost.again) {
        atomic_store(&looks.at, over);
    }
}

void mpixq_lost_look(void)
{
    unsigned over = mpixq_memory_lives_over();

    if (over != atomic_load(&looks.at)) {
        mpixq_lock_acquire(&looks.lock);
        look(over);
        mpixq_lock_release(&looks.lock);
    }
}
