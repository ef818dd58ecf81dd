/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Communicators without an identity: made by accept and connect, and by join. Match says so, and
 * what was made before and after them goes on working.
 */
#include "mtest.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAG = 1 };

static void refuse(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int word = 0;

    mtest_count_errors(comm);
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, 0, TAG, comm, &r));
    } else {
        MTEST_OK(MPI_Send_init(&word, 1, MPI_INT, 0, TAG, comm, &r));
    }
    MTEST_KIND(MPIX_Match(&r), MPIXQ_ERR_MATCH);
    MTEST_OK(MPI_Request_free(&r));
}

/* Returns 0 where the MPI library cannot do it. */
static int accept_connect(MPI_Comm *comm)
{
    char port[MPI_MAX_PORT_NAME] = "";
    struct mtest_errors before = mtest_errors();
    int rc = MPI_SUCCESS;
    int ok;

    if (mtest_rank == 0) {
        rc = MPI_Open_port(MPI_INFO_NULL, port);
    }
    if (rc != MPI_SUCCESS) {
        mtest_class(__FILE__, __LINE__, "MPI_Open_port", rc, MTEST_ANY_CLASS, before);
    }
    ok = rc == MPI_SUCCESS;
    MTEST_OK(MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (!ok) {
        return 0;
    }
    MTEST_OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD));
    before = mtest_errors();
    if (mtest_rank == 0) {
        rc = MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm);
    } else {
        rc = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm);
    }
    if (rc != MPI_SUCCESS) {
        mtest_class(__FILE__, __LINE__, "accept or connect", rc, MTEST_ANY_CLASS, before);
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Close_port(port));
    }
    return rc == MPI_SUCCESS;
}

/* A connected TCP socket between the two ranks. */
static int tcp_pair(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int port = 0;

    if (mtest_rank == 0) {
        int listener = fd;

        if (bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0 &&
            getsockname(listener, (struct sockaddr *)&address, &length) == 0) {
            port = address.sin_port;
        }
        MTEST_OK(MPI_Send(&port, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        fd = port ? accept(listener, NULL, NULL) : -1;
        close(listener);
    } else {
        MTEST_OK(MPI_Recv(&port, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        address.sin_port = (in_port_t)port;
        if (port == 0 || connect(fd, (struct sockaddr *)&address, length) != 0) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int fd;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    if (accept_connect(&comm)) {
        refuse(comm);
        MTEST_OK(MPI_Comm_disconnect(&comm));
    } else {
        mtest_skip("this MPI cannot accept and connect here");
    }
    if (argc > 1) {
        fd = tcp_pair();
        MTEST_CHECK(fd >= 0);
        MTEST_OK(MPI_Comm_join(fd, &comm));
        refuse(comm);
        MTEST_OK(MPI_Comm_disconnect(&comm));
        close(fd);
    }
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
