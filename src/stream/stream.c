/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kinds of stream of this build. */
#include "stream.h"

#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "gpu.h"
#include "gpu_life.h"
#include "gpu_policy.h"
#include "gpu_words.h"
#include "host_stream.h"
#include "memory.h"
#include "util/facts.h"
#include "util/log.h"

/* A stream of the host is known by its handle, so it stands first; others are known by what the
 * process has loaded. */
static const struct mpixq_stream_kind *const kinds[] = {
    &mpixq_host_stream_kind,
    &mpixq_cuda_stream_kind,
    &mpixq_hip_stream_kind,
    NULL,
};

const struct mpixq_stream_kind *mpixq_stream_kind(const char *name)
{
    for (int i = 0; kinds[i] != NULL; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

const struct mpixq_stream_kind *mpixq_stream_recognise(const void *handle, bool *several_p)
{
    const struct mpixq_stream_kind *kind = NULL;

    *several_p = false;
    if (kinds[0]->ops->is_live(kinds[0], handle)) {
        return kinds[0];
    }
    for (int i = 1; kinds[i] != NULL; i++) {
        if (kinds[i]->ops->is_live(kinds[i], handle)) {
            *several_p = kind != NULL;
            kind = kinds[i];
        }
    }
    return *several_p ? NULL : kind;
}

bool mpixq_stream_inside(void)
{
    return mpixq_host_stream_inside();
}

void mpixq_streams_look_again(void)
{
    mpixq_gpu_policy_look_again();
}

void mpixq_streams_look_at_places(void)
{
    mpixq_gpu_lives_look();
}

void mpixq_streams_close(void)
{
    unsigned used = mpixq_memory_kinds();

    mpixq_memory_relax(used);
    mpixq_memory_close();
    mpixq_gpu_words_close();
    mpixq_gpu_lives_close();
    mpixq_memory_restore(used);
}

/* What is built in of the kernels, into text. */
static void list_code(const struct mpixq_gpu_code *code, bool archs, char *text, size_t room)
{
    size_t used = 0;

    (void)snprintf(text, room, "none in this build");
    for (; code->what != NULL; code++) {
        if (*code->size > 0 && used < room) {
            used += (size_t)snprintf(text + used, room - used, "%s%s%s%s%s",
                                     used > 0 ? ", "
                                     : archs  ? ""
                                              : "built in as ",
                                     code->what, archs ? " (" : "", archs ? code->archs : "",
                                     archs ? ")" : "");
        }
    }
}

void mpixq_streams_print(void)
{
    char kernels[64];

    mpixq_print("stream mpix_host_stream: available");
    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        list_code(mpixq_gpus[i]->code, false, kernels, sizeof kernels);
        mpixq_print("stream %s: %s; kernels: %s", mpixq_gpus[i]->kind,
                    mpixq_gpus[i]->is_used() ? "in use"
                                             : "the program has not begun to use it by now",
                    kernels);
    }
}

void mpixq_streams_tell_built(struct mpixq_facts *facts)
{
    char kinds_text[160] = "", kernels[300], name[64];
    size_t used = 0;

    for (int i = 0; kinds[i] != NULL; i++) {
        used += (size_t)snprintf(kinds_text + used, sizeof kinds_text - used, "%s%s",
                                 i > 0 ? ", " : "", kinds[i]->name);
    }
    mpixq_fact(facts, "streams", "%s", kinds_text);
    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        list_code(mpixq_gpus[i]->code, true, kernels, sizeof kernels);
        (void)snprintf(name, sizeof name, "kernels for %s", mpixq_gpus[i]->name);
        mpixq_fact(facts, name, "%s", kernels);
    }
}
