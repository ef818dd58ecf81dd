/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "gpu_pinned.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Not of the heap: where a GPU is broken its library keeps it. Shared, since a process that forks
 * would get another page than the GPU has when it writes to it next. */
static void *take_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return pages != MAP_FAILED ? pages : NULL;
}

static int take_theirs(struct mpixq_pinned *pinned)
{
    int code = mpixq_gpu_host_alloc(pinned->gpu, pinned->bytes, &pinned->host);

    if (code == 0) {
        memset(pinned->host, 0, pinned->bytes);
    } else {
        *pinned = (struct mpixq_pinned){0};
    }
    return code;
}

int mpixq_pinned_take(const struct mpixq_gpu *gpu, size_t bytes, struct mpixq_pinned *pinned_p)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (bytes + page - 1) / page * page;
    void *pages = take_pages(whole);

    *pinned_p = (struct mpixq_pinned){.gpu = gpu, .host = pages, .bytes = whole, .is_ours = true};
    if (pages != NULL && mpixq_gpu_map(gpu, pages, whole, false) == 0) {
        return 0;
    }
    if (pages != NULL) {
        (void)munmap(pages, whole); /* it is mapped */
    }
    pinned_p->is_ours = false;
    return take_theirs(pinned_p);
}

/* Not every library forgets what was mapped in a device that is reset. */
int mpixq_pinned_renew(struct mpixq_pinned *pinned)
{
    int code;

    if (!pinned->is_ours) {
        return take_theirs(pinned);
    }
    (void)mpixq_gpu_unmap(pinned->gpu, pinned->host);
    code = mpixq_gpu_map(pinned->gpu, pinned->host, pinned->bytes, false);
    if (code != 0) {
        mpixq_pinned_give_up(pinned, true);
    }
    return code;
}

/* What the library cannot unmap it may still have. */
void mpixq_pinned_give_up(struct mpixq_pinned *pinned, bool over)
{
    if (pinned->gpu == NULL) {
        return;
    }
    if (pinned->is_ours) {
        if (mpixq_gpu_unmap(pinned->gpu, pinned->host) == 0 || over) {
            (void)munmap(pinned->host, pinned->bytes); /* it is mapped */
        }
    } else if (!over) {
        mpixq_gpu_host_free(pinned->gpu, pinned->host);
    }
    *pinned = (struct mpixq_pinned){0};
}
