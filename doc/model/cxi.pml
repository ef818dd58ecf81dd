/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The protocol of doc/cxi.md. Two processes, 0 and 1; pair p is a standard send of process p to the
 * other one. Every process enqueues, for each round, the starts of its send and its receive and
 * then their waits. Each process has no entries, or those of one or two sends; a start takes one
 * for each of its operations. With PARTLY it may get only the first of them, because the NIC is
 * busy, and the host may post what is left of a start that it has taken over.
 *
 * Names: T, W, D, Q and the words are those of doc/cxi.md; an index is the pair, except for Q,
 * which belongs to the process. Rounds count from 1.
 *
 * LATE_DATA: data comes some time after the count of the region. DELIVERED: the sender tells, after
 * the answer that says that data is in place; then W and D count the telling too. COUNTED_FAILURES:
 * W counts a write that has failed, and D a clear-to-send. OWN: W counts the end of the atomic to
 * the sender's word as well, and D that of the clear-to-send and of the atomic to the receiver's,
 * each some time after it was executed.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_HELD      what was not armed is not taken over
 *   BREAK_ORDER     starts are armed in order or not at all, and never taken over while room may
 * come
 *   BREAK_RING      a start that is not armed is not rung
 *   BREAK_ODD       the threshold of a write is one too low
 *   BREAK_RELATIVE  thresholds are relative to what a counter has when the entry is posted
 *   BREAK_TWICE     a start that was armed is taken over as well
 *   BREAK_HALF      a start that was armed in part is taken over as a whole
 *   BREAK_NUMBER    rings of Q are numbered when starts are armed, not when they are enqueued
 *   BREAK_CTS       a clear-to-send may arrive twice
 *   BREAK_TELL      a failure is not told to the peer
 *   BREAK_TOLD      with DELIVERED, the receiver's word waits for the telling alone
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif

/* With ONE_PAIR only process 0 sends, which leaves room for more rounds. */
#ifdef ONE_PAIR
#define HAS_PAIR(p) ((p) == 0)
#else
#define HAS_PAIR(p) true
#endif

/* Arrays by pair and round. */
#define SLOTS (2 * ROUNDS)
#define AT(p, k) (ROUNDS * (p) + (k) - 1)

/* How many operations a start has, of which so many are posted, and when each is due: with
 * DELIVERED the send tells, between the other two. */
#define RECEIVE_OPS 2
#define POSTED_RECEIVE(p, k) (post_cts[AT(p, k)] + post_data[AT(p, k)])
#ifdef DELIVERED
#define SEND_OPS 3
#define POSTED_SEND(p, k) (post_write[AT(p, k)] + post_tell[AT(p, k)] + post_done[AT(p, k)])
#define COUNTED 2
#define TELL_AT(k) (DONE_AT(k) - 1)
#else
#define COUNTED 1
#define SEND_OPS 2
#define POSTED_SEND(p, k) (post_write[AT(p, k)] + post_done[AT(p, k)])
#endif
#ifdef OWN
#define DONE_AT(k) ((COUNTED + 1) * (k) - 1)
#define DATA_AT(k) ((COUNTED + 2) * (k) - 1)
#define OWE(counter, p) owe_##counter[p]++;
byte owe_W[2], owe_D[2];
#else
#define DONE_AT(k) (COUNTED * (k))
#define DATA_AT(k) (COUNTED * (k))
#define OWE(counter, p)
#endif
#ifdef BREAK_TOLD
#define DATA_IS(p, k) (did_tell[AT(p, k)])
#else
#define DATA_IS(p, k) (D[p] >= DATA_AT(k))
#endif

/* Counters and words. */
byte T[2], W[2], D[2], Q[2];
byte cts[2], send_word[2], receive_word[2];
/* The stream has executed so many starts. */
byte sends[2], receives[2];
/* By pair and round: what was posted, and what the NIC has executed of it; what was executed. */
bool post_write[SLOTS], post_done[SLOTS], post_cts[SLOTS], post_data[SLOTS];
bool nic_write[SLOTS], nic_done[SLOTS], nic_cts[SLOTS], nic_data[SLOTS];
#ifdef DELIVERED
bool post_tell[SLOTS], nic_tell[SLOTS], did_tell[SLOTS];
#endif
bool did_write[SLOTS], did_done[SLOTS], did_cts[SLOTS], did_data[SLOTS];
byte trigger[SLOTS]; /* threshold of the write */
byte number[SLOTS];  /* threshold of the clear-to-send */
/* Taken over: the host's next operation of the start, or how many there are. */
byte over_send[SLOTS] = SEND_OPS, over_receive[SLOTS] = RECEIVE_OPS;
bool back_send[SLOTS], back_receive[SLOTS]; /* entries came back */
/* The buffers: number of the round whose data they hold, and of the one that is coming. */
byte buffer[2], landing[2];
byte room[2]; /* entries left */
bool failed[2];   /* failure word of a process */
bool may_fail = true;
bool twice;       /* a clear-to-send has come twice */
byte ended;

