/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo.c - mpixq_halo: Conway's Game of Life with a halo exchange on a periodic 2-D process grid
 *
 * Verification. Every trial starts from the pattern. After it each rank compares all of its cells
 * with a run of as many generations on one board, made by itself without any communication. Large
 * parts of a board with a pattern stay dead, and there a lost message is not seen; so before the
 * trials every mode also runs some generations of a board full of random cells.
 */
#include "halo.h"
#include "rle.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MPIXQ_PATTERN_DIR
#define MPIXQ_PATTERN_DIR "."
#endif

#define BOARD_MAX_SIDE 65536
#define BOARD_MAX_CELLS (1L << 31)
#define SOUP_GENERATIONS 50
#define SOUP_GENERATIONS_MIN 6
#define SOUP_CELLS (1L << 29) /* of all generations together, beyond the minimum */

struct program {
    struct bench_options opts;
    const char *pattern_name;
    size_t board_width, board_height; /* 0 if sizes rule */
    long generations;                 /* 0 if time rules */
    int dims[2], coords[2];           /* rows of the process grid, then columns */
    struct rle_pattern pattern;
    struct halo halo;
    int origin_x, origin_y; /* of this rank's part */
    struct life_board reference;
    long reference_generation;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool set_pattern(void *target, const char *value)
{
    ((struct program *)target)->pattern_name = value;
    return *value != '\0';
}

static bool set_board(void *target, const char *value)
{
    struct program *prog = target;
    char width[32];
    size_t len = strcspn(value, "x");

    if (len >= sizeof width || value[len] != 'x') {
        return false;
    }
    memcpy(width, value, len);
    width[len] = '\0';
    return bench_parse_size(width, &prog->board_width) &&
           bench_parse_size(value + len + 1, &prog->board_height);
}

static bool set_generations(void *target, const char *value)
{
    return bench_parse_int(value, 1, 100000000, &((struct program *)target)->generations);
}

/* ---- The pattern ----------------------------------------------------------------------------- */

/* A name that is no file here is looked for among the installed patterns. */
static FILE *open_pattern(const char *name, char path[PATH_MAX])
{
    FILE *file = fopen(name, "r");

    snprintf(path, PATH_MAX, "%s", name);
    if (file == NULL && errno == ENOENT && strchr(name, '/') == NULL) {
        snprintf(path, PATH_MAX, MPIXQ_PATTERN_DIR "/%s", name);
        file = fopen(path, "r");
    }
    return file;
}

static bool read_pattern(struct program *prog)
{
    char path[PATH_MAX], message[PATH_MAX + 256];
    FILE *file = open_pattern(prog->pattern_name, path);
    bool valid;

    if (file == NULL) {
        bench_complain(&prog->opts, "cannot open pattern %s: %s", path, strerror(errno));
        return false;
    }
    valid = rle_read(file, path, &prog->pattern, message, sizeof message);
    fclose(file);
    if (!valid) {
        bench_complain(&prog->opts, "%s", message);
    }
    return valid;
}

/* Only rank 0 needs to see the file. Collective. */
static bool load_pattern(struct program *prog)
{
    struct rle_pattern *p = &prog->pattern;
    int header[3] = {0}, rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && read_pattern(prog)) {
        memcpy(header, (int[]){1, p->width, p->height}, sizeof header);
    }
    MPI_Bcast(header, 3, MPI_INT, 0, MPI_COMM_WORLD);
    if (!header[0]) {
        return false;
    }
    if (rank != 0) {
        p->width = header[1];
        p->height = header[2];
        p->cells = bench_alloc((size_t)p->width * (size_t)p->height);
    }
    MPI_Bcast(p->cells, p->width * p->height, MPI_BYTE, 0, MPI_COMM_WORLD);
    return true;
}

/* Put the pattern into the middle of the whole board, as far as it lies in the part whose first
 * cell is (origin_x, origin_y). The middle is where most parts meet, so it crosses borders. */
