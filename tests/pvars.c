/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The performance variables of the library, as a tool finds them by MPI_T: all are listed beside
 * MPI's own, what they count is what queues tell and the program has done, from before MPI_Init
 * until after MPI_Finalize, and each handle has a value of its own. How indices stay when MPI gets
 * more variables is the matter of pvars.sh.
 */
#include "mtest.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long count;

enum { N = 46, PAIRS = 3, TIMES = 4, BY_HOST = 2, ROOM = 256 };

static const char *const names[N] = {"mpixq_queues",
                                     "mpixq_starts",
                                     "mpixq_starts_by_host",
                                     "mpixq_waits",
                                     "mpixq_launches",
                                     "mpixq_posts",
                                     "mpixq_rings",
                                     "mpixq_stalls",
                                     "mpixq_pairs_ipc",
                                     "mpixq_starts_ipc",
                                     "mpixq_bytes_sent_ipc",
                                     "mpixq_bytes_received_ipc",
                                     "mpixq_pairs_cxi",
                                     "mpixq_starts_cxi",
                                     "mpixq_bytes_sent_cxi",
                                     "mpixq_bytes_received_cxi",
                                     "mpixq_pairs_fallback",
                                     "mpixq_starts_fallback",
                                     "mpixq_bytes_sent_fallback",
                                     "mpixq_bytes_received_fallback",
                                     "mpixq_pairs_self",
                                     "mpixq_starts_self",
                                     "mpixq_bytes_sent_self",
                                     "mpixq_bytes_received_self",
                                     "mpixq_starts_null",
                                     "mpixq_windows",
                                     "mpixq_puts",
                                     "mpixq_puts_by_host",
                                     "mpixq_puts_of_graphs",
                                     "mpixq_gets",
                                     "mpixq_bytes_put",
                                     "mpixq_bytes_got",
                                     "mpixq_signal_waits",
                                     "mpixq_signal_resets",
                                     "mpixq_transfers_messages",
                                     "mpixq_transfer_bytes_messages",
                                     "mpixq_transfers_read",
                                     "mpixq_transfer_bytes_read",
                                     "mpixq_transfers_shared",
                                     "mpixq_transfer_bytes_shared",
                                     "mpixq_transfers_nics",
                                     "mpixq_transfer_bytes_nics",
                                     "mpixq_transfers_gpus",
                                     "mpixq_transfer_bytes_gpus",
                                     "mpixq_transfers_self",
                                     "mpixq_transfer_bytes_self"};

static count expected[N]; /* what has been done so far */

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[N];
static int indices[N];

static bool is_bytes(int i)
{
    return strstr(names[i], "_bytes_") != NULL;
}

static int class_of(int i)
{
    return is_bytes(i) ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
}

static count *expected_of(const char *name)
{
    for (int i = 0; i < N; i++) {
        if (strcmp(names[i], name) == 0) {
            return &expected[i];
        }
    }
    mtest_fail(__FILE__, __LINE__, "there is no %s", name);
    return expected;
}

static count value_of(MPI_T_pvar_handle handle)
{
    count around[3] = {~0ull, 77, ~0ull};

    MTEST_EQ(MPI_T_pvar_read(session, handle, &around[1]), MPI_SUCCESS);
    MTEST_CHECK(around[0] == ~0ull && around[2] == ~0ull);
    return around[1];
}

static void check_values(const char *when)
{
    for (int i = 0; i < N; i++) {
        count value = value_of(handles[i]);

        if (value != expected[i]) {
            mtest_fail(__FILE__, __LINE__, "%s: %s is %llu, expected %llu", when, names[i], value,
                       expected[i]);
        }
    }
}

/* ---- What is there -------------------------------------------------------------------------- */

