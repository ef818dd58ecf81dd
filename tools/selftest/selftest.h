/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * selftest.h - what mpixq_selftest does: messages between neighbours, checked and timed
 *
 *     selftest.c the command line, the order of things, and giving up
 *     plan.c     which ranks are neighbours, and who is tested when
 *     lane.c     memory and a stream, and what is put on that
 *     trial.c    one pair on one channel: matched, checked, timed
 *     data.c     what messages hold, and what they should have held
 *     verdict.c  the rows of all ranks, and what is slow in them
 *     print.c    as text and as JSON
 *
 * A pair is two ranks, or one and itself. A lane is a kind of memory with a kind of stream; where
 * two ranks both have it, each channel is tried on it: a test, whose outcome is a row.
 *
 * The program has the library inside, so that it can ask why a channel does not serve.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/channel_set.h"
#include "util/ident.h"
#include "mpix_queue.h"

struct mpixq_gpu;

enum { TEXT = 160, MOST_VENDORS = 2, LANES = 1 + 2 * MOST_VENDORS, BUS = 64 };
enum { SUCCESS = 0, BAD = 1, WRONG_USAGE = 2, SLOW = 3 };

struct options {
    bool all, json, no_gpu;
    int seconds, timeout_s, pairs, slow;
};
extern struct options opts;

/* selftest.c: what it is at, for whoever waits for it in vain. waiting: for another rank, which
 * knows more and so is to speak first. */
void now_at(bool waiting, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *need(void *memory); /* not NULL, or the program ends */

/* ---- plan.c */

/* What all ranks know of each. */
struct who {
    struct mpixq_ident node;
    char bus[MOST_VENDORS][BUS]; /* of the GPU that it uses; or empty */
    int numa;                    /* or -1 */
    unsigned lanes;              /* that it has, as bits */
    bool has_nic;                /* a NIC that the channel cxi is made for */
};
enum where { OWN_PROCESS, SAME_GPU, SAME_NODE, OTHER_NODE, WHERES };
extern const char *const where_names[WHERES];

struct pair {
    int low, high, round;
};
struct plan {
    struct who *who; /* of each rank */
    struct pair *pairs;
    int ranks, nodes, n, room;
};

/* Collective: with what each rank knows of itself. */
void plan_make(struct plan *plan, const struct who *own);
void plan_free(struct plan *plan);
enum where plan_where(const struct plan *plan, const struct pair *pair, int lane);

/* ---- lane.c */

enum { ROOM = 1 << 20, GUARD = 64, SPAN = GUARD + ROOM + GUARD, STEPS = 3 };

struct job {
    void *to;
    const void *from;
    size_t bytes;
};
struct lane {
    bool is_there, is_broken, in_gpu; /* in_gpu: the memory is */
    const struct mpixq_gpu *gpu;      /* NULL: a stream of the host */
    void *gpu_stream;
    MPIX_Host_stream host_stream;
    MPIX_Queue queue;
    unsigned char *send, *recv;   /* SPAN bytes each */
    unsigned char *source, *seen; /* STEPS times SPAN bytes each, of the host */
    struct job jobs[2 * STEPS + 1];
    int n_jobs;
    char by[32]; /* how starts and waits are put into the stream */
};

const char *lane_memory(int lane);
const char *lane_stream(int lane);
/* Those that can be; what cannot, although it should, is told in why. False: that is so. */
bool lanes_open(struct lane lanes[LANES], struct who *who, char why[TEXT]);
void lanes_ask(struct lane lanes[LANES]); /* how the streams are driven, after they were */
void lanes_close(struct lane lanes[LANES]);
/* After MPI_Finalize: memory that requests might have named. */
void lanes_free(struct lane lanes[LANES]);
/* Put a copy into the order of the stream; wait for all of it. An MPI code, or why not in why. */
bool lane_copy(struct lane *lane, void *to, const void *from, size_t bytes, char why[TEXT]);
bool lane_finish(struct lane *lane, char why[TEXT]);
bool is_well(int code, const char *what, char why[TEXT]);

/* ---- data.c */

/* Of step so and so, from this rank, in a message of so many bytes; and of nobody. */
void data_fill(unsigned char *to, size_t bytes, int rank, int step);
void data_poison(unsigned char *to, size_t bytes);
/* A message between its guards. False: why says what is wrong. */
bool data_check(const unsigned char *span, size_t bytes, int rank, int step, char why[TEXT]);

/* ---- trial.c */

enum state { SERVED, REFUSED, LEFT_OUT, FAILED, WRONG_DATA, STATES };
extern const char *const state_names[STATES];

/* One test. Times are of the smallest and of the largest message, one way. */
struct row {
    int low, high, lane, channel;
    int state, is_default, is_missed;      /* missed: it would come before the one that serves */
    double small_us, large_us;             /* medians */
    double small_least_us, large_least_us; /* of the best round: what else runs matters less */
    char text[TEXT];                       /* why not served, or what is wrong */
};

struct rows {
    struct row *list;
    int n, room;
};
/* When, by MPI_Wtime, this rank is to be done with so many pairs. */
struct budget {
    double until;
    int pairs;
};
/* The tests of a pair of which this rank is one, on all lanes and channels; its low rank, and if
 * there is one only that, gets the rows. */
void trials_run(const struct plan *plan, const struct pair *pair, struct lane lanes[LANES],
                struct budget budget, struct rows *rows);

/* ---- verdict.c */

struct finding {
    char text[2 * TEXT];
    int low, high; /* the first pair of which it is so */
    int n;         /* pairs */
};
struct verdict {
    struct finding *errors, *slow, *nics; /* nics: which a rank uses, and why these */
    int n_errors, n_slow, n_nics, n_left_out, n_served;
    bool is_crowded; /* more ranks than CPUs: times say little */
    int rc;
};

/* Collective: rank 0 gets the rows of all. */
void rows_gather(struct rows *rows);
/* After is_crowded is known. */
void verdict_find(struct verdict *verdict, const struct plan *plan, const struct rows *rows);
/* Not of a row: what a rank says of itself. */
void verdict_add_error(struct verdict *verdict, int rank, const char *text);
void verdict_add_slow(struct verdict *verdict, int rank, const char *text);
void verdict_add_nics(struct verdict *verdict, int rank, const char *text);
void verdict_settle(struct verdict *verdict); /* its exit code */
void verdict_free(struct verdict *verdict);

/* ---- print.c */

void print_text(const struct plan *plan, const struct rows *rows, const struct verdict *verdict);
void print_json(const struct plan *plan, const struct rows *rows, const struct verdict *verdict);

#endif
