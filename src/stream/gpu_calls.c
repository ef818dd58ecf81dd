/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory, kernels and streams, by calls that both vendors have. */
#include "gpu.h"

int mpixq_gpu_cleared(const struct mpixq_gpu *gpu, int code)
{
    if (code != 0 && gpu->calls->last_error != NULL) {
        (void)gpu->calls->last_error();
    }
    return code;
}

int mpixq_gpu_host_alloc(const struct mpixq_gpu *gpu, size_t bytes, void **host_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->host_alloc(host_p, bytes, gpu->numbers.host_memory));
}

void mpixq_gpu_host_free(const struct mpixq_gpu *gpu, void *host)
{
    /* The place may be gone, and the memory with it, here as below. */
    (void)mpixq_gpu_cleared(gpu, gpu->calls->host_free(host));
}

int mpixq_gpu_address(const struct mpixq_gpu *gpu, void *host, void **address_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->address(address_p, host, 0));
}

int mpixq_gpu_map(const struct mpixq_gpu *gpu, void *memory, size_t bytes, bool is_io)
{
    const unsigned flags = MPIXQ_GPU_PORTABLE | MPIXQ_GPU_MAPPED;
    int code;

    if (gpu->calls->map == NULL || gpu->calls->unmap == NULL) {
        return MPIXQ_GPU_NOT_SUPPORTED;
    }
    code = mpixq_gpu_cleared(
        gpu, gpu->calls->map(memory, bytes, flags | (is_io ? MPIXQ_GPU_IO_MEMORY : 0)));
    return is_io && gpu->maps_io_as_memory &&
                   (code == MPIXQ_GPU_INVALID_VALUE || code == MPIXQ_GPU_NOT_SUPPORTED)
               ? mpixq_gpu_cleared(gpu, gpu->calls->map(memory, bytes, flags))
               : code;
}

int mpixq_gpu_unmap(const struct mpixq_gpu *gpu, void *memory)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->unmap(memory));
}

int mpixq_gpu_word_alloc(const struct mpixq_gpu *gpu, void **host_p)
{
    *host_p = NULL;
    return gpu->word_alloc != NULL ? gpu->word_alloc(host_p) : 0;
}

void mpixq_gpu_free(const struct mpixq_gpu *gpu, void *address)
{
    (void)mpixq_gpu_cleared(gpu, gpu->calls->free(address));
}

int mpixq_gpu_load(const struct mpixq_gpu *gpu, const void *code, void **module_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->load(module_p, code));
}

/* CUDA may load a kernel when it is first launched, and to load may wait for the GPU: for a kernel
 * that waits, if one does. So all are loaded at once; a driver that has no call for that does so to
 * answer a question. */
int mpixq_gpu_function(const struct mpixq_gpu *gpu, void *module, const char *name,
                       void **function_p)
{
    const struct mpixq_gpu_calls *calls = gpu->calls;
    int value, code = calls->function(function_p, module, name);

    if (code == 0 && calls->load_function != NULL) {
        code = calls->load_function(*function_p);
    } else if (code == 0 && calls->function_attribute != NULL) {
        code = calls->function_attribute(&value, MPIXQ_GPU_BINARY_VERSION, *function_p);
    }
    return mpixq_gpu_cleared(gpu, code);
}

int mpixq_gpu_write(const struct mpixq_gpu *gpu, void *stream, void *word, uint64_t value)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->write(stream, word, value, 0));
}

int mpixq_gpu_launch(const struct mpixq_gpu *gpu, void *stream, void *function,
                     struct mpixq_grid grid, void **parameters)
{
    const unsigned rows = grid.rows > 0 ? grid.rows : 1;
    struct mpixq_gpu_launch_attribute early = {.id = MPIXQ_GPU_PROGRAMMATIC_SERIALIZATION,
                                               .value = {1}};
    struct mpixq_gpu_launch with = {.blocks = {grid.blocks, rows, 1},
                                    .threads = {grid.threads, 1, 1},
                                    .stream = stream,
                                    .attributes = &early,
                                    .n = 1};

    if (grid.early && gpu->calls->launch_with != NULL) {
        return mpixq_gpu_cleared(gpu, gpu->calls->launch_with(&with, function, parameters, NULL));
    }
    return mpixq_gpu_cleared(gpu, gpu->calls->launch(function, grid.blocks, rows, 1, grid.threads,
                                                     1, 1, 0, stream, parameters, NULL));
}

int mpixq_gpu_zero(const struct mpixq_gpu *gpu, void *stream, void *address, size_t bytes)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->zero(address, 0, bytes, stream));
}

int mpixq_gpu_own_stream(const struct mpixq_gpu *gpu, void **stream_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->stream_create(stream_p, MPIXQ_GPU_NON_BLOCKING));
}

int mpixq_gpu_finish(const struct mpixq_gpu *gpu, void *stream)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->finish(stream));
}

const char *mpixq_gpu_broken(const struct mpixq_gpu *gpu, void *stream)
{
    int code = mpixq_gpu_cleared(gpu, gpu->calls->query(stream));

    return code == 0 || code == MPIXQ_GPU_NOT_READY ? NULL : gpu->text(code);
}
