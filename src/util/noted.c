/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "noted.h"

atomic_uint mpixq_noted[1 << MPIXQ_NOTED_BITS];

uint16_t mpixq_noted_add(MPI_Request handle)
{
    uint32_t cell = mpixq_noted_cell(handle);

    atomic_fetch_add(&mpixq_noted[cell], 1);
    return (uint16_t)(cell + 1);
}

void mpixq_noted_remove(uint16_t note)
{
    atomic_fetch_sub(&mpixq_noted[note - 1], 1);
}
