/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What MPIXQ_STATS=1 prints of windows, and what performance variables say of them: each rank puts
 * and gets blocks of known sizes, by the host, by plans and enqueued, to the other rank and to
 * itself, in windows one after the other, and compares all counts. With MTEST_STREAM and
 * MTEST_BUFFER the windows are in memory of GPUs, and replays of a graph are not counted. Argument:
 * the way that puts to the other rank go:
 *
 *     messages   of MPI; more than 4 KiB is read from memory of the other, unless MPIXQ_CMA=no
 *     nics       all but the first, and gets too
 *     shared     the same, in memory that the library has allocated
 *     gpus       all, also those within the process
 */
#include "mtest.h"

#include <mpix_queue_rma.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { LIVES = 2, ROUNDS = 5, REPLAYS = 2, ROOM = 32768, GUARD = 0xa5, GAP = 32 };
/* What has two parts has a second one that is small enough to be in its message. */
enum { SMALL = 100, MIDDLE = 4096, LARGE = 10000, PART = 4 << 20, PARTS = PART + 5 };

enum call { PUT, PLAN, QUEUE_PUT, QUEUE_PLAN, GET };

static const struct op {
    enum call call;
    int bytes;
    bool to_self;
} ops[] = {
    {GET, 5, false}, /* the first, by which memory is shared, */
    {PUT, 0, false}, /* and by which there are rights to the signal: see run_round */
    {PUT, SMALL, false},
    {PUT, LARGE, false},
    {PUT, PARTS, false},
    {PUT, SMALL + 1, true},
    {PLAN, SMALL + 2, false},
    {PLAN, LARGE + 1, false},
    {PLAN, LARGE + 2, true},
    {QUEUE_PUT, SMALL + 3, false},
    {QUEUE_PUT, LARGE + 3, false},
    {QUEUE_PUT, SMALL + 4, true},
    {QUEUE_PLAN, LARGE + 4, false},
    {QUEUE_PLAN, MIDDLE, false},
    {QUEUE_PLAN, SMALL + 5, true},
    {GET, SMALL + 6, false},
    {GET, MIDDLE + 1, false},
    {GET, PARTS + 1, false},
    {GET, SMALL + 7, true},
};

enum { N = sizeof ops / sizeof ops[0], N_FIRST = 2 };

/* The columns of the table, and behind them transfers and bytes of each way. */
enum { WINDOWS, PUTS, HOST, GETS, WAITS, RESETS, BYTES_PUT, BYTES_GOT, COLUMNS };
enum { MESSAGES, READ, SHARED, NICS, GPUS, SELF, WAYS };

static struct counts {
    long long column[COLUMNS];
    struct {
        long long transfers, bytes;
    } by[WAYS];
} own;

static const char *const way_names[WAYS] = {"messages", "read", "shared", "NICs", "GPUs", "self"};

static const char *way;     /* the argument */
static MPI_Aint at[N + 1];  /* of the block of each op, in the half of what is sent, and received */
static unsigned char *seen; /* a half of the window, as the host can look at it */
static unsigned char *memory;
static MPIX_Window window;
static MPIX_Queue queue;
static MPIX_Signal come;
static MPIX_Blk local[N], remote[N];
static MPIX_Plan plans[2]; /* by the host, and enqueued */
static void *stream;       /* NULL: no GPU */
static int peer;

static MPI_Aint half(void)
{
    return at[N];
}

static unsigned char data_at(int rank, MPI_Aint i)
{
    return (unsigned char)(i * 7 + i / 251 + rank * 101);
}

/* ---- Windows -------------------------------------------------------------------------------- */

static void make_queue(void)
{
    queue = MPIX_QUEUE_NULL;
    if (strcmp(way, "gpus") == 0) {
        stream = mtest_gpu_stream();
        MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    } else {
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    }
}

static void write_half(int which)
{
    if (stream != NULL) {
        mtest_gpu_copy_now(memory + which * half(), seen, (size_t)half());
    } else {
        memcpy(memory + which * half(), seen, (size_t)half());
    }
}

static void read_half(int which)
{
    if (stream != NULL) {
        mtest_gpu_copy_now(seen, memory + which * half(), (size_t)half());
    } else {
        memcpy(seen, memory + which * half(), (size_t)half());
    }
}

/* The block that is written here has the signal: of a put it is the remote one, of a get the
 * local one. */
