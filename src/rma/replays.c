/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "replays.h"

#include <string.h>

#include "core/graphs.h"
#include "put.h"
#include "queue/queues.h"
#include "replay_words.h"
#include "rma.h"
#include "rounds.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/progress.h"
#include "waiters.h"
#include "watch.h"
#include "window.h"

enum what { PUTS, WAIT, RESET, WAIT_RESET };

/* HELD by a graph, until that is GONE. CLOSED: MPI_Finalize has let go of it before. */
enum state { HELD, GONE, CLOSED };

struct mpixq_rma_replay {
    enum what what;
    struct mpixq_window *window;
    struct mpixq_signal *signal; /* NULL: of puts */
    struct mpixq_queue *queue;   /* which fails if it does, while it has this number */
    uint64_t queue_number;
    struct mpixq_replay_words words;
    atomic_int state;
    /* Of who drives. */
    uint64_t found, made; /* how often streams have come to it, and how often it was made */
    bool has_failed;      /* its queue */
    bool is_reported;     /* that a kernel could not announce it */
    bool is_waiting;      /* for this round of the signal */
    uint64_t round;
    struct mpixq_rma_replay *next;
    struct mpixq_rma_rounds rounds; /* of puts */
    bool is_rung;                   /* GPUs ring for it */
    int n;
    struct mpixq_transfer transfers[];
};

/* ---- The life of one ---- */

static void count_graphs(const struct mpixq_rma_replay *replay, long n)
{
    atomic_fetch_add(&replay->window->graphs, n);
    if (replay->signal != NULL) {
        atomic_fetch_add(&replay->signal->graphs, n);
    }
}

/* No graph has it, and what it has announced was made. */
static void replay_free(struct mpixq_rma_replay *replay)
{
    mpixq_replay_words_return(&replay->words);
    count_graphs(replay, -1);
    mpixq_free(replay);
}

/* It may outlive MPI. */
static void graph_is_gone(void *arg)
{
    struct mpixq_rma_replay *replay = arg;

    if (atomic_exchange(&replay->state, GONE) == CLOSED) {
        mpixq_free(replay);
    }
}

static void add(struct mpixq_rma_replay *replay)
{
    struct mpixq_rma_replays *all = &replay->window->replays;

    replay->next = atomic_load(&all->added);
    while (!atomic_compare_exchange_weak(&all->added, &replay->next, replay)) {
    }
}

/* The GPU counts no launch from here on, and rings for none. */
static void stop(struct mpixq_rma_ahead *ahead)
{
    struct mpixq_rma_replay *replay =
        (struct mpixq_rma_replay *)((char *)ahead -
                                    offsetof(struct mpixq_rma_replay, rounds.ahead));

    mpixq_replay_words_close(&replay->words);
}

static struct mpixq_rma_replay *replay_new(enum what what, struct mpixq_queue *queue,
                                           struct mpixq_window *window,
                                           const struct mpixq_transfer transfers[], int n)
{
    struct mpixq_rma_replay *replay = /* freed in replay_free or graph_is_gone */
        mpixq_alloc(sizeof *replay + (size_t)n * sizeof transfers[0]);

    if (replay == NULL) {
        return NULL;
    }
    replay->what = what;
    replay->queue = queue;
    replay->queue_number = queue->number;
    replay->window = window;
    replay->n = n;
    if (n > 0) {
        memcpy(replay->transfers, transfers, (size_t)n * sizeof transfers[0]);
        mpixq_rma_rounds_open(&replay->rounds, window, replay->transfers, n, queue->stream, stop);
    }
    return replay;
}

/* ---- Captures ---- */

/* Words, and that the graph has it. Under the submission lock. */
static int hold(struct mpixq_queue *queue, struct mpixq_rma_replay *replay,
                struct mpixq_gpu_end ends[])
{
    char *bell_at[MPIXQ_NIC_BELLS];
    int n = mpixq_rma_rounds_bells(&replay->rounds, queue->stream, bell_at), rc;

