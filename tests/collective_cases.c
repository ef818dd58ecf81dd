/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * collective_cases.c - random persistent collectives, and what has to come of each start
 */
#include "collective_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective_names.h"

enum { GUARD = 0x5C, LARGE = 300 * 1024, GRID = PLAIN_PLACES, GRAPH = PLAIN_PLACES + 1 };

static const char *const kind_names[] = {"barrier",   "bcast",    "allreduce",
                                         "allgather", "alltoall", "alltoallv"};

/* ---- Communicators -------------------------------------------------------------------------- */

static unsigned draw(unsigned *state, unsigned below)
{
    *state = collective_mix(*state, 77, 1);
    return *state / 8 % below;
}

/* The prime factors of the size, in any dimensions. */
static void draw_grid(struct place *p, unsigned seed, bool has_repeats)
{
    int left = p->size;

    p->n_dims = 1 + (int)draw(&seed, MAX_DIMS);
    for (int d = 0; d < p->n_dims; d++) {
        p->dims[d] = 1;
    }
    for (int factor = 2; left > 1; left % factor == 0 ? left /= factor : factor++) {
        if (left % factor == 0) {
            p->dims[draw(&seed, (unsigned)p->n_dims)] *= factor;
        }
    }
    for (int d = 0; d < p->n_dims; d++) {
        p->periods[d] = draw(&seed, 3) > 0 && (has_repeats || p->dims[d] > 2);
    }
}

static bool has_edge(const struct place *p, int from, int to)
{
    for (int i = 0; i < p->n_edges; i++) {
        if (p->from[i] == from && p->to[i] == to) {
            return true;
        }
    }
    return false;
}

/* Edges of all kinds: to the process itself, and several between the same two. */
static void draw_graph(struct place *p, unsigned seed, bool has_repeats)
{
    int most = (int)draw(&seed, (unsigned)(3 * p->size + 1));

    most = most < MAX_EDGES ? most : MAX_EDGES;
    for (int i = 0; i < most; i++) {
        int from = (int)draw(&seed, (unsigned)p->size), to = (int)draw(&seed, (unsigned)p->size);

        if (has_repeats || !has_edge(p, from, to)) {
            p->from[p->n_edges] = from;
            p->to[p->n_edges++] = to;
        }
    }
}

/* The edges that come to a process, in an order in which those of each sender keep theirs. */
static int list_sources(const struct place *p, int rank, int edges[MAX_EDGES])
{
    int n = 0;

    for (int turn = 0; turn < p->size; turn++) {
        int source = (rank + 1 + turn) % p->size;

        for (int i = 0; i < p->n_edges; i++) {
            if (p->to[i] == rank && p->from[i] == source) {
                edges[n++] = i;
            }
        }
    }
    return n;
}

static void make_graph(struct place *p, MPI_Comm base)
{
    int sources[MAX_EDGES], dests[MAX_EDGES], edges[MAX_EDGES], n_out = 0;
    int n_in = list_sources(p, p->rank, edges);

    for (int i = 0; i < n_in; i++) {
        sources[i] = p->from[edges[i]];
    }
    for (int i = 0; i < p->n_edges; i++) {
        if (p->from[i] == p->rank) {
            dests[n_out++] = p->to[i];
        }
    }
    MTEST_OK(MPI_Dist_graph_create_adjacent(base, n_in, sources, MPI_UNWEIGHTED, n_out, dests,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &p->comm));
}

static void know(struct place *p, const char *name)
{
    p->name = name;
    MTEST_OK(MPI_Comm_size(p->comm, &p->size));
    MTEST_OK(MPI_Comm_rank(p->comm, &p->rank));
}

void collective_places_make(struct place places[PLACES], unsigned seed, bool has_repeats)
{
    const struct place *base;

    memset(places, 0, PLACES * sizeof places[0]);
    places[0].comm = MPI_COMM_WORLD;
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &places[1].comm));
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, mtest_rank >= mtest_size / 2, 0, &places[2].comm));
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mtest_rank, &places[3].comm));
    know(&places[0], "the world");
    know(&places[1], "a copy");
    know(&places[2], "a half");
    know(&places[3], "the world backwards");
    for (int i = GRID; i <= GRAPH; i++) {
        struct place *p = &places[i];

        base = &places[draw(&seed, PLAIN_PLACES)];
        p->size = base->size;
        p->rank = base->rank;
        if (i == GRID) {
            draw_grid(p, seed, has_repeats);
            MTEST_OK(MPI_Cart_create(base->comm, p->n_dims, p->dims, p->periods, 0, &p->comm));
        } else {
            draw_graph(p, seed, has_repeats);
            make_graph(p, base->comm);
        }
        know(p, i == GRID ? "a grid" : "a graph");
    }
}

