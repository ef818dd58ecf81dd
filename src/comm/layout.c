/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which datatypes are one piece of memory. Equal size and extent are not enough: a type may name
 * its parts in another order than they lie in memory, or some twice, and that is what the message
 * has. So constructors are followed, each of whose blocks must begin where the last one ended. */
#include "layout.h"

#include "contents.h"
#include "util/alloc.h"

/* Deeper than any sensible type; what is deeper goes by another channel. */
enum { MAX_DEPTH = 16 };
/* Likewise more than any type needs that is one piece. */
enum { MAX_NUMBERS = 4096 };

/* The data so far, from an offset on. */
struct piece {
    MPI_Count first, bytes;
};

/* What a type was made of: numbers of elements and blocks, and of extents; and of bytes. */
struct contents {
    struct mpixq_envelope has;
    MPI_Count *numbers;
    const MPI_Count *places;
    MPI_Datatype *types;
};

uint64_t mpixq_type_bytes(MPI_Datatype type, MPI_Count count)
{
    MPI_Count bytes = 0;

    (void)PMPI_Type_size_x(type, &bytes); /* one that a request was made with */
    return (uint64_t)count * (uint64_t)bytes;
}

bool mpixq_type_reach(MPI_Datatype type, MPI_Count count, MPI_Count *first_p, uint64_t *bytes_p)
{
    MPI_Count lower, extent, true_lower, true_extent, steps = count - 1;

    if (PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS) {
        return false;
    }
    *first_p = true_lower + (extent < 0 ? steps * extent : 0);
    *bytes_p = (uint64_t)(true_extent + steps * (extent < 0 ? -extent : extent));
    return true;
}

static void free_derived(MPI_Datatype type)
{
    struct mpixq_envelope has;

    if (mpixq_type_envelope(type, &has) == MPI_SUCCESS && !mpixq_type_is_predefined(&has)) {
        (void)PMPI_Type_free(&type);
    }
}

static void close_contents(struct contents *contents)
{
    for (MPI_Count i = 0; i < contents->has.n_types; i++) {
        free_derived(contents->types[i]);
    }
    mpixq_free(contents->numbers);
    mpixq_free(contents->types);
}

/* As counts, whatever the type was made with. Where those are large, bytes stand behind numbers. */
static bool read_contents(MPI_Datatype type, struct contents *contents)
{
    const struct mpixq_envelope *has = &contents->has;
    MPI_Count *places = contents->numbers + has->n_ints;
    int *ints = mpixq_alloc((size_t)(has->n_ints + 1) * sizeof *ints); /* both freed below */
    MPI_Aint *addresses = mpixq_alloc((size_t)(has->n_addresses + 1) * sizeof *addresses);
    bool is_read = ints != NULL && addresses != NULL &&
                   mpixq_type_contents(type, has, ints, addresses, contents->numbers,
                                       contents->types) == MPI_SUCCESS;

    if (is_read && has->n_counts == 0) {
        for (MPI_Count i = 0; i < has->n_ints; i++) {
            contents->numbers[i] = ints[i];
        }
        for (MPI_Count i = 0; i < has->n_addresses; i++) {
            places[i] = addresses[i];
        }
        contents->places = has->n_addresses > 0 ? places : NULL;
    }
    mpixq_free(ints);
    mpixq_free(addresses);
    return is_read;
}

/* Of one that is not named. False: nothing is to be closed. */
static bool open_contents(MPI_Datatype type, struct contents *contents)
{
    const struct mpixq_envelope *has = &contents->has;
    MPI_Count n = has->n_ints + has->n_addresses + has->n_counts;

    if (n + has->n_types > MAX_NUMBERS) {
        return false;
    }
    contents->numbers = mpixq_alloc((size_t)(n + 1) * sizeof *contents->numbers); /* by close */
    contents->places = NULL;
    contents->types = mpixq_alloc((size_t)(has->n_types + 1) * sizeof *contents->types);
    if (contents->numbers == NULL || contents->types == NULL || !read_contents(type, contents)) {
        contents->has.n_types = 0;
        close_contents(contents);
        return false;
    }
    if (has->n_counts > 0 &&
        (has->combiner == MPI_COMBINER_HVECTOR || has->combiner == MPI_COMBINER_HINDEXED_BLOCK)) {
        contents->places = contents->numbers + 2;
    } else if (has->n_counts > 0 &&
               (has->combiner == MPI_COMBINER_HINDEXED || has->combiner == MPI_COMBINER_STRUCT)) {
        contents->places = contents->numbers + 1 + contents->numbers[0];
    }
    return true;
}

static bool append(struct piece *all, MPI_Count first, MPI_Count bytes)
{
    if (bytes == 0) {
        return true;
    }
    if (all->bytes == 0) {
        all->first = first;
    } else if (first != all->first + all->bytes) {
        return false;
    }
    all->bytes += bytes;
    return true;
}

static bool find_piece(MPI_Datatype type, int depth, struct piece *piece);

