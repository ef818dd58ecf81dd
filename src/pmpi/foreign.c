/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Is the MPI of the process another one than the library was compiled for? Then none of its
 * handles may be used, nor those of the program. MPIs that descend from MPICH have one binary
 * interface, in which handles are numbers; in Open MPI and its heirs they are addresses, and
 * constants are objects of the library. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "next.h"
#include "object.h"
#include "util/env.h"
#include "util/log.h"

enum {
    HAS_ADDRESSES = sizeof(MPI_Comm) == sizeof(void *),
    VERSION_ROOM = 8192 /* of MPICH, and more than any other: mpi.h tells that of our own MPI */
};

/* The name of the object that a handle of ours is the address of, or NULL. */
static const char *name_of_world(void)
{
    const void *world = (const void *)(intptr_t)MPI_COMM_WORLD;
    Dl_info info;

    return HAS_ADDRESSES && dladdr(world, &info) != 0 && info.dli_saddr == world ? info.dli_sname
                                                                                 : NULL;
}

/* The first line, or less. */
static void version_of_mpi(char version[VERSION_ROOM])
{
    int length = 0;

    version[0] = '\0';
    (void)PMPI_Get_library_version(version, &length); /* may be called before MPI_Init */
    version[strcspn(version, "\n,")] = '\0';
    for (char *c = version; *c != '\0'; c++) {
        *c = *c == '\t' ? ' ' : *c;
    }
}

static void look(void)
{
    const void *serves = mpixq_object_first("PMPI_Comm_rank");
    const char *world = name_of_world();
    char version[VERSION_ROOM];
    Dl_info own;

    if (serves == NULL) {
        return; /* a static program has one MPI */
    }
    version_of_mpi(version);
    if (world != NULL) {
        /* Something in between may define functions only. */
        mpixq_next.is_foreign =
            mpixq_object_symbol(serves, world) == NULL && strstr(version, "Open MPI") == NULL;
    } else if (!HAS_ADDRESSES) {
        mpixq_next.is_foreign = mpixq_object_symbol(serves, "ompi_mpi_comm_world") != NULL;
    }
    if (mpixq_next.is_foreign) {
        mpixq_env_read();
        mpixq_err("%s was built for %s, and this process runs on another MPI, %.80s (%s): link or "
                  "preload the libmpix_queue of that MPI",
                  dladdr(&mpixq_next, &own) != 0 ? own.dli_fname : "libmpix_queue",
                  HAS_ADDRESSES ? "Open MPI" : "MPICH and its like", version,
                  mpixq_object_name(serves));
    }
}

bool mpixq_next_is_foreign(void)
{
    (void)pthread_once(&mpixq_next.foreign_once, look);
    return mpixq_next.is_foreign;
}