void collective_places_free(struct place places[PLACES])
{
    for (int i = 1; i < PLACES; i++) {
        MTEST_OK(MPI_Comm_free(&places[i].comm));
    }
}

/* ---- Neighbours ----------------------------------------------------------------------------- */

static int key_of(int rank, int slot)
{
    return rank * MAX_EDGES + slot;
}

/* The process at a distance in one dimension, or -1; the last dimension varies fastest. */
static int shifted(const struct place *p, int dim, int by)
{
    int stride = 1, coordinate, there;

    for (int d = p->n_dims - 1; d > dim; d--) {
        stride *= p->dims[d];
    }
    coordinate = p->rank / stride % p->dims[dim];
    there = coordinate + by;
    if (p->periods[dim]) {
        there = (there + p->dims[dim]) % p->dims[dim];
    } else if (there < 0 || there >= p->dims[dim]) {
        return -1;
    }
    return p->rank + (there - coordinate) * stride;
}

/* What comes from -1 was sent towards +1, also if both are the same process. */
static void find_grid(struct collective *c)
{
    const struct place *p = c->place;

    c->n_in = c->n_out = 2 * p->n_dims;
    for (int i = 0; i < c->n_in; i++) {
        int there = shifted(p, i / 2, i % 2 == 0 ? -1 : 1);

        c->out[i].key = key_of(p->rank, i);
        c->in[i].key = there < 0 ? -1 : key_of(there, i ^ 1);
    }
}

static void find_graph(struct collective *c)
{
    const struct place *p = c->place;
    int edges[MAX_EDGES];

    c->n_out = 0;
    for (int i = 0; i < p->n_edges; i++) {
        if (p->from[i] == p->rank) {
            c->out[c->n_out].key = key_of(p->rank, c->n_out);
            c->n_out++;
        }
    }
    c->n_in = list_sources(p, p->rank, edges);
    for (int i = 0; i < c->n_in; i++) {
        int slot = 0;

        for (int k = 0; k < edges[i]; k++) {
            slot += p->from[k] == p->from[edges[i]];
        }
        c->in[i].key = key_of(p->from[edges[i]], slot);
    }
}

/* ---- A case --------------------------------------------------------------------------------- */