/* An operation of process a, whose peer is b, fails. */
inline fail(a, b)
{
    may_fail = false;
    failed[a] = true;
#ifndef BREAK_TELL
    failed[b] = true;
#endif
}

inline write(p, k)
{
    assert(!did_write[AT(p, k)]);
    assert(receives[p] >= k && sends[p] >= k); /* both have started */
    assert(receive_word[p] == k - 1);
    did_write[AT(p, k)] = true;
    D[p]++;
#ifdef LATE_DATA
    landing[p] = k;
#ifndef DELIVERED
    W[p]++;
#endif
#else
    buffer[p] = k;
    W[p]++;
#endif
}

/* The data is there, later than it was counted. */
inline land(p)
{
    buffer[p] = landing[p];
    landing[p] = 0;
#ifdef DELIVERED
    W[p]++;
#endif
}

inline clear_to_send(p, k)
{
    assert(!did_cts[AT(p, k)]);
    did_cts[AT(p, k)] = true;
    OWE(D, p)
    cts[p]++;
    T[p]++;
#ifdef BREAK_CTS
    if
    :: !twice -> twice = true; cts[p]++; T[p]++
    :: true
    fi
#else
    assert(cts[p] <= sends[p] + 1); /* what a sender takes for a clear-to-send that came twice */
#endif
}

inline send_done(p, k)
{
    assert(!did_done[AT(p, k)]);
    did_done[AT(p, k)] = true;
    send_word[p]++;
    assert(send_word[p] == k && W[p] == DONE_AT(k) && sends[p] == k);
    OWE(W, p)
}

#ifdef DELIVERED
inline tell(p, k)
{
    assert(!did_tell[AT(p, k)] && W[p] == TELL_AT(k));
    did_tell[AT(p, k)] = true;
    D[p]++;
    W[p]++;
}
#endif

inline receive_done(p, k)
{
    assert(!did_data[AT(p, k)]);
    assert(buffer[p] == k);
    did_data[AT(p, k)] = true;
    receive_word[p]++;
    assert(receive_word[p] == k && D[p] == DATA_AT(k) && receives[p] == k);
    OWE(D, p)
}

/* The stream: starts in either order, and waits, which end by the word or by the failure. */
proctype stream(byte me)
{
    byte k = 1, other = 1 - me;
    bool s, r;

    do
    :: k <= ROUNDS && !failed[me] ->
        s = !HAS_PAIR(me);
        r = !HAS_PAIR(other);
        do
        :: !s -> s = true;
            atomic {
                sends[me] = k;
#ifdef BREAK_HALF
                over_send[AT(me, k)] = (post_done[AT(me, k)] -> SEND_OPS : 0);
#elif !defined(BREAK_HELD) && !defined(BREAK_ORDER)
                over_send[AT(me, k)] = POSTED_SEND(me, k);
#endif
            }
#ifdef BREAK_RING
            if
            :: post_done[AT(me, k)] -> T[me]++
            :: else
            fi
#else
            T[me]++
#endif
        :: !r -> r = true;
            atomic {
                receives[other] = k;
#ifdef BREAK_HALF
                over_receive[AT(other, k)] =
                    (POSTED_RECEIVE(other, k) == RECEIVE_OPS -> RECEIVE_OPS : 0);
#elif !defined(BREAK_HELD) && !defined(BREAK_ORDER)
                over_receive[AT(other, k)] = POSTED_RECEIVE(other, k);
#endif
            }
            Q[me]++
        :: s && r -> break
        od;
        (!HAS_PAIR(me) || send_word[me] >= k || failed[me]);
        (!HAS_PAIR(other) || receive_word[other] >= k || failed[me]);
        if
        :: !failed[me] -> assert(!HAS_PAIR(other) || buffer[other] == k); k++
        :: else -> break
        fi
    :: else -> break
    od;
    assert(failed[me] || (k == ROUNDS + 1 && (!HAS_PAIR(me) || send_word[me] == ROUNDS) &&
                          (!HAS_PAIR(other) || receive_word[other] == ROUNDS)));
    ended++
}

