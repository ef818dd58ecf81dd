/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_words.h"

#include <stddef.h>
#include <utlist.h>

#include "gpu_kept.h"
#include "gpu_life.h"
#include "gpu_pinned.h"
#include "util/alloc.h"
#include "util/log.h"

enum {
    LINE = 128, /* no two words share what is moved at a time */
    PAIR = 2 * LINE,
    BLOCK = 16 * PAIR
};

/* What lies together, and can be had again once all of it was given back. */
struct mpixq_gpu_block {
    struct mpixq_pinned memory;
    void *place;
    uint64_t life;
    int n, n_taken;
    int n_kept; /* that were given back, and that graphs still may have */
    struct mpixq_gpu_words words[BLOCK / PAIR];
    struct mpixq_gpu_block *next;
};

struct mpixq_gpu_loaded {
    const struct mpixq_gpu *gpu;
    void *place;
    uint64_t life;
    struct mpixq_gpu_kernels kernels;
    void *compiled; /* what they were loaded from, if not from what is built in */
    struct mpixq_gpu_loaded *next;
};

/* Where the words of a block are: as many as have memory. False: none has. */
static bool lay_out(struct mpixq_gpu_block *block)
{
    char *host = block->memory.host;

    for (block->n = 0; block->n < BLOCK / PAIR; block->n++, host += PAIR) {
        struct mpixq_gpu_words *words = &block->words[block->n];

        *words = (struct mpixq_gpu_words){.block = block};
        if (mpixq_gpu_word_alloc(block->memory.gpu, &words->signal) != 0) {
            break;
        }
        words->reached = (_Atomic uint64_t *)(void *)host;
        words->halt = (_Atomic uint64_t *)(void *)(host + LINE) + 1;
        words->gate = words->signal != NULL ? words->signal : (void *)(host + LINE);
    }
    return block->n > 0;
}

static void block_free(struct mpixq_gpu_block *block)
{
    bool over = mpixq_gpu_life_is_over(block->life);

    for (int i = 0; i < block->n; i++) {
        if (block->words[i].signal != NULL && !over) {
            mpixq_gpu_free(block->memory.gpu, block->words[i].signal);
        }
    }
    mpixq_pinned_give_up(&block->memory, over);
    mpixq_free(block);
}

static struct mpixq_gpu_block *block_new(const struct mpixq_gpu *gpu, void *place, uint64_t life)
{
    struct mpixq_gpu_block *block = mpixq_alloc(sizeof *block); /* freed in block_free */

    if (block == NULL) {
        return NULL;
    }
    block->place = place;
    block->life = life;
    if (mpixq_pinned_take(gpu, BLOCK, &block->memory) != 0 || !lay_out(block)) {
        block_free(block);
        return NULL;
    }
    LL_PREPEND(mpixq_gpu_kept.words.blocks, block);
    return block;
}

/* One of an earlier life of the place, in which nobody has words any more, for this one. */
static struct mpixq_gpu_block *block_again(const struct mpixq_gpu *gpu, const void *place,
                                           uint64_t life)
{
    struct mpixq_gpu_block *block;

    LL_FOREACH(mpixq_gpu_kept.words.blocks, block)
    {
        if (block->memory.gpu == gpu && block->place == place && block->life != life &&
            block->n_taken == 0) {
            break;
        }
    }
    if (block == NULL) {
        return NULL;
    }
    block->life = life;
    block->n = 0;      /* what the library had allocated for its words is gone, */
    block->n_kept = 0; /* and so are graphs */
    if (mpixq_pinned_renew(&block->memory) == 0 && lay_out(block)) {
        return block;
    }
    LL_DELETE(mpixq_gpu_kept.words.blocks, block);
    block_free(block);
    return NULL;
}

static struct mpixq_gpu_block *block_with_room(const struct mpixq_gpu *gpu, const void *place,
                                               uint64_t life)
{
    struct mpixq_gpu_block *block;

    LL_FOREACH(mpixq_gpu_kept.words.blocks, block)
    {
        if (block->memory.gpu == gpu && block->place == place && block->life == life &&
            block->n_taken + block->n_kept < block->n) {
            break;
        }
    }
    return block;
}

static struct mpixq_gpu_words *take_of(struct mpixq_gpu_block *block)
{
    struct mpixq_gpu_words *words = block->words;

    while (words->is_taken) {
        words++;
    }
    words->is_taken = true;
    block->n_taken++;
    atomic_store(words->reached, 0);
    atomic_store(words->gate, 0);
    atomic_store(words->halt, 0);
    return words;
}

struct mpixq_gpu_words *mpixq_gpu_words_take(const struct mpixq_gpu *gpu, void *place,
                                             uint64_t life)
{
    struct mpixq_gpu_words *words = NULL;
    struct mpixq_gpu_block *block;

    mpixq_lock_acquire(&mpixq_gpu_kept.words.lock);
    block = block_with_room(gpu, place, life);
    block = block != NULL ? block : block_again(gpu, place, life);
    block = block != NULL ? block : block_new(gpu, place, life);
    if (block != NULL) {
        words = take_of(block);
    }
    mpixq_lock_release(&mpixq_gpu_kept.words.lock);
    return words;
}

void mpixq_gpu_words_give_back(struct mpixq_gpu_words *words)
{
    mpixq_lock_acquire(&mpixq_gpu_kept.words.lock);
    words->block->n_taken--;
    if (words->in_graph) {
        words->block->n_kept++;
    } else {
        words->is_taken = false;
    }
    mpixq_lock_release(&mpixq_gpu_kept.words.lock);
}

#define KERNEL(name)                                                                               \
    {                                                                                              \
        "mpixq_" #name, offsetof(struct mpixq_gpu_kernels, name)                                   \
    }