static void check_info(int i)
{
    int name_length = ROOM, length = ROOM, verbosity = -1, class = -1, bind = -1, flags[3];
    char name[ROOM], description[ROOM], few[4] = "";
    MPI_T_enum items = MPI_T_ENUM_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MTEST_EQ(MPI_T_pvar_get_info(indices[i], name, &name_length, &verbosity, &class, &type, &items,
                                 description, &length, &bind, &flags[0], &flags[1], &flags[2]),
             MPI_SUCCESS);
    MTEST_CHECK(strcmp(name, names[i]) == 0);
    MTEST_EQ(name_length, strlen(name) + 1);
    MTEST_EQ(length, strlen(description) + 1);
    MTEST_CHECK(length > 5);
    MTEST_EQ(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    MTEST_EQ(class, class_of(i));
    MTEST_CHECK(type == MPI_UNSIGNED_LONG_LONG && items == MPI_T_ENUM_NULL);
    MTEST_EQ(bind, MPI_T_BIND_NO_OBJECT);
    MTEST_CHECK(flags[0] == 0 && flags[1] == 1 && flags[2] == 1);
    /* What has no room is cut off, and without any the length is told. */
    name_length = sizeof few;
    length = 0;
    MTEST_EQ(MPI_T_pvar_get_info(indices[i], few, &name_length, NULL, NULL, NULL, NULL, description,
                                 &length, NULL, NULL, NULL, NULL),
             MPI_SUCCESS);
    MTEST_CHECK(strcmp(few, "mpi") == 0 && name_length == sizeof few);
    MTEST_EQ(length, strlen(description) + 1);
}

/* MPI's own have the names that MPI tells by its other name for the function, in the same order. */
static void check_others(int all)
{
    char name[ROOM], own[ROOM];
    int number = -1, next = 0, v, class, b, flags[3];
    MPI_Datatype type;
    MPI_T_enum items;

    MTEST_EQ(PMPI_T_pvar_get_num(&number), MPI_SUCCESS);
    MTEST_EQ(all, number + N);
    for (int i = 0; i < all; i++) {
        int n = ROOM, n_own = ROOM, index = -1, rc;

        if (i >= indices[0] && i < indices[0] + N) {
            continue;
        }
        rc = MPI_T_pvar_get_info(i, name, &n, &v, &class, &type, &items, NULL, NULL, &b, &flags[0],
                                 &flags[1], &flags[2]);
        MTEST_EQ(rc, PMPI_T_pvar_get_info(next++, own, &n_own, &v, &class, &type, &items, NULL,
                                          NULL, &b, &flags[0], &flags[1], &flags[2]));
        if (rc == MPI_SUCCESS) { /* in Open MPI those of a component that was closed are gone */
            MTEST_CHECK(n == n_own && strcmp(name, own) == 0);
            MTEST_EQ(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
            MTEST_EQ(index, i);
        }
    }
}

static void find_all(void)
{
    int all = -1;

    MTEST_EQ(MPI_T_pvar_get_num(&all), MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        MTEST_EQ(MPI_T_pvar_get_index(names[i], class_of(i), &indices[i]), MPI_SUCCESS);
        MTEST_CHECK(indices[i] >= 0 && indices[i] < all && indices[i] == indices[0] + i);
        check_info(i);
    }
    check_others(all);
}

static void check_category(void)
{
    int all = -1, own = -1, index = -1, n[3] = {-1, -1, -1}, list[N + 2], length = ROOM;
    char name[ROOM];

    MTEST_EQ(MPI_T_category_get_num(&all), MPI_SUCCESS);
    MTEST_EQ(PMPI_T_category_get_num(&own), MPI_SUCCESS);
    MTEST_EQ(all, own + 1);
    MTEST_EQ(MPI_T_category_get_index("mpix_queue", &index), MPI_SUCCESS);
    MTEST_CHECK(index >= 0 && index < all);
    MTEST_EQ(MPI_T_category_get_info(index, name, &length, NULL, NULL, &n[0], &n[1], &n[2]),
             MPI_SUCCESS);
    MTEST_CHECK(strcmp(name, "mpix_queue") == 0 && length == sizeof "mpix_queue");
    MTEST_CHECK(n[0] == 0 && n[1] == N && n[2] == 0);
    for (int room = N - 1; room <= N + 1; room++) {
        memset(list, -1, sizeof list);
        MTEST_EQ(MPI_T_category_get_pvars(index, room, list), MPI_SUCCESS);
        for (int i = 0; i < N + 2; i++) {
            MTEST_EQ(list[i], i < N && i < room ? indices[i] : -1);
        }
    }
    MTEST_EQ(MPI_T_category_get_cvars(index, 1, list), MPI_SUCCESS);
    MTEST_EQ(MPI_T_category_get_categories(index, 1, list), MPI_SUCCESS);
    for (int i = 0, next = 0; i < all; i++) {
        int own_length = length = ROOM, rc;
        char own_name[ROOM];

        if (i == index) {
            continue;
        }
        rc = MPI_T_category_get_info(i, name, &length, NULL, NULL, &n[0], &n[1], &n[2]);
        MTEST_EQ(rc, PMPI_T_category_get_info(next++, own_name, &own_length, NULL, NULL, &n[0],
                                              &n[1], &n[2]));
        MTEST_CHECK(rc != MPI_SUCCESS || strcmp(name, own_name) == 0);
    }
}

/* ---- What they count ------------------------------------------------------------------------ */

static void add_counts(MPIX_Queue queue)
{
    static const char *const told[] = {
        "mpixq_starts",      "mpixq_waits",           "mpixq_launches",
        "mpixq_posts",       "mpixq_rings",           "mpixq_stalls",
        "mpixq_starts_self", "mpixq_starts_fallback", "mpixq_starts_ipc"};

    ++*expected_of("mpixq_queues");
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        *expected_of(told[i]) += (count)mtest_queue_count(queue, told[i]);
    }
}

/* To the other rank and back, to itself, and to nobody. */
static int make(MPI_Request r[], int in[], int out[])
{
    int peer = mtest_size - 1 - mtest_rank, n = 0;

    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[n++]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[n++]));
    }
    MTEST_OK(MPI_Recv_init(&in[PAIRS], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r[n++]));
    MTEST_OK(MPI_Send_init(&out[PAIRS], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r[n++]));
    MTEST_OK(MPI_Send_init(&out[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[n++]));
    MTEST_OK(MPIX_Matchall(n, r));
    *expected_of("mpixq_pairs_self") += 1;
    *expected_of("mpixq_pairs_fallback") += 2 * PAIRS;
    return n;
}

