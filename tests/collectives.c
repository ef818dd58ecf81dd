/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Random persistent collectives of all kinds that are matched (collective_cases.h), beside pairs of
 * a ring. The ranks draw the same cases and rounds; each draws by itself in which order and with
 * which calls it matches, starts and waits, and whether the host starts a request or a queue does,
 * which changes from start to start. Within a round a rank makes all its starts before its waits,
 * so no program waits for a start that comes later. Then starts that are enqueued ahead, with
 * functions in the streams that write and check, and barriers that hold back.
 *
 *     collectives SEED SEEDS [plain|repeats]
 *
 * plain: without the library, by MPI's operations of the same kinds that are not persistent, so
 * that what the cases expect is held against MPI itself. Those that are persistent do not serve:
 * MPICH 4.0 copies some data when they are made, releases datatypes with each start, and wants
 * starts to be in the same order everywhere. repeats: the same, also with rings of one or two
 * processes and repeated edges of graphs, of which MPICH 4.0 has several wrong.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective_cases.h"
#include "collective_names.h"

enum { MANY = 7, PAIRS = 2, ALL = MANY + 2 * PAIRS, ROUNDS = 5, AHEAD = 4, QUEUES = 2, TAG = 5 };
enum { BY_HOST = QUEUES }; /* other ways are numbers of queues */

struct world {
    struct place places[PLACES];
    struct collective collective[MANY];
    struct mtest_buf in[PAIRS], out[PAIRS];
    MPI_Request request[ALL]; /* the collectives, then receive and send of each pair */
    int way[ALL];
    int run;
};

static bool is_plain;
static int from, to; /* whose data comes here, where ours go */
static MPIX_Host_stream streams[QUEUES];
static MPIX_Queue queues[QUEUES];
static unsigned long long own;

static int draw(int below)
{
    return (int)(mtest_random(&own) % (unsigned)below);
}

static void shuffle(int order[], int n)
{
    for (int i = 0; i < n; i++) {
        int k = draw(i + 1);

        order[i] = order[k];
        order[k] = i;
    }
}

/* ---- Make, match ---------------------------------------------------------------------------- */

static void match_all(struct world *w, const int order[ALL])
{
    MPI_Request shuffled[ALL];

    for (int i = 0; i < ALL; i++) {
        shuffled[i] = w->request[order[i]];
    }
    MTEST_OK(MPIX_Matchall(ALL, shuffled));
}

static void match_some_by_some(struct world *w, const int order[ALL], int most)
{
    MPI_Request some[ALL], match[ALL];
    int matches = 0;

    for (int i = 0, n; i < ALL; i += n) {
        n = 1 + draw(most);
        n = n < ALL - i ? n : ALL - i;
        for (int k = 0; k < n; k++) {
            some[k] = w->request[order[i + k]];
        }
        MTEST_OK(MPIX_Imatchall(n, some, &match[matches++]));
    }
    MTEST_OK(MPI_Waitall(matches, match, MPI_STATUSES_IGNORE));
}

/* In the same order everywhere: each call blocks. */
static void match_one_by_one(struct world *w)
{
    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPIX_Match(&w->request[i]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, &w->request[MANY]));
}

static void match(struct world *w, int way)
{
    int order[ALL], flag = 0;

    if (is_plain) {
        return;
    }
    shuffle(order, ALL);
    if (way == 0) {
        match_one_by_one(w);
    } else if (way == 1) {
        match_some_by_some(w, order, 1 + draw(4));
    } else if (draw(2)) {
        match_some_by_some(w, order, 1);
    } else {
        match_all(w, order);
    }
    for (int i = 0; i < ALL; i++) {
        MTEST_OK(MPIX_Is_matched(w->request[i], &flag));
        MTEST_EQ(flag, 1);
    }
}

