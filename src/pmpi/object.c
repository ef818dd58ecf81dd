/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "object.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

const char *mpixq_object_name(const void *address)
{
    Dl_info info;
    const char *slash;

    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

static struct link_map *map_of(const void *address)
{
    struct link_map *map = NULL;
    Dl_info info;

    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

static void *symbol_in(const struct link_map *map, const char *name)
{
    /* The program has no name here. */
    void *object = dlopen(map->l_name[0] != '\0' ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *found;

    if (object == NULL) {
        return NULL;
    }
    found = dlsym(object, name);
    (void)dlclose(object); /* it was loaded before, and stays */
    /* It may also come from what the object is linked with. */
    return found != NULL && map_of(found) == map ? found : NULL;
}

void *mpixq_object_symbol(const void *address, const char *name)
{
    const struct link_map *map = map_of(address);

    return map != NULL ? symbol_in(map, name) : NULL; /* NULL: a static program */
}

void *mpixq_object_first(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    const struct link_map *map = found != NULL ? map_of(found) : NULL;
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;

    if (map == NULL || dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 ||
        symbol == NULL || symbol->st_shndx != SHN_UNDEF) {
        return found;
    }
    for (found = NULL; found == NULL && map->l_next != NULL; map = map->l_next) {
        found = symbol_in(map->l_next, name);
    }
    return found;
}

bool mpixq_object_is_own(const void *address)
{
    static const char here = 0;
    const struct link_map *map = map_of(address);

    return map != NULL && map == map_of(&here);
}
