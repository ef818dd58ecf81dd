/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * info.h - what mpixq_info finds out: facts, in sections, of one rank or merged of all
 *
 *     info.c     the command line, and the order of things
 *     build.c    what the build has
 *     gpus.c     the GPUs that the process finds
 *     serves.c   which channel serves, found by matching pairs
 *     report.c   facts: collected, gathered, merged
 *     print.c    as text and as JSON
 *     json.c     texts in JSON
 *     missed.c   which channels come before the one that serves
 *
 * The program has the library inside, and asks its own parts; so what it says of channels, NICs and
 * variables is what the library does.
 */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "util/facts.h"

enum section { BUILD, RUN, CHANNELS, SERVES, GPUS, FABRIC, VARIABLES, SECTIONS };
extern const char *const section_names[SECTIONS];

struct fact {
    enum section section;
    bool is_detail; /* shown as text with --all only */
    char *name, *value;
    char *source, *note; /* of variables: where the value is from, and what is wrong; or "" */
    char *usual, *help;  /* of variables; or NULL */
    struct range {
        int first, last;
    } * ranks; /* that say so */
    int n_ranges, n_ranks;
};

struct report {
    struct mpixq_facts facts; /* first: the library hands it back */
    enum section section;     /* of what the library tells */
    struct fact *list;
    int n, room;
    int of_ranks; /* how many ranks are in it */
};

/* report.c. Whoever runs out of memory ends the program. */
void report_init(struct report *report);
struct mpixq_facts *report_of(struct report *report, enum section section);
void report_variables(struct report *report);
/* What was told is all there is; or, collective over MPI_COMM_WORLD, rank 0 gets what all have. */
void report_alone(struct report *report);
void report_merge(struct report *report);
void report_free(struct report *report);

/* print.c. shown: sections, as bits. */
void print_text(const struct report *report, unsigned shown, bool all);
void print_json(const struct report *report, unsigned shown);

/* Each fills its section. */
void tell_build(struct mpixq_facts *facts);
/* And has the process use a GPU of each vendor: one for each rank of the node, in turn. */
void tell_gpus(struct mpixq_facts *facts, int node_rank);
void gpus_close(void);
/* Two buffers in memory of a GPU that is used; false: there is no (more) such vendor. */
bool gpu_buffers(int vendor, const char **name_p, void *buffers[2], size_t bytes);
/* Collective. False: no pair could be matched by any channel. */
bool tell_serves(struct mpixq_facts *facts);

/* info.c: what it is at, for whoever waits for it in vain. */
void now_at(const char *what);

#endif