static void make(struct world *w, unsigned seed, bool has_repeats)
{
    static const int counts[PAIRS] = {9, 50000};

    collective_places_make(w->places, collective_mix(seed, 1, 2), has_repeats);
    for (int i = 0; i < MANY; i++) {
        collective_make(&w->collective[i], w->places, collective_mix(seed, (unsigned)i, 3));
        if (!is_plain) {
            collective_init(&w->collective[i]);
        }
        w->request[i] = w->collective[i].request;
    }
    for (int i = 0; i < PAIRS; i++) {
        MPI_Request *both = &w->request[MANY + 2 * i];

        mtest_buf_make(&w->in[i], MPI_INT, counts[i]);
        mtest_buf_make(&w->out[i], MPI_INT, counts[i]);
        MTEST_OK(mtest_init(MTEST_RECV, &w->in[i], from, TAG + i, MPI_COMM_WORLD, &both[0]));
        MTEST_OK(mtest_init(MTEST_SEND, &w->out[i], to, TAG + i, MPI_COMM_WORLD, &both[1]));
    }
    w->run = 0;
}

static void unmake(struct world *w)
{
    int order[ALL];

    for (int i = 0; i < MANY; i++) {
        collective_agree(&w->collective[i]);
    }
    shuffle(order, ALL);
    for (int i = 0; i < ALL; i++) {
        if (!is_plain || order[i] >= MANY) {
            MTEST_OK(MPI_Request_free(&w->request[order[i]]));
        }
    }
    for (int i = 0; i < MANY; i++) {
        collective_unmake(&w->collective[i]);
    }
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_free(&w->in[i]);
        mtest_buf_free(&w->out[i]);
    }
    collective_places_free(w->places);
}

/* ---- A round -------------------------------------------------------------------------------- */

static void fill(struct world *w)
{
    for (int i = 0; i < MANY; i++) {
        collective_fill(&w->collective[i], w->run);
    }
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_clear(&w->in[i]);
        mtest_buf_fill(&w->out[i], 100 * w->run + 10 * i + mtest_rank);
    }
}

static void check(struct world *w)
{
    for (int i = 0; i < MANY; i++) {
        collective_check(&w->collective[i], w->run);
    }
    for (int i = 0; i < PAIRS; i++) {
        MTEST_FULL(&w->in[i], 100 * w->run + 10 * i + from);
        MTEST_FULL(&w->out[i], 100 * w->run + 10 * i + mtest_rank);
    }
}

/* Those of a list that go one way. */
static int choose(const struct world *w, const int list[], int n, int way, MPI_Request chosen[ALL])
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        if (w->way[list[i]] == way) {
            chosen[found++] = w->request[list[i]];
        }
    }
    return found;
}

static void start(int way, int n, MPI_Request some[])
{
    if (way != BY_HOST && n == 1) {
        MTEST_OK(MPIX_Enqueue_start(queues[way], some));
    } else if (way != BY_HOST) {
        MTEST_OK(MPIX_Enqueue_startall(queues[way], n, some));
    } else if (n == 1) {
        MTEST_OK(MPI_Start(some));
    } else {
        MTEST_OK(MPI_Startall(n, some));
    }
}

static void start_plain(struct world *w, const int order[ALL])
{
    for (int i = 0; i < ALL; i++) {
        int k = order[i];

        if (k < MANY) {
            collective_begin(&w->collective[k]);
            w->request[k] = w->collective[k].request;
        } else {
            MTEST_OK(MPI_Start(&w->request[k]));
        }
    }
}

static void start_all(struct world *w)
{
    int order[ALL];
    MPI_Request some[ALL];

    shuffle(order, ALL);
    if (is_plain) {
        start_plain(w, order);
        return;
    }
    for (int i = 0, n; i < ALL; i += n) {
        n = 1 + draw(4);
        n = n < ALL - i ? n : ALL - i;
        for (int way = 0; way <= BY_HOST; way++) {
            int chosen = choose(w, &order[i], n, way, some);

            if (chosen > 0) {
                start(way, chosen, some);
            }
        }
    }
}

static void test_all(int n, MPI_Request some[])
{
    unsigned tries = 0;
    int flag = 0;

    for (; !flag && mtest_failures() == 0; mtest_backoff(&tries)) {
        MTEST_OK(MPI_Testall(n, some, &flag, MPI_STATUSES_IGNORE));
    }
}

static void test_each(int n, MPI_Request some[])
{
    unsigned tries = 0;
    int flag = 0;

    for (int i = 0; i < n; i += flag != 0) {
        flag = 0;
        MTEST_OK(MPI_Test(&some[i], &flag, MPI_STATUS_IGNORE));
        if (!flag) {
            mtest_backoff(&tries);
        }
    }
}