static void make_blocks(void)
{
    MPIX_Blk sources[N], targets[N], their_sources[N], their_targets[N];

    for (int i = 0; i < N; i++) {
        MTEST_OK(MPIX_Blk_init(window, at[i], ops[i].bytes, MPIX_SIGNAL_NULL, &sources[i]));
        MTEST_OK(MPIX_Blk_init(window, half() + at[i], ops[i].bytes, come, &targets[i]));
    }
    MPI_Sendrecv(sources, sizeof sources, MPI_BYTE, peer, 0, their_sources, sizeof their_sources,
                 MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(targets, sizeof targets, MPI_BYTE, peer, 1, their_targets, sizeof their_targets,
                 MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        bool is_get = ops[i].call == GET;

        local[i] = is_get ? targets[i] : sources[i];
        remote[i] = is_get ? (ops[i].to_self ? sources[i] : their_sources[i])
                           : (ops[i].to_self ? targets[i] : their_targets[i]);
    }
}

/* With a put to MPI_PROC_NULL, which counts nowhere. */
static void make_plan(enum call call, MPIX_Plan *plan_p)
{
    MPIX_Blk from[N + 1], to[N + 1];
    int n = 0;

    for (int i = 0; i < N; i++) {
        if (ops[i].call == call) {
            from[n] = local[i];
            to[n++] = remote[i];
        }
    }
    memset(&from[n], 0, sizeof from[n]);
    memset(&to[n], 0, sizeof to[n]);
    MTEST_OK(MPIX_Plan_create(n + 1, from, to, plan_p));
}

static void make(void)
{
    const char *kind = getenv("MTEST_BUFFER");
    void *special = NULL;

    if (stream != NULL) {
        special = kind != NULL ? mtest_gpu_special_alloc(kind, (size_t)(2 * half())) : NULL;
        memory = special != NULL ? special : mtest_gpu_alloc(MTEST_DEVICE, (size_t)(2 * half()));
    } else if (strcmp(way, "shared") == 0) {
        MTEST_OK(MPIX_Window_allocate(2 * half(), MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    } else {
        memory = malloc((size_t)(2 * half()));
    }
    for (MPI_Aint i = 0; i < half(); i++) {
        seen[i] = data_at(mtest_rank, i);
    }
    write_half(0);
    memset(seen, GUARD, (size_t)half());
    write_half(1);
    if (strcmp(way, "shared") != 0) {
        MTEST_OK(MPIX_Window_create(memory, 2 * half(), MPI_COMM_WORLD, MPI_INFO_NULL, &window));
    }
    MTEST_OK(MPIX_Signal_init(window, N, &come));
    make_blocks();
    make_plan(PLAN, &plans[0]);
    make_plan(QUEUE_PLAN, &plans[1]);
    own.column[WINDOWS]++;
}

static void unmake(void)
{
    MTEST_OK(MPIX_Plan_free(&plans[0]));
    MTEST_OK(MPIX_Plan_free(&plans[1]));
    MTEST_OK(MPIX_Signal_free(&come));
    MTEST_OK(MPIX_Window_free(&window));
    if (stream == NULL) {
        free(strcmp(way, "shared") != 0 ? memory : NULL);
    } else if (!mtest_gpu_special_free(memory)) {
        mtest_gpu_free(MTEST_DEVICE, memory);
    }
}

/* ---- What is put and got -------------------------------------------------------------------- */

static void count_way(int which, const struct op *op)
{
    own.by[which].transfers++;
    own.by[which].bytes += op->bytes;
}

static void count(const struct op *op, bool is_first)
{
    const char *cma = getenv("MPIXQ_CMA");
    bool is_get = op->call == GET, has_nics = strcmp(way, "nics") == 0;
    bool is_shared = strcmp(way, "shared") == 0;

    own.column[is_get ? GETS : PUTS]++;
    own.column[is_get ? BYTES_GOT : BYTES_PUT] += op->bytes;
    own.column[HOST] += op->call == PUT || op->call == PLAN;
    if (strcmp(way, "gpus") == 0) {
        count_way(GPUS, op);
    } else if (op->to_self) {
        count_way(SELF, op);
    } else if (!is_first && (is_shared || has_nics)) {
        count_way(is_shared ? SHARED : NICS, op);
    } else {
        count_way(MESSAGES, op);
        if (op->bytes > MIDDLE && (cma == NULL || strcmp(cma, "no") != 0)) {
            own.by[READ].transfers++;
            own.by[READ].bytes += op->bytes > PART ? PART : op->bytes;
        }
    }
}

static void start(int i)
{
    switch (ops[i].call) {
    case PUT:
        MTEST_OK(MPIX_Put(&local[i], &remote[i]));
        break;
    case QUEUE_PUT:
        MTEST_OK(MPIX_Enqueue_put(queue, &local[i], &remote[i]));
        break;
    case GET:
        MTEST_OK(MPIX_Get(&local[i], &remote[i]));
        break;
    default: /* by its plan */
        break;
    }
}

static void wait_for_all(void)
{
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, come));
    MTEST_OK(MPIX_Queue_wait(queue));
    if (stream != NULL) {
        mtest_gpu_synchronize(stream);
    }
    MTEST_OK(MPIX_Signal_wait(come));
    own.column[WAITS] += 2;
}

static void check_data(void)
{
    int i = 0;

    read_half(1);
    for (MPI_Aint b = 0; b < half(); b++) {
        int expected = GUARD;

        i += i + 1 < N && b >= at[i + 1];
        if (b < at[i] + ops[i].bytes) {
            expected = data_at(ops[i].to_self ? mtest_rank : peer, b);
        }
        if (seen[b] != expected) {
            mtest_fail(__FILE__, __LINE__, "op %d, byte %ld is %d, expected %d", i,
                       (long)(b - at[i]), seen[b], expected);
            return;
        }
    }
    memset(seen, GUARD, (size_t)half());
    write_half(1);
}

/* Of the first gets only one can be the first to ask for memory: that of rank 0. After it rank 1
 * puts, so that when this is flushed all that rank 0 has told has come, and then gets. */
static void run_first(int round)
{
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int n = 0; n < N_FIRST; n++) {
        int i = mtest_rank == 0 ? n : N_FIRST - 1 - n;

        count(&ops[i], round == 0 && (mtest_rank == 0 || ops[i].call == PUT));
        start(i);
        MTEST_OK(MPIX_Window_flush(window));
        if (mtest_rank == 0 && n == 0) {
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
}

static void reset_by(int how)
{
    if (how == 0) {
        MTEST_OK(MPIX_Signal_reset(come));
    } else if (how == 1) {
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, come));
    } else if (how == 2) {
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, come));
    } else {
        MTEST_OK(MPIX_Signal_wait_reset(come));
    }
    own.column[WAITS] += how > 1;
    MTEST_OK(MPIX_Queue_wait(queue));
}

