/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Files that stand for pools and chunks of memory. Each is exported once, however many requests
 * have buffers there, and is closed when none of them is left. A chunk is kept as long, so that
 * the driver's number for it is not given to another one; a pool cannot be. The other way round a
 * pool is imported once for all pieces of it. */
#include "share_files.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "share.h"
#include "stream/gpu_files.h"
#include "stream/gpu_life.h"
#include "stream/gpu_share.h"
#include "stream/memory.h"
#include "util/alloc.h"
#include "util/lock.h"

/* What we give to others. */
struct outgoing {
    const struct mpixq_gpu *gpu;
    uint32_t kind, id;
    uint64_t what; /* pool or chunk, in this life of its place */
    uint64_t life;
    int file;
    int users;
    struct outgoing *next;
};

/* What we have from others. */
struct pool {
    const struct mpixq_gpu *gpu;
    struct mpixq_gpu_owner exporter;
    uint32_t id;
    void *handle;
    int users;
    uint64_t life; /* of the place that has opened it */
    struct pool *next;
};
struct incoming {
    const struct mpixq_gpu *gpu;
    void *address;
    size_t bytes;      /* of a chunk */
    struct pool *pool; /* of a piece; NULL: it is a chunk */
    struct incoming *next;
};

static struct {
    /* Guards outgoing and last_id. A leaf: no function of a GPU's library is called under it. */
    struct mpixq_lock lock;
    struct outgoing *outgoing;
    uint32_t last_id;
    /* Who opens and closes does so one at a time. */
    struct pool *pools;
    struct incoming *incoming;
} files = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_SHARE_FILES)};

/* Exports. */

/* One that somebody uses, or a chunk, which is kept. A pool of which nobody uses a piece may be
 * gone, and another one have its handle: its entry is taken out. */
static struct outgoing *use(const struct mpixq_gpu *gpu, uint64_t life, uint32_t kind,
                            uint64_t what, struct outgoing **left_p)
{
    struct outgoing *out;

    mpixq_lock_acquire(&files.lock);
    LL_FOREACH(files.outgoing, out)
    {
        if (out->gpu == gpu && out->life == life && out->kind == kind && out->what == what) {
            break;
        }
    }
    if (out != NULL && out->users == 0 && kind == MPIXQ_SHARED_PIECE) {
        LL_DELETE(files.outgoing, out);
        *left_p = out;
        out = NULL;
    }
    if (out != NULL) {
        out->users++;
    }
    mpixq_lock_release(&files.lock);
    return out;
}

static void let_go_of(struct outgoing *out)
{
    (void)close(out->file);
    if (out->kind == MPIXQ_SHARED_CHUNK && !mpixq_gpu_life_is_over(out->life)) {
        mpixq_gpu_chunk_release(out->gpu, out->what);
    }
    mpixq_free(out);
}

static int export_file(const struct mpixq_gpu *gpu, uint32_t kind, uint64_t what, int *file_p)
{
    int code = kind == MPIXQ_SHARED_PIECE
                   ? mpixq_gpu_pool_export(gpu, (void *)(uintptr_t)what, file_p)
                   : mpixq_gpu_chunk_export(gpu, what, file_p);

    if (code == 0) {
        (void)fcntl(*file_p, F_SETFD, FD_CLOEXEC); /* it is open, so that does not fail */
    }
    return code;
}

/* Two threads at a time may export the same thing twice: each has its own id then. To close what
 * was left of a pool is no call of the GPU's library, and waits for no GPU. */
static const char *take(const struct mpixq_gpu *gpu, uint64_t life, uint32_t kind, uint64_t what,
                        struct mpixq_gpu_export *export_p)
{
    struct outgoing *left = NULL, *out = use(gpu, life, kind, what, &left);
    int code = 0;

    if (left != NULL) {
        let_go_of(left);
    }
    if (out == NULL) {
        out = mpixq_alloc(sizeof *out); /* freed in let_go_of */
        if (out == NULL) {
            return "no memory";
        }
        *out = (struct outgoing){.gpu = gpu, .life = life, .kind = kind, .what = what, .users = 1};
        code = export_file(gpu, kind, what, &out->file);
        if (code != 0) {
            mpixq_free(out);
            return gpu->text(code);
        }
        mpixq_lock_acquire(&files.lock);
        out->id = ++files.last_id;
        LL_PREPEND(files.outgoing, out);
        mpixq_lock_release(&files.lock);
    } else if (kind == MPIXQ_SHARED_CHUNK) {
        mpixq_gpu_chunk_release(gpu, what); /* the first user keeps it */
    }
    export_p->kind = kind;
    export_p->file = out->file;
    export_p->id = out->id;
    return NULL;
}

