/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Finding a vendor's library. What the process has loaded is looked through in memory: asked for
 * what is not there, dlopen would look in every folder where a library may be, each time. */
#include "gpu_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"

struct search {
    const char *wanted;
    char path[PATH_MAX]; /* of what is loaded and has that name */
};

/* The name that a library has itself, by which others ask for it; its file may have another one.
 * NULL: it has none. */
static const char *own_name(const struct dl_phdr_info *object)
{
    const ElfW(Dyn) *entry = NULL;
    uintptr_t strings = 0, name = 0;

    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        }
    }
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB) {
            strings = (uintptr_t)entry->d_un.d_ptr;
        } else if (entry->d_tag == DT_SONAME) {
            name = (uintptr_t)entry->d_un.d_val;
        }
    }
    /* Not every loader has made an address of it, nor for every object. */
    strings += strings < object->dlpi_addr ? object->dlpi_addr : 0;
    return strings != 0 && name != 0 ? (const char *)(strings + name) : NULL;
}

/* The loader holds a lock meanwhile, under which nothing can be opened. */
static int compare(struct dl_phdr_info *object, size_t size, void *arg)
{
    struct search *search = arg;
    const char *slash = strrchr(object->dlpi_name, '/'), *own = own_name(object);
    const char *name = slash != NULL ? slash + 1 : object->dlpi_name;

    (void)size;
    if (strcmp(name, search->wanted) != 0 && (own == NULL || strcmp(own, search->wanted) != 0)) {
        return 0;
    }
    (void)snprintf(search->path, sizeof search->path, "%s", object->dlpi_name);
    return 1;
}

static void *open_first(const char *const libraries[], bool load)
{
    struct search search;
    void *library = NULL;

    /* One that the process has loaded, whatever its number, before one from the disk. */
    for (int i = 0; library == NULL && libraries[i] != NULL; i++) {
        search.wanted = libraries[i];
        if (dl_iterate_phdr(compare, &search) != 0) {
            library = dlopen(search.path, RTLD_NOW | RTLD_NOLOAD);
        }
    }
    for (int i = 0; library == NULL && load && libraries[i] != NULL; i++) {
        library = dlopen(libraries[i], RTLD_NOW);
    }
    return library;
}

static int count(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = object->dlpi_adds;
    return 1; /* the first one tells it */
}

bool mpixq_gpu_open(const char *const libraries[], bool load,
                    const struct mpixq_gpu_symbol symbols[])
{
    void *library = open_first(libraries, load); /* never closed */

    if (library == NULL) {
        return false;
    }
    for (int i = 0; symbols[i].name != NULL; i++) {
        *symbols[i].address_p = dlsym(library, symbols[i].name);
        if (*symbols[i].address_p == NULL && !symbols[i].optional) {
            mpixq_warn("%s lacks %s: its streams cannot be used", libraries[0], symbols[i].name);
            (void)dlclose(library);
            return false;
        }
    }
    return true;
}

/* Reads nothing from the disk. */
static bool look(const char *const libraries[], unsigned long long *loaded_p,
                 const struct mpixq_gpu_symbol symbols[])
{
    unsigned long long loaded = 0;

    (void)dl_iterate_phdr(count, &loaded); /* 1 */
    if (loaded == *loaded_p) {
        return false;
    }
    *loaded_p = loaded;
    return mpixq_gpu_open(libraries, false, symbols);
}

bool mpixq_gpu_find(struct mpixq_gpu_library *library, bool load, const char *const libraries[],
                    const struct mpixq_gpu_symbol symbols[], void (*first)(void))
{
    bool found;

    mpixq_lock_acquire(&library->lock);
    if (!library->found && (load ? mpixq_gpu_open(libraries, true, symbols)
                                 : look(libraries, &library->loaded, symbols))) {
        library->found = true;
        if (first != NULL) {
            first();
        }
    }
    found = library->found;
    mpixq_lock_release(&library->lock);
    return found;
}