/* In the end the signal is set again, by the host and by the queue in turn; not the last time. */
static void run_round(int round)
{
    run_first(round);
    for (int i = N_FIRST; i < N; i++) {
        count(&ops[i], false);
        start(i);
    }
    MTEST_OK(MPIX_Plan_start(plans[0]));
    MTEST_OK(MPIX_Enqueue_plan_start(queue, plans[1]));
    wait_for_all();
    MTEST_OK(MPIX_Window_flush(window));
    check_data();
    if (round < ROUNDS - 1) {
        reset_by(round % 4);
        own.column[RESETS]++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A graph puts within the process, waits and resets: nobody tells the host how often. */
static void replay(void)
{
    MPIX_Signal signal;
    MPIX_Blk to;
    void *graph;

    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, half() + at[N_FIRST], ops[N_FIRST].bytes, signal, &to));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_put(queue, &local[N_FIRST], &to));
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, signal));
    graph = gpu_graph_end_executable(stream);
    for (int i = 0; i < REPLAYS; i++) {
        gpu_graph_launch(graph, stream);
    }
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Queue_wait(queue));
    read_half(1);
    for (int i = 0; i < SMALL; i++) {
        MTEST_EQ(seen[at[N_FIRST] + i], data_at(mtest_rank, at[N_FIRST] + i));
    }
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* ---- Performance variables ------------------------------------------------------------------ */

static MPI_T_pvar_session session;

static long long value_of(const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    unsigned long long value = 0;
    int index, n;

    MTEST_EQ(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &n), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    return (long long)value;
}

static void expect(const char *when, const char *name, bool is_bytes, long long expected)
{
    long long value =
        value_of(name, is_bytes ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER);

    if (value != expected) {
        mtest_fail(__FILE__, __LINE__, "%s: %s is %lld, expected %lld", when, name, value,
                   expected);
    }
}

static void check_variables(const char *when)
{
    static const char *const names[COLUMNS] = {
        "mpixq_windows",      "mpixq_puts",          "mpixq_puts_by_host", "mpixq_gets",
        "mpixq_signal_waits", "mpixq_signal_resets", "mpixq_bytes_put",    "mpixq_bytes_got"};
    static const char *const ways[WAYS] = {"messages", "read", "shared", "nics", "gpus", "self"};

    for (int i = 0; i < COLUMNS; i++) {
        expect(when, names[i], i >= BYTES_PUT, own.column[i]);
    }
    for (int i = 0; i < WAYS; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "mpixq_transfers_%s", ways[i]);
        expect(when, name, false, own.by[i].transfers);
        (void)snprintf(name, sizeof name, "mpixq_transfer_bytes_%s", ways[i]);
        expect(when, name, true, own.by[i].bytes);
    }
}

