/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kinds of stream of this build. */
#include "stream.h"

#include <stddef.h>
#include <string.h>

#include "host_stream.h"

static const struct mpixq_stream_ops *const kinds[] = {
    &mpixq_host_stream_ops,
    NULL,
};

const struct mpixq_stream_ops *mpixq_stream_kind(const char *kind)
{
    for (int i = 0; kinds[i] != NULL; i++) {
        if (strcmp(kinds[i]->kind, kind) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

const struct mpixq_stream_ops *mpixq_stream_recognise(const void *handle)
{
    for (int i = 0; kinds[i] != NULL; i++) {
        if (kinds[i]->is_live(handle)) {
            return kinds[i];
        }
    }
    return NULL;
}

bool mpixq_stream_inside(void)
{
    return mpixq_host_stream_inside();
}