static int draw_count(unsigned *state, int bytes)
{
    switch (draw(state, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
    case 3:
        return 3 + 2 * (int)draw(state, 20);
    case 4:
        return draw(state, 3) == 0 ? LARGE / bytes : 2;
    default:
        return 1 + (int)draw(state, 6000U) / bytes;
    }
}

/* Blocks in any order, and with gaps if counts differ from block to block. */
static int place_blocks(const struct collective *c, struct block blocks[], int n)
{
    unsigned state = collective_mix(c->seed, (unsigned)c->place->rank, 9);
    bool apart = c->kind == ALLTOALLV && n > 0;
    int at = 0, first = apart ? (int)draw(&state, (unsigned)n) : 0;

    for (int i = 0; i < n; i++) {
        struct block *b = &blocks[apart ? n - 1 - (first + i) % n : i];

        at += apart ? (int)draw(&state, 3) : 0;
        b->displ = at;
        at += b->count;
    }
    return at;
}

static void list_blocks(const struct block blocks[], int n, int counts[], int displs[])
{
    for (int i = 0; i < n; i++) {
        counts[i] = blocks[i].count;
        displs[i] = blocks[i].displ;
    }
}

/* Of the same data at both ends, by the types of each. */
static void count_blocks(struct collective *c, int count)
{
    int ratio = c->recv_element->packed / c->send_element->packed;

    for (int i = 0; i < c->n_out; i++) {
        unsigned state = collective_mix(c->seed, (unsigned)c->out[i].key, 8);

        if (c->kind == ALLTOALLV) {
            count = draw_count(&state, c->recv_element->packed);
        }
        c->out[i].count = count * ratio;
    }
    for (int i = 0; i < c->n_in; i++) {
        unsigned state = collective_mix(c->seed, (unsigned)c->in[i].key, 8);

        if (c->kind == ALLTOALLV) {
            count = draw_count(&state, c->recv_element->packed);
        }
        c->in[i].count = count;
    }
}

static void find_blocks(struct collective *c)
{
    const struct place *p = c->place;

    switch (c->kind) {
    case BARRIER:
    case KINDS:
        break;
    case BCAST: /* the buffer of the root is none that is received in */
        c->n_out = c->root == p->rank;
        c->n_in = 1 - c->n_out;
        c->out[0].key = c->in[0].key = c->root;
        break;
    case ALLREDUCE:
    case ALLGATHER:
        c->n_out = !c->is_in_place;
        c->n_in = c->kind == ALLREDUCE ? 1 : p->size;
        c->out[0].key = p->rank;
        for (int i = 0; i < c->n_in; i++) {
            c->in[i].key = i;
        }
        break;
    case ALLTOALL:
    case ALLTOALLV:
        if (p->n_dims > 0) {
            find_grid(c);
        } else {
            find_graph(c);
        }
        break;
    }
}

static const void *send_of(const struct collective *c)
{
    return c->is_in_place ? MPI_IN_PLACE : c->send.buf;
}

void collective_init(struct collective *c)
{
    MPI_Datatype st = c->send_element->type, rt = c->recv_element->type;
    MPI_Comm comm = c->place->comm;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Request *r = &c->request;
    void *in = c->recv.buf;

    switch (c->kind) {
    case BARRIER:
        MTEST_OK(COLLECTIVE(Barrier_init)(comm, info, r));
        break;
    case BCAST:
        if (c->n_out > 0) {
            MTEST_OK(
                COLLECTIVE(Bcast_init)(c->send.buf, c->out_counts[0], st, c->root, comm, info, r));
        } else {
            MTEST_OK(COLLECTIVE(Bcast_init)(in, c->in_counts[0], rt, c->root, comm, info, r));
        }
        break;
    case ALLREDUCE:
        MTEST_OK(COLLECTIVE(Allreduce_init)(send_of(c), in, c->in_counts[0], rt, c->operation->op,
                                            comm, info, r));
        break;
    case ALLGATHER:
        MTEST_OK(COLLECTIVE(Allgather_init)(send_of(c), c->out_counts[0], st, in, c->in_counts[0],
                                            rt, comm, info, r));
        break;
    case ALLTOALL:
        MTEST_OK(COLLECTIVE(Neighbor_alltoall_init)(send_of(c), c->out_counts[0], st, in,
                                                    c->in_counts[0], rt, comm, info, r));
        break;
    default:
        MTEST_OK(COLLECTIVE(Neighbor_alltoallv_init)(send_of(c), c->out_counts, c->out_displs, st,
                                                     in, c->in_counts, c->in_displs, rt, comm, info,
                                                     r));
    }
}

void collective_begin(struct collective *c)
{
    MPI_Datatype st = c->send_element->type, rt = c->recv_element->type;
    MPI_Comm comm = c->place->comm;
    MPI_Request *r = &c->request;
    void *in = c->recv.buf;

    *r = MPI_REQUEST_NULL;
    switch (c->kind) {
    case BARRIER:
        MTEST_OK(MPI_Ibarrier(comm, r));
        break;
    case BCAST:
        if (c->n_out > 0) {
            MTEST_OK(MPI_Ibcast(c->send.buf, c->out_counts[0], st, c->root, comm, r));
        } else {
            MTEST_OK(MPI_Ibcast(in, c->in_counts[0], rt, c->root, comm, r));
        }
        break;
    case ALLREDUCE:
        MTEST_OK(MPI_Iallreduce(send_of(c), in, c->in_counts[0], rt, c->operation->op, comm, r));
        break;
    case ALLGATHER:
        MTEST_OK(
            MPI_Iallgather(send_of(c), c->out_counts[0], st, in, c->in_counts[0], rt, comm, r));
        break;
    case ALLTOALL:
        MTEST_OK(
            MPI_Neighbor_alltoall(send_of(c), c->out_counts[0], st, in, c->in_counts[0], rt, comm));
        break;
    default:
        MTEST_OK(MPI_Neighbor_alltoallv(send_of(c), c->out_counts, c->out_displs, st, in,
                                        c->in_counts, c->in_displs, rt, comm));
    }
}

static void draw_types(struct collective *c, unsigned *state)
{
    if (c->kind == ALLREDUCE) {
        c->operation = &collective_operations[draw(state, OPERATIONS)];
        c->recv_element = &collective_elements[c->operation->element];
    } else {
        c->recv_element = &collective_elements[draw(state, PLAIN_ELEMENTS)];
    }
    c->send_element = c->recv_element;
    if (c->recv_element->ints > 1 && c->kind != ALLREDUCE && draw(state, 3) == 0) {
        c->send_element = &collective_elements[INTS];
    }
}

void collective_make(struct collective *c, const struct place places[PLACES], unsigned seed)
{
    unsigned state = seed;
    int count;

    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->kind = (enum collective_kind)draw(&state, KINDS);
    c->place = &places[c->kind >= ALLTOALL ? GRID + draw(&state, 2) : draw(&state, PLACES)];
    draw_types(c, &state);
    c->root = (int)(draw(&state, 1000) % (unsigned)c->place->size);
    c->is_in_place = (c->kind == ALLREDUCE || c->kind == ALLGATHER) && draw(&state, 2) == 0;
    find_blocks(c);
    count = draw_count(&state, c->recv_element->packed);
    count_blocks(c, count);
    mtest_buf_make(&c->send, c->send_element->type, place_blocks(c, c->out, c->n_out));
    mtest_buf_make(&c->recv, c->recv_element->type, place_blocks(c, c->in, c->n_in));
    list_blocks(c->out, c->n_out, c->out_counts, c->out_displs);
    list_blocks(c->in, c->n_in, c->in_counts, c->in_displs);
    if (c->kind == ALLTOALL) { /* also where there is no such neighbour */
        c->in_counts[0] = count;
        c->out_counts[0] = count * (c->recv_element->packed / c->send_element->packed);
    }
}

void collective_unmake(struct collective *c)
{
    mtest_buf_free(&c->send);
    mtest_buf_free(&c->recv);
}

const char *collective_text(const struct collective *c)
{
    static _Thread_local char text[256];

    (void)snprintf(text, sizeof text, "%s %s%s of %d %s on %s of %d, rank %d, root %d, seed %u",
                   kind_names[c->kind], c->operation != NULL ? c->operation->name : "data",
                   c->is_in_place ? " in place" : "", c->n_in > 0 ? c->in[0].count : 0,
                   c->recv_element->name, c->place->name, c->place->size, c->place->rank, c->root,
                   c->seed);
    return text;
}

/* ---- Data ----------------------------------------------------------------------------------- */

static void *room(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (p == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", mtest_rank, bytes);
        exit(MTEST_HARD);
    }
    return p;
}

/* The data of a key, packed; sums that are rounded are seen twice with each of two data. */
static void *contents(const struct collective *c, int run, int key, int bytes)
{
    const struct operation *o = c->operation;
    unsigned which = (unsigned)(o != NULL && o->is_rounding ? run % 2 : run);
    unsigned seed = collective_mix(c->seed, which, (unsigned)key);
    unsigned char *packed = room((size_t)bytes);

    if (o != NULL) {
        o->draw(packed, bytes / c->recv_element->packed, seed);
    } else {
        for (int i = 0; i < bytes; i++) {
            packed[i] = mtest_pattern((int)seed, (size_t)i);
        }
    }
    return packed;
}

/* Into raw bytes of a buffer, or of its model. */
static void lay(const struct mtest_buf *b, unsigned char *raw, const struct block *block,
                const void *packed, int bytes)
{
    MPI_Aint lb = 0, extent = 0;
    int position = 0;

    MTEST_OK(MPI_Type_get_extent(b->type, &lb, &extent));
    if (bytes > 0) {
        MTEST_OK(MPI_Unpack(packed, bytes, &position,
                            raw + ((unsigned char *)b->buf - b->raw) + block->displ * extent,
                            block->count, b->type, MPI_COMM_SELF));
    }
}

static void lay_key(const struct collective *c, const struct mtest_buf *b,
                    const struct element *element, unsigned char *raw, const struct block *block,
                    int run, int key)
{
    int bytes = block->count * element->packed;
    void *packed = contents(c, run, key, bytes);

    lay(b, raw, block, packed, bytes);
    free(packed);
}

static void fill_out(struct collective *c, unsigned char *raw, int run)
{
    memset(raw, GUARD, c->send.raw_bytes);
    for (int i = 0; i < c->n_out; i++) {
        lay_key(c, &c->send, c->send_element, raw, &c->out[i], run, c->out[i].key);
    }
}

void collective_fill(struct collective *c, int run)
{
    const struct block *mine = &c->in[c->kind == ALLGATHER ? c->place->rank : 0];

    fill_out(c, c->send.raw, run);
    memset(c->recv.raw, GUARD, c->recv.raw_bytes);
    if (c->is_in_place) {
        lay_key(c, &c->recv, c->recv_element, c->recv.raw, mine, run, c->place->rank);
    }
}

static bool is_near(const struct element *e, const void *a, const void *b, int i)
{
    double x, y;

    if (e == &collective_elements[FLOATS]) {
        x = (double)((const float *)a)[i];
        y = (double)((const float *)b)[i];
        return fabs(x - y) <= 1e-5 * y;
    }
    x = ((const double *)a)[i];
    y = ((const double *)b)[i];
    return fabs(x - y) <= 1e-14 * y;
}

/* What came, if it is near enough to the serial sum, stands for it; it is the same each time. */
static void check_rounded(struct collective *c, int run, void *sum)
{
    const unsigned char *came = c->recv.buf;
    int count = c->in[0].count, bytes = count * c->recv_element->packed;
    unsigned long long seen = 14695981039346656037ULL;

    for (int i = 0; i < count; i++) {
        if (!is_near(c->recv_element, came, sum, i)) {
            mtest_fail(__FILE__, __LINE__, "run %d: sum %d is wrong: %s", run, i,
                       collective_text(c));
            return;
        }
    }
    for (int i = 0; i < bytes; i++) {
        seen = (seen ^ came[i]) * 1099511628211ULL;
    }
    if (c->seen[run % 2] != 0 && c->seen[run % 2] != seen) {
        mtest_fail(__FILE__, __LINE__, "run %d: rounded in another way than before: %s", run,
                   collective_text(c));
    }
    c->seen[run % 2] = seen;
    memcpy(sum, came, (size_t)bytes);
}

static void expect_reduced(struct collective *c, int run)
{
    int count = c->in[0].count, bytes = count * c->recv_element->packed;
    void *sum = contents(c, run, 0, bytes);

    for (int i = 1; i < c->place->size; i++) {
        void *next = contents(c, run, i, bytes);

        c->operation->fold(sum, next, count);
        free(next);
    }
    if (c->operation->is_rounding) {
        check_rounded(c, run, sum);
    }
    lay(&c->recv, c->recv.model, &c->in[0], sum, bytes);
    free(sum);
}

static void compare(const struct collective *c, const struct mtest_buf *b, const char *name,
                    int run)
{
    size_t wrong = 0, first = 0;

    for (size_t i = b->raw_bytes; i-- > 0;) {
        if (b->raw[i] != b->model[i]) {
            wrong++;
            first = i;
        }
    }
    if (wrong > 0) {
        mtest_fail(__FILE__, __LINE__,
                   "run %d: %zu wrong bytes in the %s buffer, the first at %td: 0x%02x, expected "
                   "0x%02x: %s",
                   run, wrong, name, (b->raw + first) - (unsigned char *)b->buf, b->raw[first],
                   b->model[first], collective_text(c));
    }
}

void collective_check(struct collective *c, int run)
{
    fill_out(c, c->send.model, run);
    compare(c, &c->send, "send", run);
    memset(c->recv.model, GUARD, c->recv.raw_bytes);
    if (c->kind == ALLREDUCE) {
        expect_reduced(c, run);
    } else {
        for (int i = 0; i < c->n_in; i++) {
            if (c->in[i].key >= 0) {
                lay_key(c, &c->recv, c->recv_element, c->recv.model, &c->in[i], run, c->in[i].key);
            }
        }
    }
    compare(c, &c->recv, "receive", run);
}

void collective_agree(struct collective *c)
{
    unsigned long long least[2], most[2];

    if (c->operation == NULL || !c->operation->is_rounding) {
        return;
    }
    MTEST_OK(MPI_Allreduce(c->seen, least, 2, MPI_UNSIGNED_LONG_LONG, MPI_MIN, c->place->comm));
    MTEST_OK(MPI_Allreduce(c->seen, most, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, c->place->comm));
    if (least[0] != most[0] || least[1] != most[1]) {
        mtest_fail(__FILE__, __LINE__, "rounded in another way elsewhere: %s", collective_text(c));
    }
}