/* ---- The table ------------------------------------------------------------------------------ */

/* The line behind "stats:", which begins with a name, and from where on numbers stand in it. */
static const char *find_line(const char *text, int width, const char *name)
{
    char begin[64];

    (void)snprintf(begin, sizeof begin, ": stats: %*s ", width, name);
    text = text != NULL ? strstr(text, begin) : NULL;
    return text != NULL ? text + strlen(begin) : NULL;
}

static const char *compare(const char *text, const char *what, int n, const long long expected[])
{
    long long value;
    int used;

    for (int i = 0; i < n; i++) {
        if (text == NULL || sscanf(text, "%lld%n", &value, &used) != 1) {
            mtest_fail(__FILE__, __LINE__, "the table has no %s", what);
            return NULL;
        }
        if (value != expected[i]) {
            mtest_fail(__FILE__, __LINE__, "%s, column %d: %lld, expected %lld", what, i, value,
                       expected[i]);
        }
        text += used;
    }
    return text;
}

static void check_row(const char *text, const char *name, const struct counts *expected)
{
    const char *at_end = compare(find_line(text, 7, name), name, COLUMNS, expected->column);
    char ways[256] = "  ";
    size_t used = 2;

    for (int i = 0; i < WAYS; i++) {
        if (expected->by[i].transfers > 0) {
            used += (size_t)snprintf(ways + used, sizeof ways - used, "%s%lld %s%s",
                                     used > 2 ? ", " : "", expected->by[i].transfers,
                                     i == READ ? "of them " : "", way_names[i]);
        }
    }
    (void)snprintf(ways + used, sizeof ways - used, "\n");
    if (at_end != NULL && strncmp(at_end, ways, strlen(ways)) != 0) {
        mtest_fail(__FILE__, __LINE__, "row %s ends with \"%.80s\", expected \"%s\"", name, at_end,
                   ways);
    }
}

static void check_table(const char *text, const struct counts ranks[2])
{
    const char *windows = strstr(text, ": stats:    rank windows ");
    struct counts sum = ranks[0];

    MTEST_CHECK(windows != NULL);
    for (int i = 0; i < COLUMNS; i++) {
        sum.column[i] += ranks[1].column[i];
    }
    check_row(windows, "0", &ranks[0]);
    check_row(windows, "1", &ranks[1]);
    for (int i = 0; i < WAYS; i++) {
        long long both[2] = {sum.by[i].transfers += ranks[1].by[i].transfers,
                             sum.by[i].bytes += ranks[1].by[i].bytes};
        const char *line = find_line(windows, 8, way_names[i]);

        MTEST_CHECK((line != NULL) == (both[0] > 0));
        if (line != NULL) {
            (void)compare(line, way_names[i], 2, both);
        }
    }
    check_row(windows, "all", &sum);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void run(void)
{
    make_queue();
    for (int i = 0; i < LIVES; i++) {
        make();
        for (int round = 0; round < ROUNDS; round++) {
            run_round(round);
        }
        check_variables("with the window");
        if (stream != NULL && gpu_graph_open()) {
            replay();
            check_variables("after replays");
        }
        unmake();
        check_variables("without the window");
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    if (stream != NULL) {
        mtest_gpu_stream_end(stream);
    }
}

int main(int argc, char **argv)
{
    struct counts ranks[2];
    static char text[ROOM];
    int provided, code;

    way = argc > 1 ? argv[1] : "messages";
    MTEST_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    for (int i = 0; i < N; i++) {
        at[i + 1] = at[i] + ops[i].bytes + GAP;
    }
    seen = malloc((size_t)half());
    check_variables("before all");
    run();
    free(seen);
    MTEST_OK(
        MPI_Allgather(&own, sizeof own, MPI_BYTE, ranks, sizeof own, MPI_BYTE, MPI_COMM_WORLD));
    code = mtest_verdict();
    (void)mtest_capture();
    MPI_Finalize();
    mtest_captured(text, sizeof text);
    check_variables("after MPI_Finalize");
    if (mtest_rank == 0) {
        check_table(text, ranks);
    }
    return mtest_failures() > 0 ? 1 : code;
}