static void wait_any(int n, MPI_Request some[])
{
    int index = MPI_UNDEFINED, left = 0;

    for (int i = 0; i < n; i++) {
        left += some[i] != MPI_REQUEST_NULL;
    }
    for (; left > 0; left--) {
        MTEST_OK(MPI_Waitany(n, some, &index, MPI_STATUS_IGNORE));
        MTEST_CHECK(index >= 0 && index < n);
    }
    MTEST_OK(MPI_Waitany(n, some, &index, MPI_STATUS_IGNORE));
    MTEST_EQ(index, MPI_UNDEFINED);
}

static void wait_by_host(struct world *w, const int order[ALL])
{
    MPI_Request some[ALL];
    int n = choose(w, order, ALL, BY_HOST, some);

    switch (n > 0 ? draw(5) : -1) {
    case 0:
        for (int i = 0; i < n; i++) {
            MTEST_OK(MPI_Wait(&some[i], MPI_STATUS_IGNORE));
        }
        break;
    case 1:
        MTEST_OK(MPI_Waitall(n, some, MPI_STATUSES_IGNORE));
        break;
    case 2:
        test_all(n, some);
        break;
    case 3:
        test_each(n, some);
        break;
    case 4:
        wait_any(n, some);
        break;
    default:
        break;
    }
}

static void wait_in_queue(struct world *w, int queue, const int order[ALL])
{
    MPI_Request some[ALL];
    int n = choose(w, order, ALL, queue, some);

    if (draw(3) == 0) {
        MTEST_OK(MPIX_Enqueue_waitall(queues[queue], MPIX_ALL_STARTED, NULL));
    } else if (draw(2)) {
        MTEST_OK(MPIX_Enqueue_waitall(queues[queue], n, some));
    } else {
        for (int i = 0; i < n; i++) {
            MTEST_OK(MPIX_Enqueue_wait(queues[queue], &some[i]));
        }
    }
}

static void wait_all(struct world *w)
{
    bool host_first = draw(2);
    int order[ALL];

    shuffle(order, ALL);
    if (host_first) {
        wait_by_host(w, order);
    }
    for (int i = 0; i < QUEUES && !is_plain; i++) {
        wait_in_queue(w, i, order);
    }
    if (!host_first && draw(2)) {
        wait_by_host(w, order);
        host_first = true;
    }
    for (int i = 0; i < QUEUES && !is_plain; i++) {
        MTEST_OK(MPIX_Queue_wait(queues[i]));
    }
    if (!host_first) {
        wait_by_host(w, order);
    }
}

static void run_round(struct world *w)
{
    int host_only = is_plain || draw(4) == 0, queue_only = draw(4) == 0;

    for (int i = 0; i < ALL; i++) {
        w->way[i] = host_only ? BY_HOST : draw(queue_only ? QUEUES : QUEUES + 1);
    }
    fill(w);
    start_all(w);
    wait_all(w);
    check(w);
    w->run++;
}

/* ---- Ahead ---------------------------------------------------------------------------------- */

struct step {
    struct collective *collective;
    int run;
};

static void fill_in_stream(void *arg)
{
    struct step *step = arg;

    collective_fill(step->collective, step->run);
}

static void check_in_stream(void *arg)
{
    struct step *step = arg;

    collective_check(step->collective, step->run);
}

/* One start behind the other, while the host waits for none. */
static void run_ahead(struct world *w)
{
    static struct step steps[AHEAD][MANY];
    int order[MANY];

    for (int i = 0; i < MANY; i++) {
        w->way[i] = draw(QUEUES);
    }
    for (int a = 0; a < AHEAD; a++) {
        shuffle(order, MANY);
        for (int i = 0; i < MANY; i++) {
            int k = order[i], way = w->way[k];

            steps[a][k] = (struct step){&w->collective[k], w->run + a};
            MTEST_OK(MPIX_Host_stream_launch(streams[way], fill_in_stream, &steps[a][k]));
            MTEST_OK(MPIX_Enqueue_start(queues[way], &w->request[k]));
        }
        shuffle(order, MANY);
        for (int i = 0; i < MANY; i++) {
            int k = order[i], way = w->way[k];

            MTEST_OK(MPIX_Enqueue_wait(queues[way], &w->request[k]));
            MTEST_OK(MPIX_Host_stream_launch(streams[way], check_in_stream, &steps[a][k]));
        }
    }
    for (int i = 0; i < QUEUES; i++) {
        MTEST_OK(MPIX_Queue_wait(queues[i]));
        MTEST_OK(MPIX_Host_stream_synchronize(streams[i]));
    }
    w->run += AHEAD;
}

