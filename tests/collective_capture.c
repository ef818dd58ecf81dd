/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Each initialiser of a persistent collective, by its name in C and by those in Fortran, tells the
 * library what the request is made from. Linked with the sources of the library: what it is told
 * comes here first (--wrap).
 */
#include "mtest.h"

#include <string.h>

#include "collective_names.h"
#include "core/collective.h"

#if HAVE_COLLECTIVES

static struct {
    struct mpixq_collective_args args;
    MPI_Comm comm;
    MPI_Request handle;
    int calls;
} told;

void __real_mpixq_collective_capture(const struct mpixq_collective_args *args, MPI_Comm comm,
                                     MPI_Request handle);
void __wrap_mpixq_collective_capture(const struct mpixq_collective_args *args, MPI_Comm comm,
                                     MPI_Request handle);

void __wrap_mpixq_collective_capture(const struct mpixq_collective_args *args, MPI_Comm comm,
                                     MPI_Request handle)
{
    told.args = *args;
    told.comm = comm;
    told.handle = handle;
    told.calls++;
    __real_mpixq_collective_capture(args, comm, handle);
}

/* With a request of MPI_REQUEST_NULL, which MPI refused, or another one, which is freed. */
static void expect_told(const struct mpixq_collective_args *args, MPI_Comm comm, MPI_Request *r)
{
    const struct mpixq_collective_args *a = &told.args;

    MTEST_EQ(told.calls, 1);
    MTEST_EQ(a->kind, args->kind);
    MTEST_CHECK(a->sendbuf == args->sendbuf && a->recvbuf == args->recvbuf);
    MTEST_EQ(a->sendcount, args->sendcount);
    MTEST_EQ(a->recvcount, args->recvcount);
    MTEST_CHECK(a->sendcounts == args->sendcounts && a->sdispls == args->sdispls);
    MTEST_CHECK(a->recvcounts == args->recvcounts && a->rdispls == args->rdispls);
    MTEST_CHECK(a->sendtype == args->sendtype && a->recvtype == args->recvtype);
    MTEST_CHECK(a->op == args->op);
    MTEST_EQ(a->root, args->root);
    MTEST_CHECK(told.comm == comm && told.handle == *r);
    memset(&told, 0, sizeof told);
    if (*r != MPI_REQUEST_NULL) {
        MTEST_OK(MPI_Request_free(r));
    }
}

/* What the calls are made with. */
static int sent[8], received[8];
static MPI_Datatype absolute; /* that of received, from MPI_BOTTOM on */
static MPI_Comm ring;
static MPI_Op op;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void make_all(void)
{
    int length = 1, from = (mtest_rank + mtest_size - 1) % mtest_size,
        to = (mtest_rank + 1) % mtest_size;
    MPI_Aint address = 0;

    MTEST_OK(MPI_Get_address(received, &address));
    MTEST_OK(MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute));
    MTEST_OK(MPI_Type_commit(&absolute));
    MTEST_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    MTEST_OK(MPI_Op_create(add, 1, &op));
}

static const int sendcounts[] = {2}, sdispls[] = {1}, recvcounts[] = {2}, rdispls[] = {3};

static const struct mpixq_collective_args barrier = {.kind = MPIXQ_BARRIER,
                                                     .sendtype = MPI_DATATYPE_NULL,
                                                     .recvtype = MPI_DATATYPE_NULL,
                                                     .op = MPI_OP_NULL};

static struct mpixq_collective_args bcast(void)
{
    return (struct mpixq_collective_args){.kind = MPIXQ_BCAST,
                                          .recvbuf = received,
                                          .recvcount = 5,
                                          .sendtype = MPI_DATATYPE_NULL,
                                          .recvtype = MPI_INT,
                                          .op = MPI_OP_NULL,
                                          .root = mtest_size - 1};
}

static struct mpixq_collective_args allreduce(void)
{
    return (struct mpixq_collective_args){.kind = MPIXQ_ALLREDUCE,
                                          .sendbuf = sent,
                                          .recvbuf = received,
                                          .recvcount = 4,
                                          .sendtype = MPI_DATATYPE_NULL,
                                          .recvtype = MPI_INT,
                                          .op = op};
}