/* The host arms starts in their order, before they are executed, while there is room; a busy NIC
 * may leave it at the first operations for a while. It gives back the entries of starts that are
 * done. */
#ifdef BREAK_TWICE
#define MAY_ARM(executed, k) true
#elif defined(BREAK_ORDER)
#define MAY_ARM(executed, k) true
#else
#define MAY_ARM(executed, k) ((executed) < (k))
#endif

/* In the order of the starts: the send of a round before its receive. */
#ifdef BREAK_ORDER
#define AFTER_SEND (s > r || !HAS_PAIR(me))
#else
#define AFTER_SEND true
#endif
#define POST(what) room[me]--; what = true;
#ifdef PARTLY
#define MAY_STOP if :: true -> goto next :: true fi;
#else
#define MAY_STOP
#endif

proctype host(byte me)
{
    byte s = 1, r = 1, other = 1 - me, give;
#ifdef BREAK_NUMBER
    byte numbered;
#endif

    if
    :: !HAS_PAIR(me) -> s = ROUNDS + 1
    :: else
    fi;
    if
    :: !HAS_PAIR(other) -> r = ROUNDS + 1
    :: else
    fi;

next:
    do
    :: atomic { s <= ROUNDS && MAY_ARM(sends[me], s) &&
            room[me] >= SEND_OPS - POSTED_SEND(me, s) ->
            if
            :: !post_write[AT(me, s)] ->
#ifdef BREAK_ODD
                trigger[AT(me, s)] = 2 * s - 1;
#elif defined(BREAK_RELATIVE)
                trigger[AT(me, s)] = T[me] + 2;
#else
                trigger[AT(me, s)] = 2 * s;
#endif
                POST(post_write[AT(me, s)])
                MAY_STOP
            :: else
            fi;
#ifdef DELIVERED
            if
            :: !post_tell[AT(me, s)] -> POST(post_tell[AT(me, s)]) MAY_STOP
            :: else
            fi;
#endif
            POST(post_done[AT(me, s)])
            s++
        }
    :: atomic { s <= ROUNDS && !MAY_ARM(sends[me], s) -> s++ }
    :: atomic { r <= ROUNDS && MAY_ARM(receives[other], r) && AFTER_SEND &&
            room[me] >= RECEIVE_OPS - POSTED_RECEIVE(other, r) ->
            if
            :: !post_cts[AT(other, r)] ->
#ifdef BREAK_NUMBER
                numbered++;
                number[AT(other, r)] = numbered;
#else
                number[AT(other, r)] = r;
#endif
                POST(post_cts[AT(other, r)])
                MAY_STOP
            :: else
            fi;
            POST(post_data[AT(other, r)])
            r++
        }
    :: atomic { r <= ROUNDS && !MAY_ARM(receives[other], r) -> r++ }
    :: atomic { HAS_PAIR(me) && give < ROUNDS && send_word[me] > give &&
            !back_send[AT(me, give + 1)] ->
            back_send[AT(me, give + 1)] = true;
            room[me] = room[me] + POSTED_SEND(me, give + 1)
        }
    :: atomic { HAS_PAIR(other) && give < ROUNDS && receive_word[other] > give &&
            !back_receive[AT(other, give + 1)] ->
            back_receive[AT(other, give + 1)] = true;
            room[me] = room[me] + POSTED_RECEIVE(other, give + 1)
        }
    :: atomic { give + 1 < ROUNDS && (!HAS_PAIR(me) || back_send[AT(me, give + 1)]) &&
            (!HAS_PAIR(other) || back_receive[AT(other, give + 1)]) -> give++
        }
    :: ended == 2 -> break
    od
}

/* The NIC executes what is posted, in any order that the counters allow. The thread that takes over
 * does the same for what it sees in words, one operation of a start after the other, or posts the
 * next one if it is not due and there is room. A write that was taken over counts in W when it is
 * seen to have completed, which is one step here. */
#define BY_NIC_WRITE(p, k) \
    (post_write[AT(p, k)] && !nic_write[AT(p, k)] && T[p] >= trigger[AT(p, k)] && !failed[p])
#define BY_NIC_DONE(p, k) (post_done[AT(p, k)] && !nic_done[AT(p, k)] && W[p] >= DONE_AT(k))
#define BY_NIC_CTS(p, k) (post_cts[AT(p, k)] && !nic_cts[AT(p, k)] && Q[1 - p] >= number[AT(p, k)])
#define BY_NIC_DATA(p, k) (post_data[AT(p, k)] && !nic_data[AT(p, k)] && DATA_IS(p, k))
#define OVER(end, p, k, step) (over_##end[AT(p, k)] == step)