static void check_data(int in[])
{
    for (int i = 0; i <= PAIRS; i++) {
        MTEST_EQ(in[i], 100 * (i < PAIRS ? mtest_size - 1 - mtest_rank : mtest_rank) + i);
        in[i] = -1;
    }
}

/* The host starts, and bytes of all starts, which queues do not tell. */
static void add_rest(int n)
{
    count starts = TIMES + BY_HOST;

    *expected_of("mpixq_starts") += (count)(BY_HOST * n);
    *expected_of("mpixq_starts_by_host") += (count)(BY_HOST * n);
    *expected_of("mpixq_starts_self") += 2 * BY_HOST;
    *expected_of("mpixq_starts_fallback") += 2 * PAIRS * BY_HOST;
    *expected_of("mpixq_starts_null") += starts;
    *expected_of("mpixq_bytes_sent_self") += starts * sizeof(int);
    *expected_of("mpixq_bytes_received_self") += starts * sizeof(int);
    *expected_of("mpixq_bytes_sent_fallback") += starts * PAIRS * sizeof(int);
    *expected_of("mpixq_bytes_received_fallback") += starts * PAIRS * sizeof(int);
}

/* Counts are there at once, and stay when queue and requests go; or those are left. */
static void exchange(bool frees)
{
    static int in[PAIRS + 1], out[PAIRS + 1];
    MPI_Request r[2 * PAIRS + 3];
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int n;

    for (int i = 0; i <= PAIRS; i++) {
        in[i] = -1;
        out[i] = 100 * mtest_rank + i;
    }
    n = make(r, in, out);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int t = 0; t < TIMES; t++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, n, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, n, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    check_data(in);
    for (int t = 0; t < BY_HOST; t++) {
        MTEST_OK(MPI_Startall(n, r));
        MTEST_OK(MPI_Waitall(n, r, MPI_STATUSES_IGNORE));
        check_data(in);
    }
    add_counts(queue);
    add_rest(n);
    check_values("with all that was made");
    if (!frees) {
        return;
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    check_values("without the queue");
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    check_values("without the requests");
}

/* What is read by another thread meanwhile never decreases. */
static atomic_bool reading;

static void *read_all(void *arg)
{
    count last[N] = {0};

    (void)arg;
    while (atomic_load(&reading)) {
        for (int i = 0; i < N; i++) {
            count value = value_of(handles[i]);

            MTEST_CHECK(value >= last[i]);
            last[i] = value;
        }
    }
    return NULL;
}

static void exchange_beside_reader(void)
{
    pthread_t thread;

    atomic_store(&reading, true);
    if (pthread_create(&thread, NULL, read_all, NULL) != 0) {
        mtest_fail(__FILE__, __LINE__, "no thread");
        return;
    }
    for (int i = 0; i < 20; i++) {
        exchange(true);
    }
    atomic_store(&reading, false);
    pthread_join(thread, NULL);
}

/* ---- Handles -------------------------------------------------------------------------------- */

/* Each has a value of its own. */
static void check_resets(void)
{
    MPI_T_pvar_handle other = MPI_T_PVAR_HANDLE_NULL;
    count value = 0, all = *expected_of("mpixq_starts");
    int n = 0;

    MTEST_EQ(MPI_T_pvar_handle_alloc(session, indices[1], NULL, &other, &n), MPI_SUCCESS);
    MTEST_CHECK(n == 1 && other != handles[1] && all > 0);
    MTEST_CHECK(value_of(other) == all);
    MTEST_EQ(MPI_T_pvar_readreset(session, other, &value), MPI_SUCCESS);
    MTEST_CHECK(value == all && value_of(other) == 0 && value_of(handles[1]) == all);
    value = 1000;
    MTEST_EQ(MPI_T_pvar_write(session, other, &value), MPI_SUCCESS);
    MTEST_CHECK(value_of(other) == 1000 && value_of(handles[1]) == all);
    MTEST_EQ(MPI_T_pvar_reset(session, other), MPI_SUCCESS);
    MTEST_CHECK(value_of(other) == 0 && value_of(handles[1]) == all);
    MTEST_EQ(MPI_T_pvar_start(session, other), MPI_T_ERR_PVAR_NO_STARTSTOP);
    MTEST_EQ(MPI_T_pvar_stop(session, other), MPI_T_ERR_PVAR_NO_STARTSTOP);
    MTEST_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    MTEST_CHECK(value_of(handles[1]) == all);
    MTEST_EQ(MPI_T_pvar_handle_free(session, &other), MPI_SUCCESS);
    MTEST_CHECK(other == MPI_T_PVAR_HANDLE_NULL);
}

/* Those of one session are reset, and freed, together. */
static void check_sessions(void)
{
    MPI_T_pvar_session second = MPI_T_PVAR_SESSION_NULL, gone;
    MPI_T_pvar_handle many[200];
    count value = 1;
    int n;

    MTEST_EQ(MPI_T_pvar_session_create(&second), MPI_SUCCESS);
    for (int i = 0; i < 200; i++) {
        MTEST_EQ(MPI_T_pvar_handle_alloc(second, indices[1], NULL, &many[i], &n), MPI_SUCCESS);
        for (int k = 0; k < i; k++) {
            MTEST_CHECK(many[k] != many[i]);
        }
    }
    MTEST_EQ(MPI_T_pvar_reset(second, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    for (int i = 0; i < 200; i++) {
        MTEST_EQ(MPI_T_pvar_read(second, many[i], &value), MPI_SUCCESS);
        MTEST_EQ(value, 0);
    }
    check_values("after another session was reset");
    gone = second;
    MTEST_EQ(MPI_T_pvar_session_free(&second), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_read(gone, many[7], &value), MPI_T_ERR_INVALID_HANDLE);
    check_values("after another session was freed");
}

static void check_misuse(void)
{
    MPI_T_pvar_session second = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL, freed;
    count value = 5;
    int n;

    MTEST_EQ(MPI_T_pvar_session_create(&second), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_handle_alloc(session, indices[0], NULL, &handle, &n), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_read(second, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_write(second, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_reset(second, handle), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_readreset(second, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_start(second, handle), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_handle_free(second, &handle), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, handle, &value), MPI_T_ERR_INVALID_SESSION);
    MTEST_EQ(MPI_T_pvar_read(session, handle, NULL), MPI_T_ERR_INVALID);
    MTEST_EQ(MPI_T_pvar_readreset(session, handle, NULL), MPI_T_ERR_INVALID);
    MTEST_EQ(MPI_T_pvar_write(session, handle, NULL), MPI_T_ERR_INVALID);
    MTEST_EQ(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, indices[0], NULL, &handle, &n),
             MPI_T_ERR_INVALID_SESSION);
    MTEST_EQ(MPI_T_pvar_handle_alloc(session, indices[0], NULL, NULL, &n), MPI_T_ERR_INVALID);
    freed = handle;
    MTEST_EQ(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_read(session, freed, &value), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(MPI_T_pvar_handle_free(session, &freed), MPI_T_ERR_INVALID_HANDLE);
    MTEST_EQ(value, 5);
    /* The name is of another class. */
    MTEST_CHECK(MPI_T_pvar_get_index(names[0], MPI_T_PVAR_CLASS_TIMER, &n) != MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_session_free(&second), MPI_SUCCESS);
}

/* A variable of MPI's own that belongs to a communicator, which Open MPI has: some lengths. */
static void check_mpis_own(void)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_Comm world = MPI_COMM_WORLD;
    unsigned lengths[64];
    int index, n = 0;

    if (MPI_T_pvar_get_index("pml_ob1_posted_recvq_length", MPI_T_PVAR_CLASS_SIZE, &index) !=
        MPI_SUCCESS) {
        return;
    }
    if (MPI_T_pvar_handle_alloc(session, index, &world, &handle, &n) != MPI_SUCCESS) {
        return; /* another of its components is in use */
    }
    MTEST_CHECK(n == mtest_size && n <= 64);
    memset(lengths, -1, sizeof lengths);
    MTEST_EQ(MPI_T_pvar_read(session, handle, lengths), MPI_SUCCESS);
    MTEST_CHECK(lengths[0] < 1000);
    MTEST_EQ(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided, n, code;

    MTEST_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    MTEST_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        MTEST_EQ(MPI_T_pvar_get_index(names[i], class_of(i), &indices[i]), MPI_SUCCESS);
        MTEST_EQ(MPI_T_pvar_handle_alloc(session, indices[i], NULL, &handles[i], &n), MPI_SUCCESS);
    }
    check_values("before MPI_Init");
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    find_all();
    check_category();
    check_values("before all");
    exchange(true);
    check_resets();
    check_sessions();
    check_misuse();
    check_mpis_own();
    exchange_beside_reader();
    exchange(false);
    code = mtest_verdict();
    MPI_Finalize();
    check_values("after MPI_Finalize");
    return mtest_failures() > 0 ? 1 : code;
}