static struct mpixq_collective_args blocks(enum mpixq_collective_kind kind)
{
    return (struct mpixq_collective_args){.kind = kind,
                                          .sendbuf = sent,
                                          .recvbuf = received,
                                          .sendcount = 2,
                                          .recvcount = 4,
                                          .sendtype = MPI_INT,
                                          .recvtype = MPI_SHORT,
                                          .op = MPI_OP_NULL};
}

static struct mpixq_collective_args alltoallv(void)
{
    return (struct mpixq_collective_args){.kind = MPIXQ_NEIGHBOR_ALLTOALLV,
                                          .sendbuf = sent,
                                          .recvbuf = received,
                                          .sendcounts = sendcounts,
                                          .sdispls = sdispls,
                                          .recvcounts = recvcounts,
                                          .rdispls = rdispls,
                                          .sendtype = MPI_INT,
                                          .recvtype = MPI_FLOAT,
                                          .op = MPI_OP_NULL};
}

/* ---- By the names of C ----------------------------------------------------------------------- */

static void barrier_and_bcast_in_c(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    struct mpixq_collective_args a = bcast();

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    expect_told(&barrier, MPI_COMM_WORLD, &r);
    MTEST_OK(COLLECTIVE(Bcast_init)(a.recvbuf, a.recvcount, a.recvtype, a.root, MPI_COMM_WORLD,
                                    MPI_INFO_NULL, &r));
    expect_told(&a, MPI_COMM_WORLD, &r);
}