static void place_pattern(const struct program *prog, struct life_board *board, int origin_x,
                          int origin_y)
{
    const struct rle_pattern *p = &prog->pattern;
    int left = ((int)prog->board_width - p->width) / 2 - origin_x;
    int top = ((int)prog->board_height - p->height) / 2 - origin_y;

    life_clear(board);
    for (int y = 0; y < p->height; y++) {
        for (int x = 0; x < p->width; x++) {
            int cx = left + x, cy = top + y;

            if (cx >= 0 && cx < board->width && cy >= 0 && cy < board->height) {
                life_row(board, cy + 1)[cx + 1] = p->cells[(size_t)y * (size_t)p->width + x];
            }
        }
    }
}

/* Random cells, the same for a position of the whole board whatever the part. */
static void place_soup(struct life_board *board, int origin_x, int origin_y)
{
    life_clear(board);
    for (int y = 1; y <= board->height; y++) {
        for (int x = 1; x <= board->width; x++) {
            uint64_t state = (uint64_t)(origin_y + y) << 32 | (uint32_t)(origin_x + x);

            bench_random(&state);
            life_row(board, y)[x] = bench_random(&state) & 1;
        }
    }
}

/* ---- What a trial does ----------------------------------------------------------------------- */

static void begin(void *ctx, enum bench_mode mode)
{
    struct program *prog = ctx;

    halo_restart(&prog->halo, mode);
}

static double run(void *ctx, enum bench_mode mode, long generations)
{
    return halo_run(&((struct program *)ctx)->halo, mode, generations);
}

/* The reference goes on from where the last trial left it: trials are equally long. */
static void advance_reference(struct program *prog, long generations)
{
    if (prog->reference_generation > generations) {
        prog->reference_generation = 0;
    }
    if (prog->reference_generation == 0) {
        place_pattern(prog, &prog->reference, 0, 0);
    }
    for (; prog->reference_generation < generations; prog->reference_generation++) {
        life_wrap(&prog->reference);
        life_step(&prog->reference);
    }
}

/* Cells of this rank that differ from the reference, and bytes that nobody should have written. */
static long count_wrong(struct program *prog)
{
    const struct life_board *board = &prog->halo.image;
    long wrong;

    halo_fetch(&prog->halo);
    wrong = life_overrun(board);
    for (int y = 1; y <= board->height; y++) {
        const uint8_t *row = life_row(board, y);
        const uint8_t *expected = life_row(&prog->reference, prog->origin_y + y) + prog->origin_x;

        for (int x = 1; x <= board->width; x++) {
            wrong += row[x] != expected[x];
        }
    }
    return wrong;
}

static long errors(void *ctx, enum bench_mode mode, long generations)
{
    struct program *prog = ctx;

    (void)mode;
    advance_reference(prog, generations);
    return count_wrong(prog);
}

/* ---- One board after the other --------------------------------------------------------------- */

/* Part number index of length cells in parts parts: where it begins. */
static int part_begin(size_t length, int parts, int index)
{
    return (int)(length * (size_t)index / (size_t)parts);
}

static void make_board(struct program *prog)
{
    int y0 = part_begin(prog->board_height, prog->dims[0], prog->coords[0]);
    int y1 = part_begin(prog->board_height, prog->dims[0], prog->coords[0] + 1);
    int x0 = part_begin(prog->board_width, prog->dims[1], prog->coords[1]);
    int x1 = part_begin(prog->board_width, prog->dims[1], prog->coords[1] + 1);

    prog->origin_x = x0;
    prog->origin_y = y0;
    halo_create(&prog->halo, x1 - x0, y1 - y0, LIFE_CONWAY);
    prog->reference = (struct life_board){.width = 0};
    if (prog->opts.verify) {
        life_create(&prog->reference, (int)prog->board_width, (int)prog->board_height, LIFE_CONWAY);
    }
    prog->reference_generation = 0; /* its cells are placed when they are first needed */
}

/* Column bytes: what rank 0 sends in one generation. */
static size_t sent_bytes(const struct life_board *board)
{
    unsigned long long bytes = 0;

    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        bytes += life_border(board, d);
    }
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    return (size_t)bytes;
}