static const struct {
    const char *name;
    size_t at; /* its member */
} names[] = {
    KERNEL(ring),         KERNEL(wait),         KERNEL(copy),         KERNEL(ring_all),
    KERNEL(wait_all),     KERNEL(wait_plain),   KERNEL(move_all),     KERNEL(move_plain),
    KERNEL(pass_all),     KERNEL(pass_plain),   KERNEL(call_back),    KERNEL(try_end),
    KERNEL(put_all),      KERNEL(set_signal),   KERNEL(await_signal), KERNEL(combine_all),
    KERNEL(wait_combine), KERNEL(pass_combine), KERNEL(combine_wide),
};

/* False: *why_p is why not. */
static bool load_code(const struct mpixq_gpu *gpu, const void *code, struct mpixq_gpu_kernels *k,
                      const char **why_p)
{
    void *module, *early;
    int error = mpixq_gpu_load(gpu, code, &module); /* unloaded with the place */

    for (size_t i = 0; error == 0 && i < sizeof names / sizeof names[0]; i++) {
        error = mpixq_gpu_function(gpu, module, names[i].name,
                                   (void **)(void *)((char *)k + names[i].at));
    }
    k->early = error == 0 && gpu->early != NULL &&
               mpixq_gpu_function(gpu, module, gpu->early, &early) == 0;
    if (error != 0) {
        *k = (struct mpixq_gpu_kernels){.why = NULL};
        *why_p = gpu->text(error);
    }
    return error == 0;
}

static const char not_built[] = "the library was built without a compiler for them";
static const char build_them[] =
    "build it with a clang that knows GPUs (Debian: clang, lld), or from a tarball, which has them";

/* The first that the GPU and its library take: machine code may be for other GPUs, or newer than
 * the library. False: *why_p is why not. */
static bool load_built_in(const struct mpixq_gpu *gpu, struct mpixq_gpu_kernels *k,
                          const char **why_p)
{
    *why_p = not_built;
    for (const struct mpixq_gpu_code *code = gpu->code; code->what != NULL; code++) {
        if (*code->size > 0) {
            if (load_code(gpu, code->bytes, k, why_p)) {
                mpixq_debug("%s: kernels as %s", gpu->name, code->what);
                return true;
            }
            mpixq_debug("%s: no kernels as %s: %s", gpu->name, code->what, *why_p);
        }
    }
    return false;
}

static void *compile(const struct mpixq_gpu *gpu, const char **why_p)
{
    *why_p = "its library compiles no source";
    return gpu->compile != NULL ? gpu->compile(why_p) : NULL;
}

/* Those that are built in, or, where they are for other GPUs only or there are none, new ones. */
static struct mpixq_gpu_kernels load(const struct mpixq_gpu *gpu, void **compiled_p)
{
    const char *built_in, *compiled;
    struct mpixq_gpu_kernels kernels = {.why = NULL};

    if (load_built_in(gpu, &kernels, &built_in)) {
        kernels.why = "they are there";
        return kernels;
    }
    /* In an earlier life of the place it may have been compiled. */
    *compiled_p = *compiled_p != NULL ? *compiled_p : compile(gpu, &compiled);
    if (*compiled_p != NULL && load_code(gpu, *compiled_p, &kernels, &compiled)) {
        kernels.why = "they were compiled when the queue was made";
        return kernels;
    }
    mpixq_debug("%s: no kernels: built in: %s; compiled: %s", gpu->name, built_in, compiled);
    mpixq_free(*compiled_p);
    *compiled_p = NULL;
    kernels.why = built_in;
    kernels.cure = built_in == not_built ? build_them : NULL;
    return kernels;
}

static struct mpixq_gpu_loaded *find_loaded(const struct mpixq_gpu *gpu, const void *place)
{
    struct mpixq_gpu_loaded *loaded;

    LL_FOREACH(mpixq_gpu_kept.words.loaded, loaded)
    {
        if (loaded->gpu == gpu && loaded->place == place) {
            break;
        }
    }
    return loaded;
}

struct mpixq_gpu_kernels mpixq_gpu_kernels(const struct mpixq_gpu *gpu, void *place, uint64_t life)
{
    struct mpixq_gpu_kernels kernels = {.why = "there is no memory"};
    struct mpixq_gpu_loaded *loaded;

    mpixq_lock_acquire(&mpixq_gpu_kept.words.lock);
    loaded = find_loaded(gpu, place);
    if (loaded == NULL) {
        loaded = mpixq_alloc(sizeof *loaded); /* freed in close */
        if (loaded != NULL) {
            *loaded = (struct mpixq_gpu_loaded){.gpu = gpu, .place = place};
            LL_PREPEND(mpixq_gpu_kept.words.loaded, loaded);
        }
    }
    if (loaded != NULL && (loaded->kernels.why == NULL || loaded->life != life)) {
        loaded->life = life;
        loaded->kernels = load(gpu, &loaded->compiled);
    }
    if (loaded != NULL) {
        kernels = loaded->kernels;
    }
    mpixq_lock_release(&mpixq_gpu_kept.words.lock);
    return kernels;
}

void mpixq_gpu_words_close(void)
{
    struct mpixq_gpu_block *block;
    struct mpixq_gpu_loaded *loaded;

    while ((block = mpixq_gpu_kept.words.blocks) != NULL) {
        LL_DELETE(mpixq_gpu_kept.words.blocks, block);
        block_free(block);
    }
    while ((loaded = mpixq_gpu_kept.words.loaded) != NULL) {
        LL_DELETE(mpixq_gpu_kept.words.loaded, loaded);
        mpixq_free(loaded->compiled);
        mpixq_free(loaded);
    }
}