static void allreduce_in_c(const void *sendbuf)
{
    MPI_Request r = MPI_REQUEST_NULL;
    struct mpixq_collective_args a = allreduce();

    a.sendbuf = sendbuf;
    MTEST_OK(COLLECTIVE(Allreduce_init)(sendbuf, a.recvbuf, a.recvcount, a.recvtype, a.op,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    expect_told(&a, MPI_COMM_WORLD, &r);
}

static void allgather_in_c(const void *sendbuf)
{
    MPI_Request r = MPI_REQUEST_NULL;
    struct mpixq_collective_args a = blocks(MPIXQ_ALLGATHER);

    a.sendbuf = sendbuf;
    MTEST_OK(COLLECTIVE(Allgather_init)(sendbuf, a.sendcount, a.sendtype, a.recvbuf, a.recvcount,
                                        a.recvtype, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    expect_told(&a, MPI_COMM_WORLD, &r);
}

static void neighbours_in_c(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    struct mpixq_collective_args a = blocks(MPIXQ_NEIGHBOR_ALLTOALL), v = alltoallv();

    MTEST_OK(COLLECTIVE(Neighbor_alltoall_init)(a.sendbuf, a.sendcount, a.sendtype, a.recvbuf,
                                                a.recvcount, a.recvtype, ring, MPI_INFO_NULL, &r));
    expect_told(&a, ring, &r);
    MTEST_OK(COLLECTIVE(Neighbor_alltoallv_init)(v.sendbuf, v.sendcounts, v.sdispls, v.sendtype,
                                                 v.recvbuf, v.recvcounts, v.rdispls, v.recvtype,
                                                 ring, MPI_INFO_NULL, &r));
    expect_told(&v, ring, &r);
}

/* What MPI refuses is counted, where there is a communicator. */
static void refused(void)
{
    MPI_Request r = MPI_REQUEST_NULL, null = MPI_REQUEST_NULL;
    struct mpixq_collective_args a = bcast();

    a.recvcount = -1;
    MTEST_CLASS(COLLECTIVE(Bcast_init)(a.recvbuf, -1, a.recvtype, a.root, MPI_COMM_WORLD,
                                       MPI_INFO_NULL, &r),
                MPI_ERR_COUNT);
    expect_told(&a, MPI_COMM_WORLD, &null);
    MTEST_CLASS(COLLECTIVE(Barrier_init)(MPI_COMM_NULL, MPI_INFO_NULL, &r), MPI_ERR_COMM);
    MTEST_EQ(told.calls, 0);
}

/* ---- By those of Fortran --------------------------------------------------------------------- */

#if HAVE_MPI_FORTRAN

/* Where MPICH's mpif.h has MPI_BOTTOM and MPI_IN_PLACE; no library of its Fortran is here. */
MPI_Fint mpipriv1_[2];

/* The three names of a function, as an array. */
#define NAMES(name, ...)                                                                           \
    extern void COLLECTIVE_F(name##_)(__VA_ARGS__);                                                \
    extern void COLLECTIVE_F(name##__)(__VA_ARGS__);                                               \
    extern void COLLECTIVE_F(name##_f08_)(__VA_ARGS__);                                            \
    static void (*const name[])(__VA_ARGS__) = {COLLECTIVE_F(name##_), COLLECTIVE_F(name##__),     \
                                                COLLECTIVE_F(name##_f08_)}
typedef const MPI_Fint *in; /* an argument that is only read */
NAMES(barrier_init, in comm, in info, MPI_Fint *r, MPI_Fint *ierror);
NAMES(bcast_init, void *buf, in count, in type, in root, in comm, in info, MPI_Fint *r,
      MPI_Fint *ierror);
NAMES(allreduce_init, const void *sendbuf, void *recvbuf, in count, in type, in op, in comm,
      in info, MPI_Fint *r, MPI_Fint *ierror);
NAMES(allgather_init, const void *sendbuf, in sendcount, in sendtype, void *recvbuf, in recvcount,
      in recvtype, in comm, in info, MPI_Fint *r, MPI_Fint *ierror);
NAMES(neighbor_alltoall_init, const void *sendbuf, in sendcount, in sendtype, void *recvbuf,
      in recvcount, in recvtype, in comm, in info, MPI_Fint *r, MPI_Fint *ierror);
NAMES(neighbor_alltoallv_init, const void *sendbuf, in sendcounts, in sdispls, in sendtype,
      void *recvbuf, in recvcounts, in rdispls, in recvtype, in comm, in info, MPI_Fint *r,
      MPI_Fint *ierror);
enum { N_NAMES = sizeof barrier_init / sizeof barrier_init[0] };

static void expect_from_fortran(const struct mpixq_collective_args *args, MPI_Comm comm, MPI_Fint r,
                                MPI_Fint ierror)
{
    MPI_Request made = MPI_Request_f2c(r);

    MTEST_EQ(ierror, MPI_SUCCESS);
    MTEST_CHECK(made != MPI_REQUEST_NULL);
    expect_told(args, comm, &made);
}

static void barrier_and_bcast_in_fortran(int n)
{
    const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), info = MPI_Info_c2f(MPI_INFO_NULL),
                   type = MPI_Type_c2f(MPI_INT), from_bottom = MPI_Type_c2f(absolute), one = 1;
    struct mpixq_collective_args a = bcast();
    MPI_Fint r = 0, ierror = -1;

    barrier_init[n](&world, &info, &r, &ierror);
    expect_from_fortran(&barrier, MPI_COMM_WORLD, r, ierror);
    bcast_init[n](a.recvbuf, &a.recvcount, &type, &a.root, &world, &info, &r, &ierror);
    expect_from_fortran(&a, MPI_COMM_WORLD, r, ierror);
    a.recvbuf = MPI_BOTTOM;
    a.recvcount = 1;
    a.recvtype = absolute;
    bcast_init[n](&mpipriv1_[0], &one, &from_bottom, &a.root, &world, &info, &r, NULL);
    expect_from_fortran(&a, MPI_COMM_WORLD, r, MPI_SUCCESS);
}

static void allreduce_in_fortran(int n, bool in_place)
{
    const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), info = MPI_Info_c2f(MPI_INFO_NULL),
                   type = MPI_Type_c2f(MPI_INT), its_op = MPI_Op_c2f(op);
    struct mpixq_collective_args a = allreduce();
    MPI_Fint r = 0, ierror = -1;

    a.sendbuf = in_place ? MPI_IN_PLACE : a.sendbuf;
    allreduce_init[n](in_place ? &mpipriv1_[1] : sent, a.recvbuf, &a.recvcount, &type, &its_op,
                      &world, &info, &r, &ierror);
    expect_from_fortran(&a, MPI_COMM_WORLD, r, ierror);
}

static void allgather_in_fortran(int n, bool in_place)
{
    const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), info = MPI_Info_c2f(MPI_INFO_NULL),
                   sendtype = MPI_Type_c2f(MPI_INT), recvtype = MPI_Type_c2f(MPI_SHORT);
    struct mpixq_collective_args a = blocks(MPIXQ_ALLGATHER);
    MPI_Fint r = 0, ierror = -1;

    a.sendbuf = in_place ? MPI_IN_PLACE : a.sendbuf;
    allgather_init[n](in_place ? &mpipriv1_[1] : sent, &a.sendcount, &sendtype, a.recvbuf,
                      &a.recvcount, &recvtype, &world, &info, &r, &ierror);
    expect_from_fortran(&a, MPI_COMM_WORLD, r, ierror);
}

static void neighbours_in_fortran(int n)
{
    const MPI_Fint comm = MPI_Comm_c2f(ring), info = MPI_Info_c2f(MPI_INFO_NULL),
                   type = MPI_Type_c2f(MPI_INT), half = MPI_Type_c2f(MPI_SHORT),
                   real = MPI_Type_c2f(MPI_FLOAT);
    struct mpixq_collective_args a = blocks(MPIXQ_NEIGHBOR_ALLTOALL), v = alltoallv();
    MPI_Fint r = 0, ierror = -1;

    neighbor_alltoall_init[n](a.sendbuf, &a.sendcount, &type, a.recvbuf, &a.recvcount, &half, &comm,
                              &info, &r, &ierror);
    expect_from_fortran(&a, ring, r, ierror);
    neighbor_alltoallv_init[n](v.sendbuf, v.sendcounts, v.sdispls, &type, v.recvbuf, v.recvcounts,
                               v.rdispls, &real, &comm, &info, &r, &ierror);
    expect_from_fortran(&v, ring, r, ierror);
}

/* The request stays as it was. */
static void refused_in_fortran(int n)
{
    const MPI_Fint null = MPI_Comm_c2f(MPI_COMM_NULL), info = MPI_Info_c2f(MPI_INFO_NULL);
    MPI_Fint r = 4711, ierror = MPI_SUCCESS;

    barrier_init[n](&null, &info, &r, &ierror);
    mtest_forgive(1);
    MTEST_CHECK(ierror != MPI_SUCCESS);
    MTEST_EQ(r, 4711);
    MTEST_EQ(told.calls, 0);
}

extern void mpi_op_free_(MPI_Fint *op, MPI_Fint *ierror);
extern void mpi_op_free__(MPI_Fint *op, MPI_Fint *ierror);
extern void mpi_op_free_f08_(MPI_Fint *op, MPI_Fint *ierror);

static void op_free_in_fortran(int n)
{
    void (*const op_free[])(MPI_Fint *, MPI_Fint *) = {mpi_op_free_, mpi_op_free__,
                                                       mpi_op_free_f08_};
    MPI_Op made = MPI_OP_NULL;
    MPI_Fint its_op, sum = MPI_Op_c2f(MPI_SUM), ierror = -1;

    MTEST_OK(MPI_Op_create(add, 1, &made));
    its_op = MPI_Op_c2f(made);
    op_free[n](&its_op, &ierror);
    MTEST_EQ(ierror, MPI_SUCCESS);
    MTEST_CHECK(MPI_Op_f2c(its_op) == MPI_OP_NULL);
    op_free[n](&sum, &ierror);
    mtest_forgive(1);
    MTEST_CHECK(ierror != MPI_SUCCESS && MPI_Op_f2c(sum) == MPI_SUM);
}

static void in_fortran(void)
{
    for (int n = 0; n < N_NAMES; n++) {
        barrier_and_bcast_in_fortran(n);
        for (int in_place = 0; in_place < 2; in_place++) {
            allreduce_in_fortran(n, in_place);
            allgather_in_fortran(n, in_place);
        }
        neighbours_in_fortran(n);
        refused_in_fortran(n);
        op_free_in_fortran(n);
    }
}

#else

static void in_fortran(void)
{
}

#endif

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    make_all();
    barrier_and_bcast_in_c();
    allreduce_in_c(sent);
    allreduce_in_c(MPI_IN_PLACE);
    allgather_in_c(sent);
    allgather_in_c(MPI_IN_PLACE);
    neighbours_in_c();
    refused();
    in_fortran();
    MTEST_OK(MPI_Op_free(&op));
    MTEST_OK(MPI_Comm_free(&ring));
    MTEST_OK(MPI_Type_free(&absolute));
    return mtest_end();
}

#else

void __wrap_mpixq_collective_capture(void);
void __wrap_mpixq_collective_capture(void)
{
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    mtest_skip("this MPI has no persistent collectives");
    return mtest_end();
}

#endif
