/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * build.c - what the build has
 */
#include <string.h>

#include "config.h"
#include "core/channels.h"
#include "info.h"
#include "stream/stream.h"

void tell_build(struct mpixq_facts *facts)
{
    char channels[80] = "";

    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        size_t used = strlen(channels);

        (void)snprintf(channels + used, sizeof channels - used, "%s%s", i > 0 ? ", " : "",
                       mpixq_channels[i]->name);
    }
    mpixq_fact(facts, "version", "%s", PACKAGE_VERSION);
    mpixq_fact(facts, "built for", "%s", MPIXQ_BUILT_FOR);
    mpixq_fact(facts, "configure", "%s", MPIXQ_CONFIGURE_OPTIONS);
    mpixq_fact(facts, "channels", "%s", channels);
    mpixq_streams_tell_built(facts);
}
