/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_device_ends.h - how the two ends of a pair meet, in kernels of the program: what the
 * library's own kernels do for a start and for a wait, for one request and the threads of one unit.
 * Included by mpix_queue_device.h only; nothing in here is part of the interface.
 *
 * A message that fits goes to one of three slots of the receive, each word of which holds four
 * bytes of it and the number of the start: so the data tells that it has come. All others are moved
 * to the buffer by the end that comes second, which the state of the pair tells.
 *
 * Where the host moves the data a start only counts, and a wait waits for done; both words are in
 * memory of the host. If the buffer is in memory of the GPU that MPI does not take, the threads of
 * the unit copy between it and a staging buffer: before a start of a send, which goes from there,
 * and after a wait for a receive.
 */
#ifndef MPIX_QUEUE_DEVICE_ENDS_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ENDS_H_INCLUDED

enum {
    MPIXQ_DEV_SLOTS = 3,
    MPIXQ_DEV_RARELY = 32,
    /* Warps of a block look at the word of the host in turns, or these looks hold up the data. */
    MPIXQ_DEV_TURNS = MPIXQ_DEV_HOST ? 1 : 32,
    MPIXQ_DEV_SOON = 12, /* looks */
    /* looks at the word of the host for who may have died while moving data: a second of a GPU, or
     * less; of a thread of the host, which naps between them, ten */
    MPIXQ_DEV_LATE = MPIXQ_DEV_HOST ? 1 << 12 : 1 << 9
};
enum { MPIXQ_DEV_REST, MPIXQ_DEV_MOVE, MPIXQ_DEV_SLOT, MPIXQ_DEV_BY_HOST };
enum { MPIXQ_DEV_RECEIVE = 1, MPIXQ_DEV_SEND = 2, MPIXQ_DEV_BOTH = 3 };
#define MPIXQ_DEV_CLOSED ((mpixq_dev_word)1 << 62)
#define MPIXQ_DEV_BESIDE ((mpixq_dev_word)1 << 40) /* of a sum: participants above elements */
#define MPIXQ_DEV_WRONG ((mpixq_dev_word)1 << 60)  /* above these: one has failed, or more */

MPIXQ_DEV unsigned mpixq_dev_rank(MPIXQ_Device_scope scope)
{
    return scope == MPIXQ_DEVICE_THREAD ? 0
           : scope == MPIXQ_DEVICE_WARP ? mpixq_dev_rank_in_block() % MPIXQ_DEV_WARP
                                        : mpixq_dev_rank_in_block();
}

MPIXQ_DEV unsigned mpixq_dev_size(MPIXQ_Device_scope scope)
{
    return scope == MPIXQ_DEVICE_THREAD ? 1
           : scope == MPIXQ_DEVICE_WARP ? MPIXQ_DEV_WARP
                                        : mpixq_dev_block_size();
}

MPIXQ_DEV void mpixq_dev_meet(MPIXQ_Device_scope scope)
{
    if (scope == MPIXQ_DEVICE_WARP) {
        mpixq_dev_meet_warp();
    } else if (scope == MPIXQ_DEVICE_BLOCK) {
        mpixq_dev_meet_block();
    }
}

/* What the first thread of the unit says. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_tell(MPIXQ_Device_scope scope, mpixq_dev_word value)
{
#if !MPIXQ_DEV_HOST
    static __attribute__((shared)) mpixq_dev_word said;

    if (scope == MPIXQ_DEVICE_BLOCK) {
        if (mpixq_dev_rank_in_block() == 0) {
            said = value;
        }
        mpixq_dev_meet_block();
        value = said;
        mpixq_dev_meet_block();
        return value;
    }
#endif
    return scope == MPIXQ_DEVICE_WARP ? mpixq_dev_tell_warp(value) : value;
}

MPIXQ_DEV int mpixq_dev_any(MPIXQ_Device_scope scope, int flag)
{
    return scope == MPIXQ_DEVICE_THREAD ? flag
           : scope == MPIXQ_DEVICE_WARP ? mpixq_dev_any_of_warp(flag)
                                        : mpixq_dev_any_of_block(flag);
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_later(mpixq_dev_word a, mpixq_dev_word b)
{
    return a > b ? a : b;
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_next_start(const MPIXQ_Device_request *r)
{
    return mpixq_dev_later(mpixq_dev_peek(&r->own->started), r->floor) + 1;
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_next_wait(const MPIXQ_Device_request *r)
{
    return mpixq_dev_later(mpixq_dev_peek(&r->own->waited), r->floor) + 1;
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_units(const MPIXQ_Device_request *r)
{
    return (r->bytes + 3) / 4;
}

MPIXQ_DEV mpixq_dev_word *mpixq_dev_slot(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    return r->slots + value % MPIXQ_DEV_SLOTS * mpixq_dev_units(r);
}

/* What stands above the data in a word of a slot: never 0, which it has before its first use. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_flag(mpixq_dev_word value)
{
    return (value | (mpixq_dev_word)1 << 31) << 32;
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_state(mpixq_dev_word value, int who)
{
    return 4 * value + (mpixq_dev_word)who;
}

/* Who waits, until when, and how often it has looked. */
struct mpixq_dev_patience {
    mpixq_dev_word deadline;
    unsigned looks, late;
};