#define BY_HOST(end, p, k, step, due, what) \
    :: atomic { OVER(end, p, k, step) && (due) -> over_##end[AT(p, k)] = step + 1; what }
#ifdef PARTLY
#define POST_LATE(end, host, p, k, step, due, what, more) \
    :: atomic { OVER(end, p, k, step) && !(due) && room[host] >= 1 && !failed[host] -> \
        over_##end[AT(p, k)] = step + 1; room[host]--; post_##what[AT(p, k)] = true; more }
#else
#define POST_LATE(end, host, p, k, step, due, what, more)
#endif
#ifdef DELIVERED
#define TELL(p, k) \
    :: atomic { post_tell[AT(p, k)] && !nic_tell[AT(p, k)] && W[p] >= TELL_AT(k) -> \
        nic_tell[AT(p, k)] = true; tell(p, k) } \
    BY_HOST(send, p, k, 1, W[p] >= TELL_AT(k), tell(p, k)) \
    POST_LATE(send, p, p, k, 1, W[p] >= TELL_AT(k), tell, skip)
#else
#define TELL(p, k)
#endif
#ifdef COUNTED_FAILURES
#define COUNT_FAILURE(p) W[p]++;
#else
#define COUNT_FAILURE(p)
#endif
#if defined(COUNTED_FAILURES) && defined(OWN)
#define COUNT_FAILED_CTS(p) D[p]++;
#else
#define COUNT_FAILED_CTS(p)
#endif

#define ROUND(p, k) \
    :: atomic { BY_NIC_WRITE(p, k) -> nic_write[AT(p, k)] = true; write(p, k) } \
    :: atomic { BY_NIC_WRITE(p, k) && may_fail -> nic_write[AT(p, k)] = true; COUNT_FAILURE(p) \
        fail(p, 1 - p) } \
    :: atomic { BY_NIC_DONE(p, k) -> nic_done[AT(p, k)] = true; send_done(p, k) } \
    :: atomic { BY_NIC_CTS(p, k) -> nic_cts[AT(p, k)] = true; clear_to_send(p, k) } \
    :: atomic { BY_NIC_CTS(p, k) && may_fail -> nic_cts[AT(p, k)] = true; \
        COUNT_FAILED_CTS(p) fail(1 - p, p) } \
    :: atomic { BY_NIC_DATA(p, k) -> nic_data[AT(p, k)] = true; receive_done(p, k) } \
    BY_HOST(send, p, k, 0, cts[p] >= k && !failed[p], write(p, k)) \
    POST_LATE(send, p, p, k, 0, cts[p] >= k, write, trigger[AT(p, k)] = 2 * k) \
    TELL(p, k) \
    BY_HOST(receive, p, k, 1, DATA_IS(p, k), receive_done(p, k)) \
    POST_LATE(receive, 1 - p, p, k, 1, DATA_IS(p, k), data, skip) \
    BY_HOST(send, p, k, SEND_OPS - 1, W[p] >= DONE_AT(k), send_done(p, k)) \
    POST_LATE(send, p, p, k, SEND_OPS - 1, W[p] >= DONE_AT(k), done, skip) \
    BY_HOST(receive, p, k, 0, true, clear_to_send(p, k))

proctype engine(byte p)
{
    do
    :: atomic { landing[p] != 0 -> land(p) }
#ifdef OWN
    :: atomic { owe_W[p] > 0 -> owe_W[p]--; W[p]++ }
    :: atomic { owe_D[p] > 0 -> owe_D[p]--; D[p]++ }
#endif
    ROUND(p, 1)
#if ROUNDS > 1
    ROUND(p, 2)
#endif
#if ROUNDS > 2
    ROUND(p, 3)
#endif
    :: ended == 2 -> break
    od
}

init
{
    atomic {
        if
        :: room[0] = 0
        :: room[0] = SEND_OPS
        :: room[0] = 2 * SEND_OPS
        fi;
        /* With two pairs the processes are alike: it is enough that the first has no more. */
        if
        :: room[0] == 0 || !HAS_PAIR(1) -> room[1] = 0
        :: room[0] <= SEND_OPS || !HAS_PAIR(1) -> room[1] = SEND_OPS
        :: room[1] = 2 * SEND_OPS
        fi;
        run stream(0);
        run stream(1);
        run host(0);
        run host(1);
        run engine(0);
        if
        :: HAS_PAIR(1) -> run engine(1)
        :: else
        fi
    }
}