/* The pool first: CUDA refuses pieces of a pool that was never exported. */
static const char *export_piece(const struct mpixq_gpu *gpu, uint64_t life, void *pool, void *base,
                                struct mpixq_gpu_export *export_p)
{
    const char *why = take(gpu, life, MPIXQ_SHARED_PIECE, (uintptr_t)pool, export_p);
    int code = why == NULL ? mpixq_gpu_piece_export(gpu, base, &export_p->handle) : 0;

    if (code != 0) {
        mpixq_share_drop(export_p);
        why = gpu->text(code);
    }
    return why;
}

/* Is there one chunk behind all of this? Those at both ends are asked for, so that it does not
 * matter whether a driver takes what is mapped side by side for one. */
static bool is_chunk(const struct mpixq_gpu *gpu, const char *base, size_t bytes, uint64_t chunk)
{
    uint64_t at_ends[2];

    for (int i = 0; i < 2; i++) {
        if (mpixq_gpu_chunk_of(gpu, base + (i == 0 ? 0 : bytes - 1), &at_ends[i]) != 0) {
            return false;
        }
        mpixq_gpu_chunk_release(gpu, at_ends[i]); /* it is kept by the caller, if it is the same */
    }
    return at_ends[0] == chunk && at_ends[1] == chunk;
}

static const char *export_chunk(const struct mpixq_gpu *gpu, uint64_t life, const char *base,
                                uint64_t room, struct mpixq_gpu_export *export_p)
{
    const char *why = "it is neither an allocation nor of a pool, nor one chunk";
    uint64_t chunk;

    if (mpixq_gpu_chunk_of(gpu, base, &chunk) != 0) {
        return why;
    }
    memset(&export_p->handle, 0, sizeof export_p->handle);
    memcpy(&export_p->handle, &room, sizeof room);
    if (is_chunk(gpu, base, (size_t)room, chunk)) {
        why = take(gpu, life, MPIXQ_SHARED_CHUNK, chunk, export_p);
    }
    if (why != NULL) {
        mpixq_gpu_chunk_release(gpu, chunk);
    }
    return why;
}

const char *mpixq_files_export(const struct mpixq_gpu *gpu, uint64_t life, const void *buffer,
                               size_t bytes, struct mpixq_gpu_export *export_p)
{
    void *base, *pool = NULL;
    size_t room;
    int code = mpixq_gpu_span(gpu, buffer, &base, &room);

    if (code != 0) {
        return gpu->text(code);
    }
    if (bytes > room - (size_t)((const char *)buffer - (const char *)base)) {
        return "it is in more than one chunk of memory";
    }
    if (mpixq_gpu_pool_of(gpu, base, &pool) == 0 && pool != NULL) {
        return export_piece(gpu, life, pool, base, export_p);
    }
    return export_chunk(gpu, life, base, room, export_p);
}

void mpixq_share_drop(const struct mpixq_gpu_export *export)
{
    struct outgoing *out;

    if (export->kind == MPIXQ_SHARED_HANDLE) {
        return;
    }
    mpixq_lock_acquire(&files.lock);
    LL_FOREACH(files.outgoing, out)
    {
        if (out->id == export->id) {
            out->users--;
            break;
        }
    }
    mpixq_lock_release(&files.lock);
}

static struct outgoing *take_out(bool all)
{
    struct outgoing *out;

    mpixq_lock_acquire(&files.lock);
    LL_FOREACH(files.outgoing, out)
    {
        if (all || out->users == 0) {
            LL_DELETE(files.outgoing, out);
            break;
        }
    }
    mpixq_lock_release(&files.lock);
    return out;
}

static void let_go(bool all)
{
    struct outgoing *out;

    while ((out = take_out(all)) != NULL) {
        let_go_of(out);
    }
}

static bool any_unused(void)
{
    struct outgoing *out;

    mpixq_lock_acquire(&files.lock);
    LL_SEARCH_SCALAR(files.outgoing, out, users, 0);
    mpixq_lock_release(&files.lock);
    return out != NULL;
}