MPIXQ_DEV mpixq_dev_word mpixq_dev_deadline(mpixq_dev_word limit_ns)
{
    mpixq_dev_word now = limit_ns != MPIXQ_DEVICE_FOREVER ? mpixq_dev_clock() : 0;

    return limit_ns < ~now ? now + limit_ns : MPIXQ_DEVICE_FOREVER;
}

/* Take the start of this end back, unless the other end has come by now. */
MPIXQ_DEV int mpixq_dev_close(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    mpixq_dev_word mine = mpixq_dev_state(value, r->is_send ? MPIXQ_DEV_SEND : MPIXQ_DEV_RECEIVE);
    mpixq_dev_word before = mpixq_dev_load(r->state);

    while (before <= mine) {
        mpixq_dev_word seen = mpixq_dev_replace(r->state, before, MPIXQ_DEV_CLOSED);

        if (seen == before) {
            return 1;
        }
        before = seen;
    }
    return before == MPIXQ_DEV_CLOSED;
}

/* After a look that has found nothing: MPIXQ_DEVICE_SUCCESS, or why nobody looks again. */
MPIXQ_DEV int mpixq_dev_give_up(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                struct mpixq_dev_patience *patience)
{
    unsigned turn = mpixq_dev_rank_in_block() / MPIXQ_DEV_WARP % MPIXQ_DEV_TURNS;
    int is_late;

    mpixq_dev_pause();
    if (++patience->looks % MPIXQ_DEV_RARELY != 0) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    is_late = patience->deadline != MPIXQ_DEVICE_FOREVER && mpixq_dev_clock() >= patience->deadline;
    if (!is_late && patience->looks / MPIXQ_DEV_RARELY % MPIXQ_DEV_TURNS != turn) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    if (mpixq_dev_load(&r->own_told->halt) != 0 &&
        (r->state == 0 || mpixq_dev_close(r, value) || ++patience->late > MPIXQ_DEV_LATE)) {
        return MPIXQ_DEVICE_ERR_FAILED;
    }
    return is_late ? MPIXQ_DEVICE_ERR_TIMEOUT : MPIXQ_DEVICE_SUCCESS;
}

/* The number of the next start; or 0, and why it cannot be made. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_find_number(const MPIXQ_Device_request *r, int *error)
{
    mpixq_dev_word value = mpixq_dev_next_start(r), waited = mpixq_dev_next_wait(r);
    mpixq_dev_word closed = mpixq_dev_peek(&r->own->closed);

    *error = closed != 0       ? MPIXQ_DEVICE_ERR_FREED
             : waited != value ? MPIXQ_DEVICE_ERR_ACTIVE
                               : MPIXQ_DEVICE_SUCCESS;
    return *error == MPIXQ_DEVICE_SUCCESS ? value : 0;
}

/* Of a request to MPI_PROC_NULL there are no words: each start is complete at once. */
MPIXQ_DEV int mpixq_dev_is_null(const MPIXQ_Device_request *r)
{
    return r->own == 0;
}

/* The same, and the host is told why; it has the same numbers for that. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_number(const MPIXQ_Device_request *r, int *error)
{
    mpixq_dev_word value;

    if (mpixq_dev_is_null(r)) {
        *error = MPIXQ_DEVICE_ERR_ARG;
        return 0;
    }
    value = mpixq_dev_find_number(r, error);
    if (value == 0) {
        mpixq_dev_put(&r->own_told->fault, (mpixq_dev_word)*error);
    }
    return value;
}

/* The two ends of a pair meet. Come, or find the other end there: then it is for this one to move
 * the data. A later state: this start is in its slot. */
MPIXQ_DEV int mpixq_dev_arrive(mpixq_dev_word *state, mpixq_dev_word value, int who, int other,
                               mpixq_dev_word guess)
{
    mpixq_dev_word mine = mpixq_dev_state(value, who), theirs = mpixq_dev_state(value, other);
    mpixq_dev_word both = mpixq_dev_state(value, MPIXQ_DEV_BOTH);

    for (;;) {
        mpixq_dev_word before = mpixq_dev_replace(state, guess, guess == theirs ? both : mine);

        if (before == guess) {
            return guess == theirs;
        }
        if (before == MPIXQ_DEV_CLOSED) {
            return -1;
        }
        if (before >= mine && before != theirs) {
            return 0;
        }
        guess = before;
    }
}

