/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is pending in this process, for people. Under the matching lock. */
#include <stdio.h>

#include "core/channel.h"
#include "core/queue.h"
#include "core/request_name.h"
#include "dump.h"
#include "match/control.h"
#include "match/match_internal.h"
#include "util/backoff.h"
#include "util/log.h"
#include "watchdog.h"

enum { MAX_LINES = 64, MAX_GROUPS = 32, ROOM = MPIXQ_NAME_ROOM };

/* Calls that match, and queues with starts that are not reached: what is told of in one line. */
struct group {
    const void *key;
    struct mpixq_request *first;
    unsigned n;
};

struct groups {
    struct group of[MAX_GROUPS];
    int n;
};

struct dump {
    uint64_t now;
    struct groups matches, behind;
    unsigned n_requests, n_starts; /* not matched; pending */
    int n_lines, n_left_out;
};

static struct group *find_group(struct dump *dump, struct groups *groups, const void *key)
{
    for (int i = 0; i < groups->n; i++) {
        if (groups->of[i].key == key) {
            return &groups->of[i];
        }
    }
    if (groups->n == MAX_GROUPS) {
        dump->n_left_out++;
        return NULL;
    }
    groups->of[groups->n] = (struct group){.key = key};
    return &groups->of[groups->n++];
}

static bool has_line(struct dump *dump)
{
    dump->n_left_out += dump->n_lines == MAX_LINES;
    return dump->n_lines < MAX_LINES && ++dump->n_lines > 0;
}

static void note_match(struct dump *dump, struct mpixq_request *req)
{
    struct group *group = find_group(dump, &dump->matches, req->op);

    dump->n_requests++;
    if (group != NULL && (group->n++ == 0 || req->op_index < group->first->op_index)) {
        group->first = req;
    }
}

/* Who has started it, and who waits for it. */
static void say_where(const struct mpixq_request *req, struct mpixq_queue *queue, char text[ROOM])
{
    const char *waits = "";

    if (queue == NULL) {
        (void)snprintf(text, ROOM, "by the host%s",
                       atomic_load(&req->host_call) != 0 ? ", which waits for it" : "");
        return;
    }
    if (atomic_load_explicit(&queue->host_waits_for, memory_order_acquire) ==
        mpixq_pair_done_word(&req->pair)) {
        waits = ", for which the host waits";
    } else if (queue->stream->ops->waits_for(queue->stream) == &req->pair) {
        waits = ", whose stream waits for it";
    } else if (mpixq_request_state(req) != MPIXQ_WAITING) {
        waits = ", without a wait";
    }
    (void)snprintf(text, ROOM, "on queue %llu%s", (unsigned long long)queue->number, waits);
}

static void print_start(const struct mpixq_request *req, struct mpixq_queue *queue)
{
    char name[ROOM], where[ROOM];

    say_where(req, queue, where);
    mpixq_print("dump: start %llu of %s by channel %s, %s: %s",
                (unsigned long long)req->age.progress + 1, mpixq_request_name(req, name),
                req->pair.channel->name, where, mpixq_watchdog_what_is_missing(req));
}

static void note_start(struct dump *dump, struct mpixq_request *req)
{
    struct mpixq_queue *queue = atomic_load(&req->pair.queue);
    struct group *group;

    if (mpixq_watchdog_is_pending(req, queue)) {
        mpixq_match_poll(&req->pair);
    }
    if (!mpixq_watchdog_is_pending(req, queue)) {
        return;
    }
    dump->n_starts++;
    mpixq_watchdog_note(req, dump->now);
    if (queue == NULL || mpixq_pair_executed(&req->pair) > req->age.progress) {
        if (has_line(dump)) {
            print_start(req, queue);
        }
        return;
    }
    group = find_group(dump, &dump->behind, queue);
    if (group != NULL && group->n++ == 0) {
        group->first = req;
    }
}

/* The program knows of no parts. */
static void visit(struct mpixq_request *req, void *arg)
{
    if (req->is_part) {
        return;
    }
    if (mpixq_request_state(req) == MPIXQ_MATCHING) {
        note_match(arg, req);
    } else {
        note_start(arg, req);
    }
}

static void print_behind(const struct group *group)
{
    const struct mpixq_queue *queue = group->key;
    char name[ROOM];

    mpixq_print("dump: queue %llu has %u starts that its stream has not reached, the first %s",
                (unsigned long long)queue->number, group->n,
                mpixq_request_name(group->first, name));
}

static void print_match(const struct group *group)
{
    const struct mpixq_match_op *op = group->key;
    char name[ROOM], why[MPIXQ_WHY_ROOM];

    mpixq_print("dump: %s waits for %u of %d requests, the first %s: %s", op->call->name, group->n,
                op->n, mpixq_request_name(group->first, name),
                mpixq_watchdog_why_unmatched(group->first, why));
}

static void print_answers(void)
{
    int peer = mpixq_control_unanswered();

    if (peer >= 0) {
        mpixq_print("dump: the answer to a match of rank %d of MPI_COMM_WORLD waits until that "
                    "takes messages",
                    peer);
    }
}

static void print_groups(struct dump *dump, const struct groups *groups,
                         void (*print)(const struct group *group))
{
    for (int i = 0; i < groups->n; i++) {
        if (has_line(dump)) {
            print(&groups->of[i]);
        }
    }
}

void mpixq_dump_print(void)
{
    struct dump dump = {.now = mpixq_now_ns()};

    mpixq_match_each(visit, &dump);
    print_groups(&dump, &dump.behind, print_behind);
    print_groups(&dump, &dump.matches, print_match);
    print_answers();
    if (dump.n_left_out > 0) {
        mpixq_print("dump: and %d more", dump.n_left_out);
    }
    mpixq_print("dump: %u requests are being matched, %u have a start that is pending",
                dump.n_requests, dump.n_starts);
}