/* ---- Barriers ------------------------------------------------------------------------------- */

static void note(void *arg)
{
    atomic_store((atomic_int *)arg, 1);
}

/* Who is late starts when all others have looked whether theirs is complete. */
static void wait_for_late(MPI_Request *barrier, bool by_queue, atomic_int *passed)
{
    int flag = 1, sum = 0, one = 1;

    if (by_queue) {
        MTEST_OK(MPIX_Enqueue_start(queues[0], barrier));
        MTEST_OK(MPIX_Enqueue_wait(queues[0], barrier));
        MTEST_OK(MPIX_Host_stream_launch(streams[0], note, passed));
    } else {
        MTEST_OK(MPI_Start(barrier));
    }
    for (int i = 0; i < 20; i++) {
        unsigned tries = 5;

        if (by_queue) {
            MTEST_EQ(atomic_load(passed), 0);
        } else {
            MTEST_OK(MPI_Test(barrier, &flag, MPI_STATUS_IGNORE));
            MTEST_EQ(flag, 0);
        }
        mtest_backoff(&tries);
    }
    MTEST_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void hold_back(MPI_Request *barrier, int late, bool by_queue)
{
    atomic_int passed = 0;
    int sum = 0, one = 1;

    if (mtest_rank == late) {
        MTEST_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        start(by_queue ? 0 : BY_HOST, 1, barrier);
        if (by_queue) {
            MTEST_OK(MPIX_Enqueue_wait(queues[0], barrier));
        }
    } else {
        wait_for_late(barrier, by_queue, &passed);
    }
    if (by_queue) {
        MTEST_OK(MPIX_Queue_wait(queues[0]));
        MTEST_OK(MPIX_Host_stream_synchronize(streams[0]));
    } else {
        MTEST_OK(MPI_Wait(barrier, MPI_STATUS_IGNORE));
    }
}

static void barriers(void)
{
    MPI_Request barrier = MPI_REQUEST_NULL;

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier));
    MTEST_OK(MPIX_Match(&barrier));
    for (int late = 0; late < mtest_size && mtest_size > 1; late++) {
        hold_back(&barrier, late, false);
        hold_back(&barrier, late, true);
    }
    MTEST_OK(MPI_Request_free(&barrier));
}

static void run(unsigned seed, bool has_repeats)
{
    static struct world w;
    int before = mtest_failures();

    own = 1013ULL * seed + (is_plain ? 0 : 7919ULL * (unsigned)(mtest_rank + 1));
    make(&w, seed, has_repeats);
    match(&w, (int)(seed % 3));
    for (int i = 0; i < ROUNDS; i++) {
        run_round(&w);
    }
    if (!is_plain) {
        run_ahead(&w);
        run_round(&w);
    }
    unmake(&w);
    if (mtest_failures() > before) {
        fprintf(stderr, "rank %d: failed: seed %u\n", mtest_rank, seed);
    }
}

int main(int argc, char **argv)
{
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned seeds = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
    bool repeats = argc > 3 && strcmp(argv[3], "repeats") == 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_size > MAX_EDGES / 2) {
        mtest_fail(__FILE__, __LINE__, "%d ranks, expected at most %d", mtest_size, MAX_EDGES / 2);
        return mtest_end();
    }
    if (!HAVE_COLLECTIVES) {
        mtest_skip("this MPI has no persistent collectives");
        return mtest_end();
    }
    is_plain = repeats || (argc > 3 && strcmp(argv[3], "plain") == 0);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    for (int i = 0; i < QUEUES && !is_plain; i++) {
        MTEST_OK(MPIX_Host_stream_create(&streams[i]));
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, &streams[i]));
    }
    collective_types_make();
    if (!is_plain) {
        barriers();
    }
    for (unsigned seed = first; seed < first + seeds; seed++) {
        run(seed, repeats || !is_plain);
    }
    collective_types_free();
    for (int i = 0; i < QUEUES && !is_plain; i++) {
        MTEST_OK(MPIX_Queue_free(&queues[i]));
        MTEST_OK(MPIX_Host_stream_destroy(&streams[i]));
    }
    return mtest_end();
}