/* What was in the slot has been copied; and the start before, of which the host may have heard
 * first, is known to be done, unless there was none. */
MPIXQ_DEV int mpixq_dev_is_credit(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                  mpixq_dev_word done, mpixq_dev_word posted)
{
    int is_first = r->is_early && value == r->floor + 1;
    int is_early = r->is_early && value - r->floor < MPIXQ_DEV_SLOTS;

    return (is_first || done + 1 >= value) && (is_early || posted + MPIXQ_DEV_SLOTS > value);
}

MPIXQ_DEV int mpixq_dev_has_credit(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    mpixq_dev_word done = mpixq_dev_peek(&r->own->done); /* both are on their way at once */
    mpixq_dev_word posted = mpixq_dev_peek(&r->own->posted);

    return mpixq_dev_is_credit(r, value, done, posted);
}

/* If both ends come at the same time, what says that the receiver has come is still on its way. So
 * look a few times; if it is there, it is for this end to move the data. */
MPIXQ_DEV int mpixq_dev_finds_receiver(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    mpixq_dev_word *state = r->state, receive = mpixq_dev_state(value, MPIXQ_DEV_RECEIVE);
    mpixq_dev_word found = mpixq_dev_peek(state);

    for (unsigned looks = 1; looks < MPIXQ_DEV_SOON && found < receive; looks++) {
        found = mpixq_dev_peek(state);
    }
    return found == receive &&
           mpixq_dev_replace(state, receive, mpixq_dev_state(value, MPIXQ_DEV_BOTH)) == receive;
}

MPIXQ_DEV int mpixq_dev_come_to_send(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    /* A ready send without slots has nothing to take back: it looks whether its receive was. */
    mpixq_dev_word *state = r->state != 0 ? r->state : &r->own->state;
    int asks = r->slots != 0, found;

    if (asks && mpixq_dev_has_credit(r, value)) {
        return MPIXQ_DEV_SLOT;
    }
    if (!asks && !r->is_ready && mpixq_dev_finds_receiver(r, value)) {
        return MPIXQ_DEV_MOVE;
    }
    mpixq_dev_fence(); /* the receiver may copy what it holds */
    found = mpixq_dev_arrive(state, value, MPIXQ_DEV_SEND, MPIXQ_DEV_RECEIVE,
                             asks ? mpixq_dev_state(value, MPIXQ_DEV_RECEIVE)
                                  : mpixq_dev_state(value - 1, MPIXQ_DEV_SEND));
    return (r->is_ready ? found >= 0 : found == 1) ? MPIXQ_DEV_MOVE : MPIXQ_DEV_REST;
}

MPIXQ_DEV int mpixq_dev_come_to_receive(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    int found;

    if (r->slots != 0) {
        mpixq_dev_put(&r->peer->posted, value);
    } else if (r->is_ready) {
        return MPIXQ_DEV_REST; /* such a start only counts */
    }
    found = mpixq_dev_arrive(
        r->state, value, MPIXQ_DEV_RECEIVE, MPIXQ_DEV_SEND,
        mpixq_dev_state(value - 1, r->slots != 0 ? MPIXQ_DEV_RECEIVE : MPIXQ_DEV_BOTH));
    if (found != 1 || r->is_ready) {
        return MPIXQ_DEV_REST;
    }
    mpixq_dev_fence();
    return MPIXQ_DEV_MOVE;
}

/* Both read the word of the receiver's: stores to memory of the host are slow. */
MPIXQ_DEV void mpixq_dev_tell_hosts(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    mpixq_dev_put(&r->told->done, value);
}

/* The data is in the buffer of the receive. Who may send the next message to a slot by then tells
 * the hosts by itself, which so must have heard of this one. */
MPIXQ_DEV void mpixq_dev_tell_both(const MPIXQ_Device_request *r, mpixq_dev_word value)
{
    int hosts_first = !r->is_send && r->slots != 0;

    if (hosts_first) {
        mpixq_dev_tell_hosts(r, value);
    }
    mpixq_dev_fence();
    mpixq_dev_put(&r->peer->done, value);
    mpixq_dev_put(&r->own->done, value);
    if (!hosts_first) {
        mpixq_dev_tell_hosts(r, value);
    }
}

