/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The words that peers have for the host (struct ipc_told), as this host reads them: a sender finds
 * in those of the receiver how far the pair is. They stay mapped until the channel is closed, one
 * mapping for each peer, since threads that drive a pair may look there while its request is
 * freed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "process.h"
#include "util/alloc.h"

struct ipc_page {
    struct mpixq_process process;
    int32_t file;
    void *told;
    struct ipc_page *next;
};

void *mpixq_ipc_map_told(const struct mpixq_process *process, int file, int protection)
{
    char path[64];
    void *told;
    int own;

    (void)snprintf(path, sizeof path, "/proc/%llu/fd/%d", (unsigned long long)process->pid, file);
    own = open(path, (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (own < 0) {
        return NULL;
    }
    told = mmap(NULL, IPC_TOLD_BYTES, protection, MAP_SHARED, own, 0);
    (void)close(own);
    return told != MAP_FAILED ? told : NULL;
}

static struct ipc_page *page_make(const struct ipc_blob *theirs)
{
    struct ipc_page *page = mpixq_alloc(sizeof *page); /* freed in mpixq_ipc_pages_close */

    if (page == NULL) {
        return NULL;
    }
    page->process = theirs->process;
    page->file = theirs->file;
    page->told = mpixq_ipc_map_told(&theirs->process, theirs->file, PROT_READ);
    if (page->told == NULL) {
        mpixq_free(page);
        return NULL;
    }
    LL_PREPEND(mpixq_ipc.opened.pages, page);
    return page;
}

const struct ipc_told *mpixq_ipc_told_of(const struct ipc_blob *theirs)
{
    struct ipc_page *page;

    LL_FOREACH(mpixq_ipc.opened.pages, page)
    {
        if (page->file == theirs->file &&
            memcmp(&page->process, &theirs->process, sizeof page->process) == 0) {
            break;
        }
    }
    page = page != NULL ? page : page_make(theirs);
    return page != NULL ? (const struct ipc_told *)page->told + theirs->number : NULL;
}

void mpixq_ipc_pages_close(void)
{
    struct ipc_page *page;

    while ((page = mpixq_ipc.opened.pages) != NULL) {
        LL_DELETE(mpixq_ipc.opened.pages, page);
        (void)munmap(page->told, IPC_TOLD_BYTES);
        mpixq_free(page);
    }
}
