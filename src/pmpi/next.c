/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* MPI's own names for them: right where nothing else is behind us, and in a static program. */
struct mpixq_next mpixq_next = {
#define MPIXQ_NEXT(name, parameters) .name = PMPI_##name,
#include "next_defs.h"
#undef MPIXQ_NEXT
};

void mpixq_next_find(const char *name, void *slot_p)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found != NULL) {
        memcpy(slot_p, &found, sizeof found); /* POSIX's way around data and function pointers */
    }
}

/* Our MPI_Send_init, whatever that name means elsewhere in the process. */
extern __typeof(MPI_Send_init) mpixq_own_send_init __attribute__((visibility("hidden")));

bool mpixq_next_is_interposed(void)
{
    int (*own)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        mpixq_own_send_init;
    void *found = dlsym(RTLD_DEFAULT, "MPI_Send_init");

    /* NULL: a static program, in which there is no other. */
    return (found == NULL || memcmp(&found, &own, sizeof own) == 0) &&
           mpixq_fortran_is_interposed();
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

void mpixq_next_pull(void)
{
    mpixq_pull_init();
    mpixq_pull_persistent();
    mpixq_pull_start();
    mpixq_pull_complete();
    mpixq_pull_comm();
    mpixq_pull_large();
    mpixq_pull_fortran();
}

__attribute__((constructor)) static void find_all(void)
{
#define MPIXQ_NEXT(name, parameters) mpixq_next_find("MPI_" #name, &mpixq_next.name);
#include "next_defs.h"
#undef MPIXQ_NEXT
}