/* The data of a word of a slot, of which the last may have fewer bytes than 4. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_get_unit(const char *from, mpixq_dev_word bytes,
                                            mpixq_dev_word unit)
{
    const unsigned char *at = (const unsigned char *)from + 4 * unit;
    mpixq_dev_word value = 0;

    for (unsigned i = 0; i < 4 && 4 * unit + i < bytes; i++) {
        value |= (mpixq_dev_word)at[i] << 8 * i;
    }
    return value;
}

MPIXQ_DEV void mpixq_dev_set_unit(char *to, mpixq_dev_word bytes, mpixq_dev_word unit,
                                  mpixq_dev_word value)
{
    for (unsigned i = 0; i < 4 && 4 * unit + i < bytes; i++) {
        to[4 * unit + i] = (char)(value >> 8 * i);
    }
}

/* Send a message to its slot. */
MPIXQ_DEV void mpixq_dev_put_units(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                   unsigned rank, unsigned size)
{
    mpixq_dev_word *slot = mpixq_dev_slot(r, value), flag = mpixq_dev_flag(value);
    const unsigned *from = (const unsigned *)(const void *)r->from;
    mpixq_dev_word whole = (mpixq_dev_word)r->from % 4 == 0 ? r->bytes / 4 : 0;

    for (mpixq_dev_word i = rank; i < whole; i += size) {
        mpixq_dev_put(&slot[i], flag | from[i]);
    }
    for (mpixq_dev_word i = whole + rank; i < mpixq_dev_units(r); i += size) {
        mpixq_dev_put(&slot[i], flag | mpixq_dev_get_unit(r->from, r->bytes, i));
    }
}

/* After a look at a slot, and at own->done at the same time, that has found nothing in the slot. 1:
 * look again; 0: the message comes to the buffer, where it is by now, or *error says why nobody
 * waits. */
MPIXQ_DEV int mpixq_dev_goes_on(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                mpixq_dev_word done, struct mpixq_dev_patience *patience,
                                int *error)
{
    if (done >= value) {
        (void)mpixq_dev_load(&r->own->done);
        return 0;
    }
    *error = mpixq_dev_give_up(r, value, patience);
    return *error == MPIXQ_DEVICE_SUCCESS;
}

/* Wait for a word of a slot. 0: it does not come there, as above. */
MPIXQ_DEV int mpixq_dev_await_unit(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                   const mpixq_dev_word *word, mpixq_dev_word *found,
                                   struct mpixq_dev_patience *patience, int *error)
{
    mpixq_dev_word flag = mpixq_dev_flag(value), done;

    do {
        *found = mpixq_dev_peek(word);
        done = mpixq_dev_peek(&r->own->done);
        if ((*found ^ flag) >> 32 == 0) {
            return 1;
        }
    } while (mpixq_dev_goes_on(r, value, done, patience, error));
    return 0;
}

/* The same of two words side by side, each with its half of 8 bytes. */
MPIXQ_DEV int mpixq_dev_await_two(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                  const mpixq_dev_word *words, mpixq_dev_word *found,
                                  struct mpixq_dev_patience *patience, int *error)
{
    mpixq_dev_word flag = mpixq_dev_flag(value), low, high, done;

    do {
        mpixq_dev_peek_two(words, &low, &high);
        done = mpixq_dev_peek(&r->own->done);
        if (((low ^ flag) | (high ^ flag)) >> 32 == 0) {
            *found = high << 32 | (low & 0xffffffffu);
            return 1;
        }
    } while (mpixq_dev_goes_on(r, value, done, patience, error));
    return 0;
}

/* Copy a message from its slot as it comes there; the share of one thread. */
MPIXQ_DEV int mpixq_dev_take_units(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                   unsigned rank, unsigned size, mpixq_dev_word limit_ns)
{
    struct mpixq_dev_patience patience = {mpixq_dev_deadline(limit_ns), 0, 0};
    const mpixq_dev_word *slot = mpixq_dev_slot(r, value);
    mpixq_dev_word whole = (mpixq_dev_word)r->to % 4 == 0 ? r->bytes / 4 : 0, found;
    unsigned *to = (unsigned *)(void *)r->to;
    int error = MPIXQ_DEVICE_SUCCESS;

    for (mpixq_dev_word i = rank; i < mpixq_dev_units(r); i += size) {
        if (!mpixq_dev_await_unit(r, value, &slot[i], &found, &patience, &error)) {
            break;
        }
        if (i < whole) {
            to[i] = (unsigned)found;
        } else {
            mpixq_dev_set_unit(r->to, r->bytes, i, found);
        }
    }
    return error;
}

