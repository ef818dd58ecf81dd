/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * comm.c - how often MPI is asked for ranks, in jobs of many processes: MPI's functions are played
 * by this file. Rank r of any group is rank r + SHIFT of MPI_COMM_WORLD.
 */
#include "unit.h"

#include <mpi.h>
#include <string.h>

#include "comm/comm.h"

enum { SHIFT = 5, KEY = 7, SIDE = 5000 };

static long translations;
static int outsider = -1;   /* the rank that is not in MPI_COMM_WORLD */
static void *attributes[3]; /* of MPI_COMM_WORLD, MPI_COMM_SELF and the intercommunicator */
static MPI_Comm_delete_attr_function *delete_attribute;
static bool is_inter;

int __wrap_PMPI_Group_translate_ranks(MPI_Group group, int n, const int *ranks, MPI_Group to,
                                      int *found);
int __wrap_PMPI_Group_translate_ranks(MPI_Group group, int n, const int *ranks, MPI_Group to,
                                      int *found)
{
    (void)group;
    (void)to;
    translations++;
    for (int i = 0; i < n; i++) {
        found[i] = ranks[i] == outsider ? MPI_UNDEFINED : ranks[i] + SHIFT;
    }
    return MPI_SUCCESS;
}

int __wrap_PMPI_Group_size(MPI_Group group, int *size);
int __wrap_PMPI_Group_size(MPI_Group group, int *size)
{
    (void)group;
    *size = SIDE;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Group_free(MPI_Group *group);
int __wrap_PMPI_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int __wrap_PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    *group = MPI_GROUP_EMPTY;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group);
int __wrap_PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    return __wrap_PMPI_Comm_group(comm, group);
}

static void **attribute_of(MPI_Comm comm)
{
    return &attributes[is_inter ? 2 : comm == MPI_COMM_WORLD ? 0 : 1];
}

/* The communicator is freed, as far as that attribute can tell. */
static void drop_attribute(void **attribute)
{
    void *value = *attribute;

    *attribute = NULL;
    if (value != NULL) {
        assert_int_equal(delete_attribute(MPI_COMM_NULL, KEY, value, NULL), MPI_SUCCESS);
    }
}

int __wrap_PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                                   MPI_Comm_delete_attr_function *del, int *key, void *extra);
int __wrap_PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                                   MPI_Comm_delete_attr_function *del, int *key, void *extra)
{
    (void)copy;
    (void)extra;
    delete_attribute = del;
    *key = KEY;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_set_attr(MPI_Comm comm, int key, void *value);
int __wrap_PMPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
    assert_int_equal(key, KEY);
    drop_attribute(attribute_of(comm));
    *attribute_of(comm) = value;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value_p, int *found);
int __wrap_PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value_p, int *found)
{
    assert_int_equal(key, KEY);
    *found = *attribute_of(comm) != NULL;
    memcpy(value_p, attribute_of(comm), sizeof(void *));
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_test_inter(MPI_Comm comm, int *flag);
int __wrap_PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_PMPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = SIDE;
    return MPI_SUCCESS;
}

static const unsigned char *exchanged;

int __wrap_PMPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm);
int __wrap_PMPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    (void)type;
    (void)op;
    (void)comm;
    exchanged = in;
    memcpy(out, in, (size_t)n * sizeof(uint64_t));
    return MPI_SUCCESS;
}

static int set_up(void **state)
{
    (void)state;
    return mpixq_comm_open();
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        drop_attribute(&attributes[i]);
    }
    return 0;
}

/* Ask for the 26 neighbours of a process in a periodic grid, several times. */
static void ask_for_neighbours(struct mpixq_comm *record, int width, int own)
{
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 27; i++) {
            int x = (own % width + i % 3 - 1 + width) % width;
            int y = (own / width % width + i / 3 % 3 - 1 + width) % width;
            int z = (own / width / width + i / 9 - 1 + width) % width;
            int peer = x + width * (y + width * z);

            if (peer != own) {
                assert_int_equal(mpixq_comm_world_rank(record, peer), peer + SHIFT);
            }
        }
    }
}

/* The record of a communicator that is new: each thread remembers the last one that it had. */
static struct mpixq_comm *make_record(int turn)
{
    MPI_Comm comm = turn % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF;
    struct mpixq_comm *record;

    drop_attribute(attribute_of(comm));
    record = mpixq_comm_get(comm);
    assert_non_null(record);
    return record;
}

static const int widths[] = {3, 4, 8, 10, 16, 20, 32, 48, 64, 100, 128, 256};
enum { N_WIDTHS = sizeof widths / sizeof widths[0], OWN = 20 };

static int own_rank(int width, int k)
{
    return (int)((long long)width * width * width * k / OWN);
}

static void neighbours_in_a_grid_are_remembered(void **state)
{
    (void)state;
    for (int i = 0; i < N_WIDTHS; i++) {
        for (int k = 0; k < OWN; k++) {
            struct mpixq_comm *record = make_record(k);

            translations = 0;
            ask_for_neighbours(record, widths[i], own_rank(widths[i], k));
            if (translations > 26) {
                fail_msg("rank %d of a grid of %d wide: %ld questions", own_rank(widths[i], k),
                         widths[i], translations);
            }
            mpixq_comm_put(record);
        }
    }
}

/* Other neighbours than before take the places of those. */
static void new_neighbours_are_remembered_too(void **state)
{
    struct mpixq_comm *record = make_record(0);

    (void)state;
    for (int i = 0; i < N_WIDTHS; i++) {
        for (int k = 0; k < OWN; k++) {
            ask_for_neighbours(record, widths[i], own_rank(widths[i], k));
            translations = 0;
            ask_for_neighbours(record, widths[i], own_rank(widths[i], k));
            if (translations > 0) {
                fail_msg("rank %d of a grid of %d wide: %ld questions", own_rank(widths[i], k),
                         widths[i], translations);
            }
        }
    }
    mpixq_comm_put(record);
}

static void an_intercommunicator_asks_in_large_pieces(void **state)
{
    struct mpixq_ident ident = {.high = 1, .low = 2};

    (void)state;
    is_inter = true;
    translations = 0;
    exchanged = NULL;
    mpixq_comm_name_intercomm(MPI_COMM_WORLD, ident);
    assert_non_null(exchanged);
    assert_non_null(attributes[2]);
    assert_in_range(translations, 1, 20); /* of 10,000 ranks */
    /* With a process of another world there is no identity, and no exchange. */
    drop_attribute(&attributes[2]);
    exchanged = NULL;
    outsider = SIDE - 1;
    mpixq_comm_name_intercomm(MPI_COMM_WORLD, ident);
    assert_null(exchanged);
    assert_null(attributes[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_in_a_grid_are_remembered),
        cmocka_unit_test(new_neighbours_are_remembered_too),
        cmocka_unit_test(an_intercommunicator_asks_in_large_pieces),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
