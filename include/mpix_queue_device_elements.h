/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_device_elements.h - starts element by element, in kernels of the program: how their
 * participants begin and end them. Included by mpix_queue_device.h only; nothing in here is part of
 * the interface.
 */
#ifndef MPIX_QUEUE_DEVICE_ELEMENTS_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ELEMENTS_H_INCLUDED

/* Each thread finds the number by itself: none changes it before all have ended. */
MPIXQ_DEV void mpixq_dev_begin(MPIXQ_Device_access *access, const MPIXQ_Device_request *r,
                               unsigned participants, mpixq_dev_word limit_ns)
{
    access->request = r;
    access->slot = 0;
    access->deadline = mpixq_dev_deadline(limit_ns);
    access->participants = participants;
    access->count = 0;
    access->is_direct = 0;
    access->is_wide = r->bytes % 8 == 0; /* then slots begin at multiples of 16 bytes */
    access->error = MPIXQ_DEVICE_SUCCESS;
    access->value = mpixq_dev_number(r, &access->error);
    if (participants == 0) {
        access->error = MPIXQ_DEVICE_ERR_ARG;
    }
}

/* The host hears of a start whose end has to wait, so that it can tell if that is in vain: once, by
 * the first thread of the unit, as this goes to memory of the host. */
MPIXQ_DEV void mpixq_dev_tell_wait(const MPIXQ_Device_access *access, unsigned rank,
                                   const struct mpixq_dev_patience *patience)
{
    if (rank == 0 && patience->looks == 0) {
        mpixq_dev_put(&access->request->own_told->started, access->value);
    }
}

MPIXQ_DEV int mpixq_dev_await_credit(const MPIXQ_Device_access *access, unsigned rank)
{
    const MPIXQ_Device_request *r = access->request;
    struct mpixq_dev_patience patience = {access->deadline, 0, 0};
    int error = MPIXQ_DEVICE_SUCCESS;

    while (error == MPIXQ_DEVICE_SUCCESS && !mpixq_dev_has_credit(r, access->value)) {
        mpixq_dev_tell_wait(access, rank, &patience);
        error = mpixq_dev_give_up(r, access->value, &patience);
    }
    return error;
}

/* By the first thread of a participant of several, as each store to another place takes long: the
 * first of them to come tells that. 0: the other end may have come before all of them. */
MPIXQ_DEV int mpixq_dev_open_ahead(const MPIXQ_Device_access *access)
{
    const MPIXQ_Device_request *r = access->request;
    mpixq_dev_word mine = mpixq_dev_state(access->value, MPIXQ_DEV_RECEIVE);
    mpixq_dev_word alone = mpixq_dev_state(access->value - 1, MPIXQ_DEV_RECEIVE);
    mpixq_dev_word before = mpixq_dev_replace(r->state, alone, mine);

    if (before == alone) {
        mpixq_dev_put(&r->peer->posted, access->value);
        mpixq_dev_put(&r->own_told->started, access->value);
    }
    return before == alone || before == mine;
}

/* By the first thread of each participant: one of them finds the sender there, if it is, and for
 * the others it is as if they had come alone. */
MPIXQ_DEV void mpixq_dev_open_receive(const MPIXQ_Device_access *access)
{
    const MPIXQ_Device_request *r = access->request;

    if (access->participants > 1 && mpixq_dev_open_ahead(access)) {
        return;
    }
    mpixq_dev_put(&r->own_told->started, access->value);
    if (mpixq_dev_come_to_receive(r, access->value) == MPIXQ_DEV_MOVE) {
        mpixq_dev_copy(r->to, r->from, r->bytes, 0, 1);
        mpixq_dev_tell_both(r, access->value);
    }
}

