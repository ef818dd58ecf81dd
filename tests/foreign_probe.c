/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What foreign.sh links with the library that was built for the other MPI: it is told so, by the
 * first function that the library has, and goes on to its end. Argument 1: init, if MPI_Init is
 * such a function, else match.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpix_queue.h"

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Init(&argc, &argv), initialised = 0, wrong = 0;

    MPI_Initialized(&initialised);
    if (strcmp(argv[1], "init") == 0 ? rc == MPI_SUCCESS || initialised
                                     : rc != MPI_SUCCESS || !initialised) {
        fprintf(stderr, "MPI_Init returned %d, initialised: %d\n", rc, initialised);
        wrong = 1;
    }
    if (MPIX_Match(&request) == MPI_SUCCESS ||
        MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL) == MPI_SUCCESS || queue != MPIX_QUEUE_NULL) {
        fprintf(stderr, "functions of the library work\n");
        wrong = 1;
    }
    if (initialised) {
        MPI_Finalize();
    }
    return wrong;
}
