/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which of several devices is near the GPU and the CPUs of the process.
 */
#ifndef MPIXQ_NEAR_H
#define MPIXQ_NEAR_H

#include "cpus.h"

enum { MPIXQ_PCI_ROOM = 24 };

/* Where Linux describes its PCI devices, by names as in 0000:20:00.0. */
#define MPIXQ_PCI_DEVICES "/sys/bus/pci/devices"

/* What they are to be near to. */
struct mpixq_near {
    const char *folder; /* where the devices are described */
    const char *gpu;    /* name of the GPU; empty: there is none, or it is not known */
    const struct mpixq_cpus *own;
    int turn;
};

/* The order in which to take them: first the device that has most of its way on the bus in common
 * with the GPU, or else is at the same CPUs; of those equally near to it the one that most of our
 * own CPUs are near to, and of those again the one whose turn it is. A name may be empty. *why_p
 * says in a few words what decided which comes first. */
void mpixq_near_order(const char names[][MPIXQ_PCI_ROOM], int n, const struct mpixq_near *to,
                      int order[], const char **why_p);

#endif
