/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "object.h"

/* MPI's own names for them: right where nothing else is behind us, and in a static program. */
struct mpixq_next mpixq_next = {
#define MPIXQ_NEXT(name, parameters) .name = PMPI_##name,
#include "next_defs.h"
#undef MPIXQ_NEXT
    .foreign_once = PTHREAD_ONCE_INIT,
};

/* mpixq_first.o, if it is in the program, or in a shared library: finds the next definition of a
 * name behind the object that it is in, as dlsym does for its caller. */
typedef void first_find_fn(void *(*look)(void *, const char *), const char *name, void **found_p);
extern first_find_fn mpixq_first_find __attribute__((weak));

/* That of the object which holds an address, or NULL. */
static first_find_fn *first_in(const void *address)
{
    first_find_fn *find = NULL;
    void *found = NULL;

    if (mpixq_first_find != NULL && address != NULL) {
        found = mpixq_object_symbol(address, "mpixq_first_find");
    }
    if (found != NULL) {
        memcpy(&find, &found, sizeof find); /* POSIX's way around data and function pointers */
    }
    return find;
}

/* With mpixq_first.o calls come from the first place of all, so what stands in front of the library
 * is behind us as well. Each turn leads further back among the objects. */
void mpixq_next_find(const char *name, void *slot_p)
{
    first_find_fn *find = mpixq_first_find;
    void *found = NULL;
    bool is_own;

    do {
        if (find != NULL) {
            find(dlsym, name, &found);
        } else {
            found = dlsym(RTLD_NEXT, name);
        }
        is_own = found != NULL && mpixq_object_is_own(found);
        find = is_own ? NULL : first_in(found);
    } while (is_own || find != NULL);
    if (found != NULL) {
        memcpy(slot_p, &found, sizeof found);
    }
}

/* The object that takes the calls is MPI itself, or something in front of it. */
static void say_who(const void *taker, const char *name, char *why, size_t size)
{
    static const char *const of_mpi[] = {"PMPI_Send_init", "pmpi_send_init_", "pmpi_start_f08_",
                                         "pmpir_start_f08_"};
    const char *object = mpixq_object_name(taker);
    bool is_mpi = false;

    for (size_t i = 0; i < sizeof of_mpi / sizeof of_mpi[0]; i++) {
        is_mpi = is_mpi || mpixq_object_symbol(taker, of_mpi[i]) != NULL;
    }
    object = object != NULL ? object : "another object";
    if (is_mpi) {
        (void)snprintf(why, size,
                       "%.40s takes %s, as it is linked ahead of libmpix_queue. Cure: link "
                       "mpixq_first.o (pkg-config mpix_queue_first) or libmpix_queue first into "
                       "the program, or LD_PRELOAD=libmpix_queue.so",
                       object, name);
    } else {
        (void)snprintf(why, size,
                       "%.40s takes %s, as it is ahead of libmpix_queue. Cure: "
                       "LD_PRELOAD=libmpix_queue.so with any tool behind it, or link "
                       "libmpix_queue or mpixq_first.o first into the program",
                       object, name);
    }
}

bool mpixq_next_comes_to(const void *own, const char *name, char *why, size_t size)
{
    void *found = mpixq_object_first(name);

    /* NULL: a static program, in which there is no other. */
    if (found == NULL || found == own || first_in(found) != NULL) {
        return true;
    }
    if (why != NULL) {
        say_who(found, name, why, size);
    }
    return false;
}

/* The library's own name in the dynamic section of the object that it is in; NULL: it is in the
 * program itself, or in another library, as an archive. */
static const char *own_soname(const struct link_map *map)
{
    const char *strings = NULL, *name;
    ElfW(Xword) offset = 0;
    bool found = false;

    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB) {
            strings = (const char *)(uintptr_t)d->d_un.d_ptr;
        } else if (d->d_tag == DT_SONAME) {
            offset = d->d_un.d_val;
            found = true;
        }
    }
    name = found && strings != NULL ? strings + offset : NULL;
    return name != NULL && strncmp(name, "libmpix_queue.", 14) == 0 ? name : NULL;
}

static bool needs(const struct link_map *map, const char *soname)
{
    const char *strings = NULL;

    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB) {
            strings = (const char *)(uintptr_t)d->d_un.d_ptr;
        }
    }
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL && strings != NULL; d++) {
        if (d->d_tag == DT_NEEDED && strcmp(strings + d->d_un.d_val, soname) == 0) {
            return true;
        }
    }
    return false;
}

bool mpixq_next_is_linked(void)
{
    struct link_map *own = NULL, *map;
    const char *soname;
    Dl_info info;

    if (dladdr1(&mpixq_next, &info, (void **)&own, RTLD_DL_LINKMAP) == 0 || own == NULL) {
        return true; /* a static program */
    }
    soname = own->l_ld != NULL ? own_soname(own) : NULL;
    if (soname == NULL) {
        return true;
    }
    for (map = own; map->l_prev != NULL; map = map->l_prev) {
    }
    for (; map != NULL; map = map->l_next) {
        /* The kernel's object has addresses of another form. */
        if (map != own && map->l_ld != NULL && strstr(map->l_name, "vdso") == NULL &&
            needs(map, soname)) {
            return true;
        }
    }
    return false;
}

__attribute__((constructor)) static void find_all(void)
{
#define MPIXQ_NEXT(name, parameters) mpixq_next_find("MPI_" #name, &mpixq_next.name);
#include "next_defs.h"
#undef MPIXQ_NEXT
}
