/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "pull.h"

#include <sys/uio.h>
#include <unistd.h>

#include "util/backoff.h"
#include "util/env.h"
#include "util/ident.h"

void mpixq_rma_pull_open(struct mpixq_window *window)
{
    struct mpixq_ident mark = {.low = 1};
    const struct {
        uint64_t now_ns, pid, window;
    } mine = {mpixq_now_ns(), (uint64_t)getpid(), window->number};

    mark = mpixq_ident_add(mark, &mine, sizeof mine);
    atomic_store(&window->mark, mpixq_env.cma == MPIXQ_CMA_NO ? 0 : mark.low | 1);
}

void mpixq_rma_pull_end(struct mpixq_window *window)
{
    atomic_store(&window->mark, 0);
}

/* Memory is read in the order of the list. */
static bool read_there(const struct mpixq_rma_neighbour *neighbour, void *to, uint64_t from,
                       uint64_t bytes)
{
    uint64_t mark = 0;
    const struct iovec here[] = {{to, bytes}, {&mark, sizeof mark}};
    const struct iovec there[] = {{(void *)(uintptr_t)from, bytes},
                                  {(void *)(uintptr_t)neighbour->mark_at, sizeof mark}};
    ssize_t n = process_vm_readv((pid_t)neighbour->process.pid, here, 2, there, 2, 0);

    return n == (ssize_t)(bytes + sizeof mark) && mark == neighbour->mark;
}

bool mpixq_rma_pull_can(const struct mpixq_window *window,
                        const struct mpixq_rma_neighbour *neighbour)
{
    uint64_t again;

    return atomic_load(&window->mark) != 0 && neighbour->mark != 0 &&
           read_there(neighbour, &again, neighbour->mark_at, sizeof again);
}

bool mpixq_rma_pull(const struct mpixq_rma_neighbour *neighbour, void *to, uint64_t from,
                    uint64_t bytes)
{
    return neighbour != NULL && neighbour->can_read && from != 0 &&
           read_there(neighbour, to, from, bytes);
}
