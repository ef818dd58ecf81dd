/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "lib/lib.h"
#include "next.h"
#include "pull.h"
#include "util/affinity.h"
#include "util/env.h"

void mpixq_pull_init(void)
{
}

/* A queue needs MPI_THREAD_MULTIPLE, so a program that is linked with the library gets it. One that
 * merely has the library preloaded keeps what it asked for. */
static int level_to_ask(int required)
{
    mpixq_env_read();
    switch (mpixq_env.thread_level) {
    case MPIXQ_THREAD_KEEP:
        return required;
    case MPIXQ_THREAD_MULTIPLE:
        return MPI_THREAD_MULTIPLE;
    default:
        return mpixq_next_is_linked() ? MPI_THREAD_MULTIPLE : required;
    }
}

MPIXQ_INTERPOSE int MPI_Init(int *argc, char ***argv)
{
    int level = level_to_ask(MPI_THREAD_SINGLE), provided = MPI_THREAD_SINGLE, rc;

    if (mpixq_next_is_foreign()) {
        return MPI_ERR_OTHER;
    }
    mpixq_affinity_before_init();
    if (level == MPI_THREAD_SINGLE) {
        rc = mpixq_next.Init(argc, argv);
        if (rc == MPI_SUCCESS) {
            (void)PMPI_Query_thread(&provided);
        }
    } else {
        rc = mpixq_next.Init_thread(argc, argv, level, &provided);
    }
    if (rc == MPI_SUCCESS) {
        mpixq_lib_open(provided);
    }
    return rc;
}
MPIXQ_OWN(Init);

MPIXQ_INTERPOSE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc;

    if (mpixq_next_is_foreign()) {
        return MPI_ERR_OTHER;
    }
    mpixq_affinity_before_init();
    rc = mpixq_next.Init_thread(argc, argv, level_to_ask(required), provided);
    if (rc == MPI_SUCCESS) {
        mpixq_lib_open(*provided);
    }
    return rc;
}
MPIXQ_OWN(Init_thread);

MPIXQ_INTERPOSE int MPI_Finalize(void)
{
    mpixq_lib_finalize();
    return mpixq_next.Finalize();
}
MPIXQ_OWN(Finalize);