/* Every rank computes the whole board by itself, so large ones get fewer. */
static long soup_generations(const struct program *prog)
{
    long generations = SOUP_CELLS / (long)(prog->board_width * prog->board_height);

    if (generations > SOUP_GENERATIONS) {
        return SOUP_GENERATIONS;
    }
    return generations < SOUP_GENERATIONS_MIN ? SOUP_GENERATIONS_MIN : generations;
}

/* Returns the wrong cells of all modes and ranks. */
static long check_soup(struct program *prog)
{
    long wrong = 0, sum, generations = soup_generations(prog);

    place_soup(&prog->reference, 0, 0);
    for (long g = 0; g < generations; g++) {
        life_wrap(&prog->reference);
        life_step(&prog->reference);
    }
    place_soup(&prog->halo.image, prog->origin_x, prog->origin_y);
    halo_keep(&prog->halo);
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (prog->opts.use_mode[mode]) {
            halo_restart(&prog->halo, (enum bench_mode)mode);
            MPI_Barrier(MPI_COMM_WORLD); /* ready sends count on it */
            (void)halo_run(&prog->halo, (enum bench_mode)mode, generations);
            wrong += count_wrong(prog);
        }
    }
    MPI_Allreduce(&wrong, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void measure_board(struct program *prog, double seconds, struct bench_report *report)
{
    const struct bench_app app = {.bench = "halo",
                                  .hops = 1,
                                  .messages = LIFE_DIRECTIONS,
                                  .min_iterations = 10,
                                  .begin = begin,
                                  .run = run,
                                  .errors = errors,
                                  .bq = &prog->halo.bq};
    struct bench_row rows[BENCH_NUM_MODES];
    int num;

    make_board(prog);
    halo_open(&prog->halo, &prog->opts);
    if (prog->opts.verify) {
        report->errors += check_soup(prog);
    }
    place_pattern(prog, &prog->halo.image, prog->origin_x, prog->origin_y);
    halo_keep(&prog->halo);
    num = bench_measure(&prog->opts, &app, prog, sent_bytes(&prog->halo.board), seconds,
                        prog->generations, rows);
    if (report->table != NULL) {
        fprintf(report->table, "board %zu x %zu on %d x %d ranks, %ld generations per trial\n",
                prog->board_width, prog->board_height, prog->dims[1], prog->dims[0],
                rows[0].iterations);
    }
    bench_report_rows(report, rows, num);
    halo_close(&prog->halo, &prog->opts);
    halo_destroy(&prog->halo);
    life_destroy(&prog->reference);
}

static void make_grid(struct program *prog)
{
    MPI_Group world, grid;
    int ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, prog->dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, prog->dims, (int[]){1, 1}, 0, &prog->halo.comm);
    MPI_Comm_rank(prog->halo.comm, &prog->halo.rank);
    MPI_Cart_coords(prog->halo.comm, prog->halo.rank, 2, prog->coords);
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        int coords[2] = {prog->coords[0] + life_dy[d], prog->coords[1] + life_dx[d]};

        MPI_Cart_rank(prog->halo.comm, coords, &prog->halo.neighbours[d]);
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(prog->halo.comm, &grid);
    MPI_Group_translate_ranks(grid, LIFE_DIRECTIONS, prog->halo.neighbours, world,
                              prog->halo.world);
    MPI_Group_free(&grid);
    MPI_Group_free(&world);
}

static bool board_fits(const struct program *prog, size_t width, size_t height)
{
    const struct rle_pattern *p = &prog->pattern;

    if (width > BOARD_MAX_SIDE || height > BOARD_MAX_SIDE ||
        (long)(width * height) > BOARD_MAX_CELLS) {
        bench_complain(&prog->opts, "board %zu x %zu is too large: at most %d a side and %ld cells",
                       width, height, BOARD_MAX_SIDE, BOARD_MAX_CELLS);
        return false;
    }
    if (width < (size_t)p->width || height < (size_t)p->height) {
        bench_complain(&prog->opts, "board %zu x %zu is smaller than the pattern, %d x %d", width,
                       height, p->width, p->height);
        return false;
    }
    if (width < (size_t)prog->dims[1] || height < (size_t)prog->dims[0]) {
        bench_complain(&prog->opts,
                       "board %zu x %zu has less than one cell for each of %d x %d "
                       "ranks",
                       width, height, prog->dims[1], prog->dims[0]);
        return false;
    }
    return true;
}