MPIXQ_DEV int mpixq_dev_await_done(const MPIXQ_Device_request *r, mpixq_dev_word value,
                                   mpixq_dev_word limit_ns)
{
    struct mpixq_dev_patience patience = {mpixq_dev_deadline(limit_ns), 0, 0};
    int error = MPIXQ_DEVICE_SUCCESS;

    while (error == MPIXQ_DEVICE_SUCCESS && mpixq_dev_load(&r->own->done) < value) {
        error = mpixq_dev_give_up(r, value, &patience);
    }
    return error;
}

/* Are all words of the slot there; the share of one thread. */
MPIXQ_DEV int mpixq_dev_are_here(const MPIXQ_Device_request *r, mpixq_dev_word value, unsigned rank,
                                 unsigned size)
{
    const mpixq_dev_word *slot = mpixq_dev_slot(r, value);
    mpixq_dev_word flag = mpixq_dev_flag(value);

    for (mpixq_dev_word i = rank; i < mpixq_dev_units(r); i += size) {
        if ((mpixq_dev_peek(&slot[i]) ^ flag) >> 32 != 0) {
            return 0;
        }
    }
    return 1;
}

/* Has the request a staging buffer, and is it for this direction? */
MPIXQ_DEV int mpixq_dev_is_staged(const MPIXQ_Device_request *r, unsigned is_send)
{
    return r->is_host && r->is_send == is_send && r->to != 0;
}

/* By one thread: may the receive be copied out of its staging buffer? The buffer may be gone. */
MPIXQ_DEV int mpixq_dev_check_open(const MPIXQ_Device_request *r)
{
    return mpixq_dev_is_staged(r, 0) && mpixq_dev_peek(&r->own->closed) != 0
               ? MPIXQ_DEVICE_ERR_FREED
               : MPIXQ_DEVICE_SUCCESS;
}

/* What a call of several threads returns, of what each of them has found. */
MPIXQ_DEV int mpixq_dev_agree(MPIXQ_Device_scope scope, int error)
{
    if (!mpixq_dev_any(scope, error != MPIXQ_DEVICE_SUCCESS)) {
        return MPIXQ_DEVICE_SUCCESS;
    }
    for (int known = MPIXQ_DEVICE_ERR_ACTIVE; known < MPIXQ_DEVICE_ERR_COUNT; known++) {
        if (mpixq_dev_any(scope, error == known)) {
            return known;
        }
    }
    return MPIXQ_DEVICE_ERR_COUNT;
}

/* By the first thread: come to the next start. Four times its number and what is to be done; or an
 * error, which is less than 4. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_come(const MPIXQ_Device_request *r)
{
    int error, todo;
    mpixq_dev_word value = mpixq_dev_number(r, &error);

    if (value == 0) {
        return (mpixq_dev_word)error;
    }
    if (r->is_host) {
        todo = MPIXQ_DEV_BY_HOST;
    } else {
        todo = r->is_send ? mpixq_dev_come_to_send(r, value) : mpixq_dev_come_to_receive(r, value);
    }
    return 4 * value + (mpixq_dev_word)todo;
}

/* By the first thread: the start is made. Who moves the data for it sees what is sent. */
MPIXQ_DEV void mpixq_dev_conclude(const MPIXQ_Device_request *r, mpixq_dev_word value, int todo)
{
    if (todo == MPIXQ_DEV_BY_HOST) {
        mpixq_dev_fence();
        if (r->bell != 0) {
            mpixq_dev_put(r->bell, 1);
        }
    }
    mpixq_dev_put(&r->own->started, value);
    if (todo == MPIXQ_DEV_SLOT) { /* which is done, by which the host knows that it was started */
        mpixq_dev_put(&r->own->done, value);
        mpixq_dev_tell_hosts(r, value);
        return;
    }
    mpixq_dev_put(&r->own_told->started, value);
    if (todo == MPIXQ_DEV_MOVE) {
        mpixq_dev_tell_both(r, value);
    }
}

/* May the warps of the block share the requests of an array among them? */
MPIXQ_DEV int mpixq_dev_are_for_warps(const MPIXQ_Device_request *r, int count,
                                      MPIXQ_Device_scope scope)
{
    int are = scope == MPIXQ_DEVICE_BLOCK && count > 1 &&
              mpixq_dev_block_size() % MPIXQ_DEV_WARP == 0 && !MPIXQ_DEV_HOST;

    for (int i = 0; are && i < count; i++) {
        are = r[i].slots != 0 || (r[i].is_host && r[i].bytes <= MPIXQ_DEVICE_THREAD_BYTES);
    }
    return are;
}

#endif /* MPIX_QUEUE_DEVICE_ENDS_H_INCLUDED */
