/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What reports call a request, be it matched or being matched. */
#ifndef MPIXQ_REQUEST_NAME_H
#define MPIXQ_REQUEST_NAME_H

struct mpixq_pair;
struct mpixq_request;

enum { MPIXQ_NAME_ROOM = 160 };
/* "receive from 1 tag 7 (rank 3 of MPI_COMM_WORLD, 8 bytes)". Under the matching lock. */
const char *mpixq_request_name(const struct mpixq_request *req, char text[MPIXQ_NAME_ROOM]);

enum { MPIXQ_PEER_ROOM = 48 };
/* " (rank 3 of MPI_COMM_WORLD)", or nothing for a collective. Returns text. */
const char *mpixq_name_peer(const struct mpixq_pair *pair, char text[MPIXQ_PEER_ROOM]);

#endif
