/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The objects that the dynamic linker has put together: the program and its shared libraries.
 * Any thread.
 */
#ifndef MPIXQ_OBJECT_H
#define MPIXQ_OBJECT_H

#include <stdbool.h>

/* The object that holds an address, by its file's name without folders; NULL: not known. */
const char *mpixq_object_name(const void *address);
/* The definition of a name in the object that holds the address; NULL: it has none. */
void *mpixq_object_symbol(const void *address, const char *name);
/* The definition of a name that calls from everywhere come to, or NULL. A program that cannot be
 * relocated takes the address of a function in itself, of a mere jump to that. */
void *mpixq_object_first(const char *name);
/* Does the object with this library hold the address? */
bool mpixq_object_is_own(const void *address);

#endif