static bool boards_fit(const struct program *prog)
{
    if (prog->board_width != 0) {
        return board_fits(prog, prog->board_width, prog->board_height);
    }
    for (int i = 0; i < prog->opts.num_sizes; i++) {
        if (!board_fits(prog, prog->opts.sizes[i], prog->opts.sizes[i])) {
            return false;
        }
    }
    return true;
}

static int measure_all(struct program *prog)
{
    struct bench_report report;
    bool one_board = prog->board_width != 0;
    int num = one_board ? 1 : prog->opts.num_sizes;

    if (!bench_report_open(&report, &prog->opts,
                           "Game of Life with halo exchange, time per generation",
                           LIFE_DIRECTIONS)) {
        return BENCH_EXIT_USAGE;
    }
    bench_queue_open(&prog->halo.bq, &prog->opts);
    for (int i = 0; i < num; i++) {
        if (!one_board) {
            prog->board_width = prog->board_height = prog->opts.sizes[i];
        }
        measure_board(prog, prog->opts.seconds / num, &report);
    }
    bench_queue_close(&prog->halo.bq);
    return bench_report_close(&report, &prog->opts);
}

static int run_program(struct program *prog, int provided)
{
    int status = BENCH_EXIT_USAGE;

    if (provided < MPI_THREAD_MULTIPLE) {
        bench_complain(&prog->opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        return status;
    }
    if (load_pattern(prog)) {
        if (boards_fit(prog)) {
            status = measure_all(prog);
        }
        free(prog->pattern.cells);
    }
    return status;
}

#define LACKING                                                                                    \
    (BENCH_PIPELINED | BENCH_BIT(BENCH_MPI_AWARE_ONE) | BENCH_BIT(BENCH_PEER_COPY_ONE) |           \
     BENCH_BIT(BENCH_NCCL_ONE) | BENCH_BIT(BENCH_NCCL_GRAPH) | BENCH_BIT(BENCH_NCCL_ONE_GRAPH) |   \
     BENCH_BIT(BENCH_NVSHMEM_ONE) | BENCH_BIT(BENCH_NVSHMEM_GRAPH) |                               \
     BENCH_BIT(BENCH_NVSHMEM_DEVICE_ONE) | BENCH_BIT(BENCH_NVSHMEM_FUSED) | BENCH_BARE)

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"pattern", "FILE", "pattern in RLE format (default gosper-glider-gun.rle)", set_pattern},
        {"board", "WxH", "one board of this size, instead of --sizes", set_board},
        {"generations", "N", "length of a trial (default: as time allows)", set_generations}};
    struct program prog = {.opts = {.program = "mpixq_halo",
                                    .seconds = 12,
                                    .trials = 30,
                                    .use_mode = BENCH_USUAL_MODES,
                                    .verify = true},
                           .pattern_name = "gosper-glider-gun.rle"};
    struct bench_usage usage = {
        .summary = "Game of Life on a periodic board, halo exchanged by all ranks.",
        .sizes_help = "sides of square boards",
        .extra = extra,
        .num_extra = 3,
        .target = &prog,
        .peers = prog.halo.world,
        .num_peers = LIFE_DIRECTIONS,
        .lacking = LACKING};
    int provided, status;

    bench_parse_size_list("64,256,1K", prog.opts.sizes, &prog.opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    make_grid(&prog);
    if (bench_parse_options(&prog.opts, &usage, argc, argv, &status)) {
        status = run_program(&prog, provided);
        bench_baselines_close(&prog.opts);
        bench_device_close();
    }
    MPI_Comm_free(&prog.halo.comm);
    MPI_Finalize();
    return status;
}