    if (!mpixq_replay_words_take(&replay->words, queue, bell_at, n, ends)) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    replay->is_rung = n > 0;
    count_graphs(replay, 1);
    rc = queue->stream->ops->graphs->keep(queue->stream, graph_is_gone, replay, &queue->submission);
    if (rc != MPI_SUCCESS) {
        count_graphs(replay, -1);
        mpixq_replay_words_return(&replay->words);
    }
    return rc;
}

static void undo(struct mpixq_rma_replay *replay)
{
    mpixq_rma_rounds_undo(&replay->rounds);
    mpixq_free(replay);
}

/* From where on it is in the list, a call that fails leaves something in the graph, if at all, of
 * which nobody is told. */
static int capture(struct mpixq_queue *queue, struct mpixq_rma_replay *replay)
{
    struct mpixq_gpu_end ends[MPIXQ_NIC_BELLS];
    uint64_t id = 0;
    int rc;

    if (replay == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    rc = queue->stream->ops->graphs->capture(queue->stream, &id);
    if (rc != MPI_SUCCESS) {
        undo(replay);
        return rc;
    }
    mpixq_submission_lock(&queue->submission);
    queue->capture = id;
    rc = mpixq_graphs_hold(queue, id, NULL, 0);
    rc = rc ? rc : hold(queue, replay, ends);
    if (rc != MPI_SUCCESS) {
        mpixq_submission_unlock(&queue->submission);
        undo(replay);
        return rc;
    }
    add(replay);
    /* The kernel of a put that was announced may find it announced again, by the next launch,
     * before it was made, so it waits first. */
    rc = mpixq_replay_words_put_in(&replay->words, queue, ends, replay, replay->what == PUTS);
    mpixq_submission_unlock(&queue->submission);
    mpixq_progress_wake(); /* who drives */
    return rc;
}

int mpixq_rma_capture_puts(struct mpixq_queue *queue, struct mpixq_window *window,
                           const struct mpixq_transfer transfers[], int n)
{
    return capture(queue, replay_new(PUTS, queue, window, transfers, n));
}

static int capture_one(enum what what, struct mpixq_queue *queue, struct mpixq_signal *signal)
{
    struct mpixq_rma_replay *replay = replay_new(what, queue, signal->window, NULL, 0);

    if (replay != NULL) {
        replay->signal = signal;
        atomic_store(&signal->had_graphs, true);
    }
    return capture(queue, replay);
}

int mpixq_rma_capture_wait(struct mpixq_queue *queue, struct mpixq_signal *signal)
{
    return capture_one(WAIT, queue, signal);
}

int mpixq_rma_capture_reset(struct mpixq_queue *queue, struct mpixq_signal *signal)
{
    return capture_one(RESET, queue, signal);
}

int mpixq_rma_capture_wait_reset(struct mpixq_queue *queue, struct mpixq_signal *signal)
{
    return capture_one(WAIT_RESET, queue, signal);
}

/* ---- Driving ---- */

static uint64_t announced(const struct mpixq_rma_replay *replay)
{
    return mpixq_replay_words_announced(&replay->words);
}

/* Once its queue has failed nothing is made any more, also when that was freed; so this is to be
 * asked now and then. */
static bool has_failed(struct mpixq_rma_replay *replay)
{
    replay->has_failed = replay->has_failed || (mpixq_queue_has_failed(replay->queue) &&
                                                replay->queue->number == replay->queue_number);
    return replay->has_failed;
}

/* A wait begins: for the round that is under way. All resets that its stream has passed were made.
 */
static void begin_wait(struct mpixq_rma_replay *replay)
{
    if (!replay->is_waiting) {
        replay->is_waiting = true;
        replay->round = atomic_load(&replay->signal->rounds);
        atomic_fetch_add_explicit(&replay->signal->waits, 1, memory_order_relaxed);
    }
}

/* Is it over? *rc_p: an MPI code, and then it is over. */
static bool look_at_wait(struct mpixq_rma_replay *replay, int *rc_p)
{
    bool complete;

    begin_wait(replay);
    *rc_p = mpixq_rma_signal_look(replay->signal, &complete);
    if (atomic_load(&replay->signal->fired) >= replay->round) {
        *rc_p = MPI_SUCCESS; /* what is wrong is of a later round */
        return true;
    }
    mpixq_rma_watch_signal(replay->signal, replay->queue);
    return *rc_p != MPI_SUCCESS;
}

/* Likewise. */
static bool make_about_signal(struct mpixq_rma_replay *replay, int *rc_p)
{
    bool is_over = replay->what == RESET || look_at_wait(replay, rc_p);

    if (is_over && *rc_p == MPI_SUCCESS && replay->what != WAIT) {
        *rc_p = mpixq_rma_signal_set(replay->signal, false);
    }
    return is_over;
}

/* No NIC was rung for. */
static int make_puts(struct mpixq_rma_replay *replay)
{
    int rc = atomic_load(&replay->window->failed);
    uint64_t puts = 0;

    rc = rc ? rc : mpixq_rma_start(replay->transfers, replay->n, MPIXQ_CALL_QUEUED);
    for (int i = 0; rc == MPI_SUCCESS && i < replay->n; i++) {
        puts += replay->transfers[i].window != NULL;
    }
    mpixq_rma_count_of_graph(replay->window, puts);
    return rc;
}

/* Is it over? */
static bool make(struct mpixq_rma_replay *replay, bool is_dropped, int *rc_p)
{
    *rc_p = MPI_SUCCESS;
    if (is_dropped) {
        return true;
    }
    if (replay->what != PUTS) {
        return make_about_signal(replay, rc_p);
    }
    if (!mpixq_rma_rounds_came(&replay->rounds)) {
        *rc_p = make_puts(replay);
    }
    return true;
}

/* Nothing that stands behind rings. */
static void fail(struct mpixq_rma_replay *failed, int code)
{
    mpixq_rma_fail_queue(failed->queue, failed->queue_number, code);
    for (struct mpixq_rma_replay *replay = failed->window->replays.first; replay != NULL;
         replay = replay->next) {
        if (replay->is_rung && has_failed(replay)) {
            stop(&replay->rounds.ahead);
        }
    }
}

/* The queue has failed before the stream goes on, so who has waited for that finds it failed.
 * Returns whether something was made. */
static bool go_on(struct mpixq_rma_replay *replay)
{
    uint64_t before = replay->made;
    int rc;

    while (replay->made < replay->found && make(replay, has_failed(replay), &rc)) {
        if (rc != MPI_SUCCESS) {
            fail(replay, rc);
        }
        replay->is_waiting = false;
        mpixq_replay_words_done(&replay->words, ++replay->made);
        atomic_store_explicit(&mpixq_progress.hurries, true, memory_order_relaxed);
    }
    return replay->made != before;
}

/* What was captured meanwhile comes last, in this order. */
static void take_added(struct mpixq_rma_replays *all)
{
    struct mpixq_rma_replay *added = atomic_exchange(&all->added, NULL), *turned = NULL;
    struct mpixq_rma_replay **end = &all->first;

    while (added != NULL) {
        struct mpixq_rma_replay *next = added->next;

        added->next = turned;
        turned = added;
        added = next;
    }
    if (turned != NULL) {
        while (*end != NULL) {
            end = &(*end)->next;
        }
        *end = turned;
    }
}

/* A kernel has found it announced by another launch, and not followed; so this one is lost. */
static void look_for_fault(struct mpixq_rma_replay *replay)
{
    int failed = atomic_load(&replay->window->failed); /* and so it was stopped */

    if (!replay->is_reported && mpixq_replay_words_fault(&replay->words)) {
        replay->is_reported = true;
        mpixq_rma_fail_queue(replay->queue, replay->queue_number,
                             failed ? failed : mpixq_error_code(MPIXQ_E_WINDOW_TWICE));
    }
}

/* Only what has been made is followed by another launch. */
static void look_ahead(struct mpixq_rma_replay *replay)
{
    if (replay->is_rung && has_failed(replay)) {
        stop(&replay->rounds.ahead);
        mpixq_rma_rounds_stop(&replay->rounds);
    } else if (replay->made == replay->found && atomic_load(&replay->state) == HELD) {
        mpixq_rma_rounds_next(&replay->rounds, replay->made + 1);
    }
}

/* A reset of which is known comes after all puts that its stream has announced before it. Returns
 * whether something was made. */
static bool go_through(struct mpixq_rma_replays *all)
{
    struct mpixq_rma_replay *replay;
    bool any = false;

    for (replay = all->first; replay != NULL; replay = replay->next) {
        look_for_fault(replay);
        (void)has_failed(replay);
        if (replay->what != PUTS) {
            replay->found = announced(replay);
        }
    }
    for (replay = all->first; replay != NULL; replay = replay->next) {
        if (replay->what == PUTS) {
            replay->found = announced(replay);
            any = go_on(replay) || any;
            look_ahead(replay);
        }
    }
    for (replay = all->first; replay != NULL; replay = replay->next) {
        if (replay->what != PUTS) {
            any = go_on(replay) || any;
        }
    }
    return any;
}

/* What was made lets streams go on, to what is to be made next, more often than not. */
static void go_through_all(struct mpixq_rma_replays *all)
{
    const uint64_t soon_ns = 20000, most_ns = 200000;
    uint64_t begin = 0, last = 0, now;

    do {
        bool any = go_through(all);

        if (begin == 0 && (!any || mpixq_backoff_yields())) {
            return;
        }
        now = mpixq_now_ns();
        begin = begin == 0 ? now : begin;
        last = any ? now : last;
    } while (now - last < soon_ns && now - begin < most_ns);
}

static void free_gone(struct mpixq_rma_replays *all)
{
    struct mpixq_rma_replay **link = &all->first;

    while (*link != NULL) {
        struct mpixq_rma_replay *replay = *link;

        if (atomic_load(&replay->state) == GONE && announced(replay) == replay->made &&
            mpixq_rma_rounds_end(&replay->rounds, replay->made)) {
            *link = replay->next;
            replay_free(replay);
        } else {
            link = &replay->next;
        }
    }
}

static bool take_drive(struct mpixq_rma_replays *all, bool insists)
{
    struct mpixq_backoff backoff;

    if (!atomic_exchange(&all->is_driven, true)) {
        return true;
    }
    if (!insists) {
        return false;
    }
    mpixq_backoff_begin(&backoff);
    while (atomic_exchange(&all->is_driven, true)) {
        mpixq_backoff_pause(&backoff);
    }
    return true;
}

void mpixq_rma_replays_drive(struct mpixq_window *window, bool insists)
{
    struct mpixq_rma_replays *all = &window->replays;

    if (atomic_load(&window->graphs) == 0 || window->mapped != NULL || !take_drive(all, insists)) {
        return;
    }
    take_added(all);
    go_through_all(all);
    free_gone(all);
    atomic_store(&all->is_driven, false);
}

bool mpixq_rma_replays_any(struct mpixq_window *window)
{
    struct mpixq_rma_replays *all = &window->replays;
    const struct mpixq_rma_replay *replay;

    if (atomic_load(&window->graphs) == 0 || window->mapped != NULL) {
        return false;
    }
    if (!take_drive(all, false)) {
        return true;
    }
    take_added(all);
    replay = all->first;
    while (replay != NULL && announced(replay) == replay->made) {
        replay = replay->next;
    }
    atomic_store(&all->is_driven, false);
    return replay != NULL;
}

/* A kernel may have found it open a moment ago, and announce it yet: its wait is halted. */
void mpixq_rma_replays_close(struct mpixq_window *window)
{
    struct mpixq_rma_replays *all = &window->replays;
    struct mpixq_rma_replay *replay, *next;

    take_added(all);
    for (replay = all->first; replay != NULL; replay = next) {
        next = replay->next;
        mpixq_replay_words_close(&replay->words);
        mpixq_replay_words_halt(&replay->words);
        count_graphs(replay, -1);
        mpixq_rma_rounds_close(&replay->rounds);
        if (atomic_exchange(&replay->state, CLOSED) == GONE) {
            mpixq_free(replay);
        }
    }
    all->first = NULL;
}