/* To let go of a chunk may mean to free it. */
void mpixq_share_tidy(void)
{
    unsigned kinds;

    if (any_unused() && mpixq_streams_pause_all()) {
        kinds = mpixq_memory_kinds();
        mpixq_memory_relax(kinds);
        let_go(false);
        mpixq_memory_restore(kinds);
        mpixq_streams_resume_waits();
    }
}

void mpixq_files_end(void)
{
    let_go(true);
}

/* Imports. */

static void leave_pool(struct pool *pool)
{
    if (--pool->users == 0) {
        LL_DELETE(files.pools, pool);
        if (!mpixq_gpu_life_is_over(pool->life)) {
            mpixq_gpu_pool_free(pool->gpu, pool->handle);
        }
        mpixq_free(pool);
    }
}

static int find_pool(const struct mpixq_gpu *gpu, uint64_t life,
                     const struct mpixq_gpu_owner *owner, uint32_t id, int file,
                     struct pool **pool_p)
{
    struct pool *pool;
    int code;

    LL_FOREACH(files.pools, pool)
    {
        if (pool->gpu == gpu && pool->id == id && !mpixq_gpu_life_is_over(pool->life) &&
            memcmp(&pool->exporter, owner, sizeof *owner) == 0) {
            pool->users++;
            *pool_p = pool;
            return 0;
        }
    }
    pool = mpixq_alloc(sizeof *pool); /* freed in leave_pool */
    if (pool == NULL) {
        return MPIXQ_GPU_NO_MEMORY;
    }
    *pool = (struct pool){.gpu = gpu, .life = life, .exporter = *owner, .id = id, .users = 1};
    code = mpixq_gpu_pool_import(gpu, file, &pool->handle);
    if (code != 0) {
        mpixq_free(pool);
        return code;
    }
    LL_PREPEND(files.pools, pool);
    *pool_p = pool;
    return 0;
}

/* Each place that opens a piece has to reach its pool. */
static int open_piece(uint64_t life, const struct mpixq_gpu_owner *owner,
                      const struct mpixq_gpu_export *export, int file, struct incoming *in)
{
    int code = find_pool(in->gpu, life, owner, export->id, file, &in->pool);

    if (code != 0) {
        return code;
    }
    code = mpixq_gpu_pool_reach(in->gpu, in->pool->handle);
    code = code != 0
               ? code
               : mpixq_gpu_piece_import(in->gpu, in->pool->handle, &export->handle, &in->address);
    if (code != 0) {
        leave_pool(in->pool);
    }
    return code;
}

static int open_chunk(const struct mpixq_gpu_export *export, int file, struct incoming *in)
{
    uint64_t bytes;

    memcpy(&bytes, &export->handle, sizeof bytes);
    in->bytes = (size_t)bytes;
    return mpixq_gpu_chunk_map(in->gpu, file, in->bytes, &in->address);
}

int mpixq_files_open(const struct mpixq_gpu *gpu, uint64_t life,
                     const struct mpixq_gpu_owner *owner, const struct mpixq_gpu_export *export,
                     int file, void **address_p)
{
    struct incoming *in = mpixq_alloc(sizeof *in); /* freed in mpixq_files_close */
    int code = MPIXQ_GPU_NO_MEMORY;

    if (in == NULL) {
        return code;
    }
    in->gpu = gpu;
    code = export->kind == MPIXQ_SHARED_PIECE ? open_piece(life, owner, export, file, in)
                                              : open_chunk(export, file, in);
    if (code != 0) {
        mpixq_free(in);
        return code;
    }
    LL_PREPEND(files.incoming, in);
    *address_p = in->address;
    return 0;
}

static struct incoming *take_in(const void *address)
{
    struct incoming *in;

    LL_FOREACH(files.incoming, in)
    {
        if (in->address == address) {
            LL_DELETE(files.incoming, in);
            break;
        }
    }
    return in;
}

bool mpixq_files_close(void *address)
{
    struct incoming *in = take_in(address);

    if (in == NULL) {
        return false;
    }
    if (in->pool != NULL) {
        mpixq_gpu_piece_free(in->gpu, in->address);
        leave_pool(in->pool);
    } else {
        mpixq_gpu_chunk_unmap(in->gpu, in->address, in->bytes);
    }
    mpixq_free(in);
    return true;
}

void mpixq_files_forget(const void *address)
{
    struct incoming *in = take_in(address);

    if (in != NULL && in->pool != NULL) {
        leave_pool(in->pool);
    }
    mpixq_free(in);
}
