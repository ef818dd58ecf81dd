/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_words.h"

#include <pthread.h>
#include <utlist.h>

#include "core/alloc.h"
#include "core/log.h"

enum {
    LINE = 128, /* no two words share what is moved at a time */
    PAIR = 2 * LINE,
    BLOCK = 16 * PAIR
};

/* What came from one call of the vendor's allocator. */
struct block {
    const struct mpixq_gpu *gpu;
    void *host;
    struct block *next;
};

struct loaded {
    const struct mpixq_gpu *gpu;
    void *place;
    struct mpixq_gpu_kernels kernels;
    void *compiled; /* what they were loaded from, if not from what is built in */
    struct loaded *next;
};

/* Guards all of these, and is held while a GPU's library is called: nobody whom a GPU may wait for
 * takes it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static struct mpixq_gpu_words *spare;
static struct loaded *all_loaded;

static struct mpixq_gpu_words *spare_of(const struct mpixq_gpu *gpu)
{
    struct mpixq_gpu_words *words;

    LL_FOREACH(spare, words)
    {
        if (words->gpu == gpu) {
            break;
        }
    }
    return words;
}

/* One more set of words, at host. False: no memory. */
static bool add(const struct mpixq_gpu *gpu, char *host)
{
    struct mpixq_gpu_words *words = mpixq_alloc(sizeof *words); /* freed in close */

    if (words == NULL || gpu->word_alloc(&words->signal) != 0) {
        mpixq_free(words);
        return false;
    }
    words->gpu = gpu;
    words->reached = (_Atomic uint64_t *)(void *)host;
    words->halt = (_Atomic uint64_t *)(void *)(host + LINE) + 1;
    words->gate = words->signal != NULL ? words->signal : (void *)(host + LINE);
    LL_PREPEND(spare, words);
    return true;
}

static void add_block(const struct mpixq_gpu *gpu)
{
    struct block *block = mpixq_alloc(sizeof *block); /* freed in close */

    if (block == NULL || gpu->host_alloc(BLOCK, &block->host) != 0) {
        mpixq_free(block);
        return;
    }
    block->gpu = gpu;
    LL_PREPEND(blocks, block);
    for (int i = 0; i < BLOCK / PAIR && add(gpu, (char *)block->host + (size_t)i * PAIR); i++) {
    }
}

struct mpixq_gpu_words *mpixq_gpu_words_take(const struct mpixq_gpu *gpu)
{
    struct mpixq_gpu_words *words;

    pthread_mutex_lock(&lock);
    words = spare_of(gpu);
    if (words == NULL) {
        add_block(gpu);
        words = spare_of(gpu);
    }
    if (words != NULL) {
        LL_DELETE(spare, words);
        atomic_store(words->reached, 0);
        atomic_store(words->gate, 0);
        atomic_store(words->halt, 0);
    }
    pthread_mutex_unlock(&lock);
    return words;
}

void mpixq_gpu_words_give_back(struct mpixq_gpu_words *words)
{
    pthread_mutex_lock(&lock);
    LL_PREPEND(spare, words);
    pthread_mutex_unlock(&lock);
}

/* False: *why_p is why not. */
static bool load_code(const struct mpixq_gpu *gpu, const void *code, struct mpixq_gpu_kernels *k,
                      const char **why_p)
{
    void *module, *early;
    int error = gpu->load(code, &module); /* unloaded with the process */

    error = error != 0 ? error : gpu->function(module, "mpixq_ring", &k->ring);
    error = error != 0 ? error : gpu->function(module, "mpixq_wait", &k->wait);
    error = error != 0 ? error : gpu->function(module, "mpixq_copy", &k->copy);
    error = error != 0 ? error : gpu->function(module, "mpixq_ring_all", &k->ring_all);
    error = error != 0 ? error : gpu->function(module, "mpixq_wait_all", &k->wait_all);
    error = error != 0 ? error : gpu->function(module, "mpixq_move_all", &k->move_all);
    error = error != 0 ? error : gpu->function(module, "mpixq_call_back", &k->call_back);
    k->early = error == 0 && gpu->early != NULL && gpu->function(module, gpu->early, &early) == 0;
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

/* Those that are built in, or, where they are for other GPUs only or there are none, new ones. */
static struct mpixq_gpu_kernels load(const struct mpixq_gpu *gpu, void **compiled_p)
{
    const char *built_in, *compiled;
    struct mpixq_gpu_kernels kernels = {.why = NULL};

    if (load_built_in(gpu, &kernels, &built_in)) {
        kernels.why = "they are there";
        return kernels;
    }
    *compiled_p = gpu->compile(&compiled);
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

static struct loaded *find_loaded(const struct mpixq_gpu *gpu, const void *place)
{
    struct loaded *loaded;

    LL_FOREACH(all_loaded, loaded)
    {
        if (loaded->gpu == gpu && loaded->place == place) {
            break;
        }
    }
    return loaded;
}

struct mpixq_gpu_kernels mpixq_gpu_kernels(const struct mpixq_gpu *gpu, void *place)
{
    struct mpixq_gpu_kernels kernels = {.why = "there is no memory"};
    struct loaded *loaded;

    pthread_mutex_lock(&lock);
    loaded = find_loaded(gpu, place);
    if (loaded == NULL) {
        loaded = mpixq_alloc(sizeof *loaded); /* freed in close */
        if (loaded != NULL) {
            *loaded = (struct loaded){.gpu = gpu, .place = place};
            loaded->kernels = load(gpu, &loaded->compiled);
            LL_PREPEND(all_loaded, loaded);
        }
    }
    if (loaded != NULL) {
        kernels = loaded->kernels;
    }
    pthread_mutex_unlock(&lock);
    return kernels;
}

void mpixq_gpu_words_close(void)
{
    struct mpixq_gpu_words *words;
    struct loaded *loaded;
    struct block *block;

    while ((words = spare) != NULL) {
        LL_DELETE(spare, words);
        if (words->signal != NULL) {
            words->gpu->word_free(words->signal);
        }
        mpixq_free(words);
    }
    while ((block = blocks) != NULL) {
        LL_DELETE(blocks, block);
        block->gpu->host_free(block->host);
        mpixq_free(block);
    }
    while ((loaded = all_loaded) != NULL) {
        LL_DELETE(all_loaded, loaded);
        mpixq_free(loaded->compiled);
        mpixq_free(loaded);
    }
}