/* One element of a type, found once for all blocks of it. */
struct element {
    struct piece piece;
    MPI_Count extent;
};

static bool find_element(MPI_Datatype type, int depth, struct element *element)
{
    MPI_Count low;

    return find_piece(type, depth, &element->piece) &&
           PMPI_Type_get_extent_x(type, &low, &element->extent) == MPI_SUCCESS;
}

/* So many of them, at a displacement of so many bytes. */
static bool append_elements(struct piece *all, const struct element *element, MPI_Count n,
                            MPI_Count at)
{
    if (n > 1 && element->piece.bytes > 0 && element->extent != element->piece.bytes) {
        return false;
    }
    return append(all, at + element->piece.first, n * element->piece.bytes);
}

static bool append_block(struct piece *all, MPI_Datatype type, int depth, MPI_Count n)
{
    struct element element;

    return n == 0 || (find_element(type, depth, &element) && append_elements(all, &element, n, 0));
}

/* One after the other, as far as their distance goes: in extents, or bytes. */
static bool append_vector(struct piece *all, const struct contents *contents, int depth)
{
    MPI_Count stride, n = contents->numbers[0], length = contents->numbers[1];
    struct element element;

    if (!find_element(contents->types[0], depth, &element)) {
        return false;
    }
    stride = contents->places != NULL ? contents->places[0] : contents->numbers[2] * element.extent;
    if (n > 1 && length > 0 && stride != length * element.extent) {
        return false;
    }
    return append_elements(all, &element, n * length, 0);
}

/* Those that have a list of blocks: where the lengths and the displacements are. */
static bool append_blocks(struct piece *all, const struct contents *contents, int depth)
{
    MPI_Count n = contents->numbers[0];
    bool is_equal = contents->has.combiner == MPI_COMBINER_INDEXED_BLOCK ||
                    contents->has.combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const MPI_Count *lengths = contents->numbers + 1, *extents = lengths + (is_equal ? 1 : n);
    MPI_Datatype known = MPI_DATATYPE_NULL;
    struct element element;

    for (MPI_Count i = 0; i < n; i++) {
        MPI_Datatype type = contents->types[contents->has.n_types > 1 ? i : 0];
        MPI_Count length = lengths[is_equal ? 0 : i];

        if (length == 0) {
            continue;
        }
        if (type != known && !find_element(type, depth, &element)) {
            return false;
        }
        known = type;
        if (!append_elements(all, &element, length,
                             contents->places != NULL ? contents->places[i]
                                                      : extents[i] * element.extent)) {
            return false;
        }
    }
    return true;
}

/* Its elements are in the order of memory. */
static bool append_subarray(struct piece *all, MPI_Datatype type, const struct contents *contents,
                            int depth)
{
    struct piece some = {.bytes = 0};
    struct element element;
    MPI_Count size, low, extent;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           PMPI_Type_get_true_extent_x(type, &low, &extent) == MPI_SUCCESS && size == extent &&
           find_element(contents->types[0], depth, &element) &&
           append_elements(&some, &element, size == element.piece.bytes ? 1 : 2, 0) &&
           append(all, low, size);
}

static bool append_contents(struct piece *all, MPI_Datatype type, const struct contents *contents,
                            int depth)
{
    switch (contents->has.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return append_block(all, contents->types[0], depth, 1);
    case MPI_COMBINER_CONTIGUOUS:
        return append_block(all, contents->types[0], depth, contents->numbers[0]);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return append_vector(all, contents, depth);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return append_blocks(all, contents, depth);
    case MPI_COMBINER_SUBARRAY:
        return append_subarray(all, type, contents, depth);
    default:
        return false;
    }
}

/* Where the data of one element is; false: it is not one piece in its order. */
static bool find_piece(MPI_Datatype type, int depth, struct piece *piece)
{
    struct contents contents;
    MPI_Count size, low, extent;
    bool result;

    *piece = (struct piece){.bytes = 0};
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS) {
        return false;
    }
    if (size == 0) {
        return true;
    }
    if (depth == 0 || mpixq_type_envelope(type, &contents.has) != MPI_SUCCESS) {
        return false;
    }
    if (mpixq_type_is_predefined(&contents.has)) {
        return PMPI_Type_get_true_extent_x(type, &low, &extent) == MPI_SUCCESS && size == extent &&
               append(piece, low, size);
    }
    if (!open_contents(type, &contents)) {
        return false;
    }
    result = append_contents(piece, type, &contents, depth - 1);
    close_contents(&contents);
    return result;
}

bool mpixq_is_in_order(MPI_Datatype type, MPI_Count count)
{
    struct piece all = {.bytes = 0};

    return append_block(&all, type, MAX_DEPTH, count);
}

bool mpixq_is_contiguous(MPI_Datatype type)
{
    struct piece two = {.bytes = 0};

    return append_block(&two, type, MAX_DEPTH, 2) && two.first == 0;
}