/* Wait for the receive, and be the one to move its data: from then on it cannot be taken back. */
MPIXQ_DEV int mpixq_dev_await_receive(const MPIXQ_Device_access *access)
{
    const MPIXQ_Device_request *r = access->request;
    struct mpixq_dev_patience patience = {access->deadline, 0, 0};
    mpixq_dev_word *state = r->state;
    mpixq_dev_word both = mpixq_dev_state(access->value, MPIXQ_DEV_BOTH);
    mpixq_dev_word receive = mpixq_dev_state(access->value, MPIXQ_DEV_RECEIVE);
    int error = MPIXQ_DEVICE_SUCCESS;

    while (error == MPIXQ_DEVICE_SUCCESS) {
        mpixq_dev_word before = mpixq_dev_replace(state, receive, both);

        if (before == receive || before == both) {
            mpixq_dev_fence();
            return MPIXQ_DEVICE_SUCCESS;
        }
        mpixq_dev_tell_wait(access, 0, &patience);
        error = before == MPIXQ_DEV_CLOSED ? MPIXQ_DEVICE_ERR_FAILED
                                           : mpixq_dev_give_up(r, access->value, &patience);
    }
    return error;
}

/* The sum over all threads of the unit, to the first of them. */
MPIXQ_DEV unsigned mpixq_dev_sum(MPIXQ_Device_scope scope, unsigned count)
{
#if !MPIXQ_DEV_HOST
    static __attribute__((shared)) unsigned sums;

    if (scope == MPIXQ_DEVICE_WARP) {
        for (unsigned lane = MPIXQ_DEV_WARP / 2; lane > 0; lane /= 2) {
            count += mpixq_dev_from_lane(count, lane);
        }
    } else if (scope == MPIXQ_DEVICE_BLOCK) {
        if (mpixq_dev_rank_in_block() == 0) {
            sums = 0;
        }
        mpixq_dev_meet_block();
        if (count != 0) {
            mpixq_dev_add_shared(&sums, count);
        }
        mpixq_dev_meet_block();
        count = *(volatile unsigned *)&sums;
    }
#endif
    (void)scope;
    return count;
}

/* Of a receive the host has heard when it was begun. */
MPIXQ_DEV void mpixq_dev_complete(const MPIXQ_Device_access *access)
{
    const MPIXQ_Device_request *r = access->request;

    if (r->is_send) {
        mpixq_dev_conclude(r, access->value, access->is_direct ? MPIXQ_DEV_MOVE : MPIXQ_DEV_SLOT);
    } else {
        mpixq_dev_put(&r->own->started, access->value);
    }
}

/* By the first thread of a unit that has put so many elements. Participants are counted above
 * these, and a bit above them says whether one has failed. There is nothing to release, and so to
 * wait for: words of slots tell of themselves, what was read here or there was used by now, and who
 * has stored into the buffer of the peer has a fence of its own, as has who tells of that. */
MPIXQ_DEV int mpixq_dev_end(const MPIXQ_Device_access *access, mpixq_dev_word total, int error)
{
    const MPIXQ_Device_request *r = access->request;
    mpixq_dev_word failed = error != MPIXQ_DEVICE_SUCCESS ? MPIXQ_DEV_WRONG : 0, all;

    if (access->participants > 1) {
        if (access->is_direct) {
            mpixq_dev_fence();
        }
        all = mpixq_dev_count_here(&r->own->gone, MPIXQ_DEV_BESIDE + total, failed);
        if (all / MPIXQ_DEV_BESIDE % (MPIXQ_DEV_WRONG / MPIXQ_DEV_BESIDE) < access->participants) {
            return MPIXQ_DEVICE_SUCCESS;
        }
        mpixq_dev_put(&r->own->gone, 0);
        failed = all / MPIXQ_DEV_WRONG;
        total = all % MPIXQ_DEV_BESIDE;
    }
    if (failed != 0) {
        return MPIXQ_DEVICE_SUCCESS; /* who has failed knows */
    }
    if (r->is_send && !access->is_direct && total != mpixq_dev_units(r)) {
        return MPIXQ_DEVICE_ERR_COUNT;
    }
    mpixq_dev_complete(access);
    /* Who begins the next start, whose participants are counted from 0 on, does so behind this. */
    mpixq_dev_put(&r->own->waited, access->value);
    return MPIXQ_DEVICE_SUCCESS;
}

#endif /* MPIX_QUEUE_DEVICE_ELEMENTS_H_INCLUDED */
