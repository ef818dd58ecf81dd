/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Partitioned requests (src/core/partitions_move.c, doc/design.md, section 16): one request, whose
 * ends are the sender, 0, and the receiver, 1. The data goes in PARTS messages; one more part, of
 * this number and from the receiver to the sender, says that the receive is started. Each end makes
 * STARTS starts, by the host or on a queue, and frees its request. Two threads of the sender's
 * program say what is ready, each of every second partition, for as many starts as were made,
 * executed or not. Where starts are enqueued, all of them are enqueued ahead.
 *
 * Names are those of the code. Every step of a process is one access to a word that others see; the
 * parts are the pairs of any channel: a step starts one, and one, by who has busy, polls it. The
 * network moves data when both ends of a part are started. A send of a part is complete when the
 * data was moved, or (EAGER) at once.
 *
 * Who goes on: a thread that says what is ready, and who executes a start, once; the host in its
 * wait; what a queue has started the progress thread, and the stream in its wait (POLLS). The last
 * three do so only where they would find the end of a part, so that what nobody else would find is
 * a deadlock; with IDLE they send nothing either: then a message that was ready, and that neither
 * of the first two has sent, is one.
 *
 * Checked:
 *   - a message is sent once for each start, and not before all of its partitions are ready for
 *     that start, as calls have said that were not refused;
 *   - no partition is ready more often than there were starts;
 *   - the network moves data only between a start and its completion, at both ends;
 *   - a start is complete only when all parts are and none of them has failed, and a send only when
 *     its receive is started, with all parts; a partition that has arrived is here;
 *   - what is started is in the list once, and all starts complete, or fail at both ends (no
 *     deadlock);
 *   - nobody touches a request that is freed (USE).
 *
 * Not in it: the matching, the channels of the parts, what the orders of memory allow besides, a
 * peer that frees its end early; and the first words of MPIX_Pready, which finds the record: when a
 * start has failed, the program must let no call begin that its free may overtake.
 *
 * SENDS, RECEIVES: partitions of the two ends, which PARTS divides. HOSTS: ends, as bits, that
 * start by the host. ARRIVED: a thread of the receiver's program asks for each partition. TWICE:
 * the second thread names, in its first call, the first partition too, which belongs to the other.
 * FAILURES: how many parts may fail, at one end or both; who polls such a part sees it, or takes it
 * for complete, and then it is seen when failures are reported. SUM_FIRST: the sums are raised
 * first, which is as good, since all these words only grow and the look comes after both.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_LOOK    who executes a start looks for ready messages before he raises executed only
 *   BREAK_CALL    a call looks for ready messages before it has counted what is ready
 *   BREAK_SUM     only the sum of a message is looked at
 *   BREAK_BEGUN   begun is changed by a load and a store
 *   BREAK_CLAIM   so is what is claimed
 *   BREAK_BACK    a call makes ready what it has claimed before all is claimed
 *   BREAK_WORD    a send does not wait for the word that the receive is started
 *   BREAK_SOON    that word is sent before the receives of the messages are started
 *   BREAK_ALL     a start is complete though its first message is not
 *   BREAK_ARRIVED a partition has arrived when its message is started
 *   BREAK_BUSY    several threads look at the parts
 *   BREAK_AGAIN   who looks does not ask again, having busy, whether the start is complete
 *   BREAK_DONE    a start is complete before it is out of the list
 *   BREAK_LIST    a start is put into the list after it was executed
 *   BREAK_REPORT  a start is complete though a part is known to have failed
 *   BREAK_TELL    a failure is not told to the peer
 *   BREAK_INSIDE  a free does not wait for calls of MPIX_Pready
 *   BREAK_DRIVE   nor for the progress thread
 */
#ifndef STARTS
#define STARTS 2
#endif
#ifndef PARTS
#define PARTS 1
#endif
#ifndef SENDS
#define SENDS 2
#endif
#ifndef RECEIVES
#define RECEIVES PARTS
#endif
#ifndef HOSTS
#define HOSTS 0
#endif
#ifndef FAILURES
#define FAILURES 0
#endif

#define SENDER 0
#define RECEIVER 1
#define ALL (PARTS + 1)
#define OF_EACH (SENDS / PARTS)
#define BY_HOST(e) (((HOSTS) >> (e)) & 1)
/* Of part i at end e. */
#define AT(e, i) ((e) * ALL + (i))
/* The end that sends it. */
#define SOURCE(i) ((i) == PARTS -> RECEIVER : SENDER)

/* Words of the whole, by end, and of its sender. */
byte started[2], executed[2], done[2];
bool failed[2], queue_failed[2];
bool busy[2];
bool list_lock[2], is_listed[2];
byte claimed[SENDS], ready[SENDS], arrived[PARTS], begun[PARTS];
byte inside;

/* Of the parts. */
byte part_started[2 * ALL], part_done[2 * ALL], moved[ALL];
bool part_failed[2 * ALL];

/* What nobody sees. */
byte said[SENDS];  /* ready, by calls that were not refused */
byte seen[2];      /* starts that the program, or the stream, knows to be complete */
bool told[2];      /* that the peer has failed */
bool freed[2];
bool stop;         /* the sender's program lets no call begin */
bool asks;         /* a thread of the receiver's program does */
byte failures = FAILURES;

#define USE(e) assert(!freed[e])

/* What is found by polling a part: its end. */
#ifdef EAGER
#define IS_AT_ONCE(e, i) (SOURCE(i) == (e))
#else
#define IS_AT_ONCE(e, i) false
#endif
#define HAS_ENDED(e, i) \
    (part_started[AT(e, i)] > part_done[AT(e, i)] && \
     (moved[i] > part_done[AT(e, i)] || IS_AT_ONCE(e, i) || part_failed[AT(e, i)]))
#define IS_DONE(e, i, n) (part_done[AT(e, i)] >= (n))
#if PARTS == 1
#define ANY_HAS_ENDED(e) (HAS_ENDED(e, 0) || HAS_ENDED(e, 1))
#define ARE_DONE(e, n) (IS_DONE(e, 0, n) && IS_DONE(e, 1, n))
#define HAVE_FAILED(e) (part_failed[AT(e, 0)] || part_failed[AT(e, 1)])
#else
#define ANY_HAS_ENDED(e) (HAS_ENDED(e, 0) || HAS_ENDED(e, 1) || HAS_ENDED(e, 2))
#define ARE_DONE(e, n) (IS_DONE(e, 0, n) && IS_DONE(e, 1, n) && IS_DONE(e, 2, n))
#define HAVE_FAILED(e) (part_failed[AT(e, 0)] || part_failed[AT(e, 1)] || part_failed[AT(e, 2)])
#endif
#if SENDS == 2
#define HAVE(word, n) (word[0] >= (n) && word[1] >= (n))
#define HAVE_OF(word, i, n) (word[i] >= (n))
#else
#define HAVE(word, n) \
    (word[0] >= (n) && word[1] >= (n) && word[2] >= (n) && word[SENDS - 1] >= (n))
#define HAVE_OF(word, i, n) (word[2 * (i)] >= (n) && word[2 * (i) + 1] >= (n))
#endif
/* All partitions of a message. */
#if PARTS == 1
#define OF_MESSAGE(word, i, n) HAVE(word, n)
#else
#define OF_MESSAGE(word, i, n) HAVE_OF(word, i, n)
#endif
/* Does who drives end e find something? */
#define HAS_WORK(e) \
    (executed[e] > done[e] && (failed[e] || ANY_HAS_ENDED(e) || ARE_DONE(e, executed[e])))

/* Any thread: this end has failed, and tells the other. */
inline fail(e)
{
    if
    :: !failed[e] ->
        failed[e] = true;
        queue_failed[e] = !BY_HOST(e);
#ifndef BREAK_TELL
        told[1 - e] = true
#endif
    :: else
    fi
}

/* What is done under the lock of the list is one step, but what the progress thread does. */
inline list(e)
{
    atomic { !list_lock[e] -> USE(e); assert(!is_listed[e]); is_listed[e] = true }
}

inline unlist(e, has_lock)
{
    if
    :: atomic { has_lock || (!BY_HOST(e) && !list_lock[e]) -> USE(e); is_listed[e] = false }
    :: !has_lock && BY_HOST(e)
    fi
}

inline start_part(e, i, n)
{
    atomic {
        USE(e);
        assert(part_started[AT(e, i)] == n - 1);
        part_started[AT(e, i)] = n
    }
}

#ifdef BREAK_SUM
#define IS_READY(i, n) (arrived[i] >= OF_EACH * (n))
#else
#define IS_READY(i, n) (arrived[i] >= OF_EACH * (n) && OF_MESSAGE(ready, i, n))
#endif

/* Words that only grow, and the exchange that decides, are one step: who looks at one of them after
 * the other finds what he would have found at the last, or at that which keeps him from it. */
inline send_if_ready(i, n)
{
#ifdef BREAK_BEGUN
    atomic { USE(SENDER); yes = begun[i] < n && IS_READY(i, n) }
    begun[i] = (yes -> n : begun[i]);
#else
    atomic {
        USE(SENDER);
        yes = begun[i] == n - 1 && IS_READY(i, n);
        begun[i] = (yes -> n : begun[i])
    }
#endif
    if
    :: yes -> atomic { assert(OF_MESSAGE(said, i, n)); start_part(SENDER, i, n); yes = false }
    :: else
    fi
}

inline send_ready(n)
{
    send_if_ready(0, n);
#if PARTS > 1
    send_if_ready(1, n)
#endif
}

#if defined(BREAK_WORD)
#define NEED(e, i, n) (IS_DONE(e, i, n) || (e == SENDER && i == PARTS))
#elif defined(BREAK_ALL)
#define NEED(e, i, n) (IS_DONE(e, i, n) || i == 0)
#else
#define NEED(e, i, n) IS_DONE(e, i, n)
#endif

/* Under busy, so that a poll is one step. */
inline look_at(e, i, n)
{
    atomic {
        USE(e);
        if
        :: !IS_DONE(e, i, n) && HAS_ENDED(e, i) && part_failed[AT(e, i)] -> fail(e)
        :: !IS_DONE(e, i, n) && HAS_ENDED(e, i) -> part_done[AT(e, i)]++
        :: IS_DONE(e, i, n) || !HAS_ENDED(e, i)
        fi;
        yes = yes && NEED(e, i, n)
    }
}

inline raise_done(e, n)
{
    atomic {
        USE(e);
        assert(ARE_DONE(e, n) && !HAVE_FAILED(e));
        assert(e == RECEIVER || (started[RECEIVER] >= n && part_started[AT(RECEIVER, 0)] >= n &&
                                 part_started[AT(RECEIVER, PARTS - 1)] >= n));
        done[e] = (done[e] < n -> n : done[e])
    }
}

inline complete(e, n, has_lock)
{
    atomic {
        USE(e);
#ifndef BREAK_REPORT
        yes = !HAVE_FAILED(e);
        if
        :: !yes -> fail(e)
        :: else
        fi
#endif
    }
    if
    :: yes ->
#ifdef BREAK_DONE
        raise_done(e, n);
        unlist(e, has_lock)
#else
        unlist(e, has_lock);
        raise_done(e, n)
#endif
    :: else
    fi
}

#ifdef BREAK_BUSY
#define IS_BUSY(e) false
#else
#define IS_BUSY(e) busy[e]
#endif
#ifdef BREAK_AGAIN
#define IS_OPEN(e, n) true
#else
#define IS_OPEN(e, n) (done[e] < (n))
#endif

/* While one has busy nobody else completes the start: so to get it and to look is one step. */
inline look(e, n, has_lock)
{
    atomic {
        USE(e);
        has_busy = !IS_BUSY(e);
        yes = has_busy && IS_OPEN(e, n);
        busy[e] = true
    }
    if
    :: yes ->
        look_at(e, PARTS, n);
#if PARTS > 1
        look_at(e, 1, n);
#endif
        look_at(e, 0, n);
        if
        :: yes -> complete(e, n, has_lock)
        :: else
        fi
    :: else
    fi;
    atomic {
        if
        :: has_busy -> USE(e); busy[e] = false
        :: else
        fi;
        yes = false; has_busy = false; n = 0
    }
}

/* Each of these words is looked at again later, or it does not matter: so they are read at once. */
inline go_on_if(e, has_lock, sends)
{
    if
    :: failed[e] -> unlist(e, has_lock)
    :: atomic { !failed[e] -> USE(e); n = (done[e] < executed[e] -> executed[e] : 0) }
        if
        :: n > 0 ->
            if
            :: e == SENDER && sends -> send_ready(n)
            :: else
            fi;
            look(e, n, has_lock)
        :: else
        fi
    fi
}

#define go_on(e) go_on_if(e, false, true)
#ifdef IDLE
#define drive(e, has_lock) go_on_if(e, has_lock, false)
#else
#define drive(e, has_lock) go_on_if(e, has_lock, true)
#endif

/* A thread of the sender's program. */

inline claim(q)
{
#ifdef BREAK_CLAIM
    yes = claimed[q] < started[SENDER];
    claimed[q] = claimed[q] + (yes -> 1 : 0)
#else
    atomic {
        USE(SENDER);
        yes = claimed[q] < started[SENDER];
        claimed[q] = claimed[q] + (yes -> 1 : 0);
        assert(claimed[q] <= started[SENDER])
    }
#endif
}

inline raise_ready(q)
{
    atomic { USE(SENDER); ready[q]++; assert(ready[q] <= started[SENDER]) }
}

inline raise_arrived(q)
{
    atomic { USE(SENDER); arrived[(q) / OF_EACH]++ }
}

inline count_ready(q)
{
#ifdef SUM_FIRST
    raise_arrived(q);
    raise_ready(q)
#else
    raise_ready(q);
    raise_arrived(q)
#endif
}

/* One call: of q, or of q and also, if that is another one. */
inline pready(q, also)
{
#ifdef BREAK_CALL
    go_on(SENDER);
#endif
    claim(q);
#ifdef BREAK_BACK
    if
    :: yes -> count_ready(q)
    :: else
    fi;
#endif
    if
    :: yes && also != q ->
        claim(also);
        if
        :: !yes -> atomic { USE(SENDER); claimed[q]-- }
        :: else
        fi
    :: else
    fi;
    refused = !yes;
    yes = false;
    if
    :: !refused ->
        said[q]++;
        said[also] = said[also] + (also != q -> 1 : 0);
#ifndef BREAK_BACK
        count_ready(q);
#endif
        if
        :: also != q -> count_ready(also)
        :: else
        fi;
#ifndef BREAK_CALL
        go_on(SENDER)
#endif
    :: else
    fi
}

#ifdef TWICE
#define ALSO(q) (q == 1 && s == 1 && !refused -> 0 : q)
#else
#define ALSO(q) q
#endif

proctype thread(byte first)
{
    byte n, q, also, s = 1;
    bool yes, has_busy, refused;

    do
    :: s <= STARTS ->
        q = first;
        do
        :: atomic { q < SENDS && started[SENDER] >= s && !stop -> inside++; also = ALSO(q) }
            pready(q, also);
            atomic { USE(SENDER); assert(inside > 0); inside-- }
            if
#ifdef TWICE
            :: refused && also != q /* and then without it */
#endif
            :: !(refused && also != q) ->
#ifdef TWICE
                assert(!refused || q == 0); /* of one of its starts */
#else
                assert(!refused);
#endif
                refused = false;
                q = q + 2
            fi;
            also = 0
        :: atomic { q >= SENDS -> q = 0; break }
        :: atomic { q < SENDS && stop -> goto over }
        od;
        s++
    :: else -> break
    od;
over:
    skip
}

/* Starts. */

inline start_parts(e, s)
{
    if
    :: e == SENDER -> start_part(SENDER, PARTS, s)
    :: else ->
#ifdef BREAK_SOON
        start_part(RECEIVER, PARTS, s);
#endif
        start_part(RECEIVER, 0, s);
#if PARTS > 1
        start_part(RECEIVER, 1, s);
#endif
#ifndef BREAK_SOON
        start_part(RECEIVER, PARTS, s)
#endif
    fi
}

inline start_whole(e, s)
{
#ifndef BREAK_LIST
    if
    :: !BY_HOST(e) -> list(e)
    :: else
    fi;
#endif
    start_parts(e, s);
#ifdef BREAK_LOOK
    if
    :: e == SENDER -> send_ready(s)
    :: else
    fi;
    atomic { USE(e); executed[e]++ }
#else
    atomic { USE(e); executed[e]++ }
    go_on(e);
#endif
#ifdef BREAK_LIST
    if
    :: !BY_HOST(e) -> list(e)
    :: else
    fi
#endif
}

/* All are enqueued, and the stream executes them. */
inline start_by_stream(e)
{
    started[e] = STARTS;
    do
    :: s <= STARTS && !queue_failed[e] ->
        start_whole(e, s);
        do
        :: atomic { done[e] >= s -> USE(e); seen[e] = s; break }
        :: done[e] < s && queue_failed[e] -> break
#ifdef POLLS
        :: done[e] < s && !queue_failed[e] && HAS_WORK(e) && !IS_BUSY(e) -> drive(e, false)
#endif
        od;
        s++
    :: else -> break
    od
}

proctype progress(byte e)
{
    byte n;
    bool yes, has_busy;

end:
    do
    :: atomic { is_listed[e] && !list_lock[e] && HAS_WORK(e) && !IS_BUSY(e) ->
            list_lock[e] = true
        }
        drive(e, true);
        list_lock[e] = false
    od
}

/* The program at an end. */

inline start_by_host(e)
{
    do
    :: s <= STARTS && !failed[e] ->
        started[e] = s;
        start_whole(e, s);
        do
        :: atomic { done[e] >= s -> USE(e); seen[e] = s; break }
        :: atomic { done[e] < s && failed[e] -> break }
        :: done[e] < s && !failed[e] && HAS_WORK(e) && !IS_BUSY(e) -> drive(e, false)
        od;
        s++
    :: else -> break
    od
}

/* One thread has the whole to itself. */
inline start_alone(e)
{
    do
    :: s <= STARTS && !failed[e] ->
        started[e] = s;
        start_parts(e, s);
        executed[e] = s;
        do
        :: atomic { ARE_DONE(e, s) -> complete(e, s, false) }
            seen[e] = done[e];
            break
        :: atomic { !failed[e] && HAS_ENDED(e, 0) -> look_at(e, 0, s) }
        :: atomic { !failed[e] && HAS_ENDED(e, 1) -> look_at(e, 1, s) }
#if PARTS > 1
        :: atomic { !failed[e] && HAS_ENDED(e, 2) -> look_at(e, 2, s) }
#endif
        :: failed[e] -> break
        od;
        yes = false;
        s++
    :: else -> break
    od
}

inline free_request(e)
{
    atomic {
        !(e == RECEIVER && asks);
        stop = stop || e == SENDER
    }
#ifndef BREAK_INSIDE
    e == RECEIVER || inside == 0;
#endif
#ifndef BREAK_DRIVE
    unlist(e, false);
#endif
    freed[e] = true
}

proctype program(byte e)
{
    byte n, s = 1;
    bool yes, has_busy;

    if
    :: e == RECEIVER && BY_HOST(e) && !asks -> start_alone(e)
    :: BY_HOST(e) && !(e == RECEIVER && !asks) -> start_by_host(e)
    :: !BY_HOST(e) -> start_by_stream(e)
    fi;
    free_request(e)
}

#ifdef ARRIVED
#ifdef BREAK_ARRIVED
#define IS_HERE(i, n) (part_started[AT(RECEIVER, i)] >= (n))
#else
#define IS_HERE(i, n) IS_DONE(RECEIVER, i, n)
#endif

/* Asks as long as something is under way, for partition q of the last start. */
proctype asker()
{
    byte n, s, q;
    bool yes, has_busy;

    do
    :: atomic { q < RECEIVES && started[RECEIVER] > 0 -> s = started[RECEIVER] }
        yes = done[RECEIVER] >= s;
        if
        :: yes
        :: else ->
            go_on(RECEIVER);
            atomic { USE(RECEIVER); yes = IS_HERE(q / (RECEIVES / PARTS), s) }
            if
            :: yes ->
                atomic { yes = !part_failed[AT(RECEIVER, q / (RECEIVES / PARTS))] }
                assert(!yes || moved[q / (RECEIVES / PARTS)] >= s)
            :: else
            fi
        fi;
        yes = false;
        q++
    :: atomic { q == RECEIVES || failed[RECEIVER] -> q = 0; asks = false; break }
    od
}
#endif

/* What moves data, and what fails. */

#define MAY_MOVE(i) \
    (part_started[AT(SENDER, i)] > moved[i] && part_started[AT(RECEIVER, i)] > moved[i] && \
     !part_failed[AT(SENDER, i)] && !part_failed[AT(RECEIVER, i)] && IS_KEPT(SENDER, i) && \
     IS_KEPT(RECEIVER, i))
#ifdef EAGER
#define IS_KEPT(e, i) (SOURCE(i) == (e) || !freed[e])
#define IS_OURS(e, i) (SOURCE(i) == (e) || seen[e] <= moved[i])
#else
#define IS_KEPT(e, i) (!freed[e])
#define IS_OURS(e, i) (seen[e] <= moved[i])
#endif

#define MOVE(i) \
    :: atomic { MAY_MOVE(i) -> \
            assert(IS_OURS(SENDER, i) && IS_OURS(RECEIVER, i)); \
            assert(started[SENDER] > moved[i] && started[RECEIVER] > moved[i]); \
            moved[i]++ }

#define FAIL(e, i) \
    :: atomic { part_started[AT(e, i)] > part_done[AT(e, i)] && !part_failed[AT(e, i)] && \
                !freed[e] && (failures > 0 || part_failed[AT(1 - e, i)]) -> \
            failures = (part_failed[AT(1 - e, i)] -> failures : failures - 1); \
            part_failed[AT(e, i)] = true }

proctype network()
{
end:
    do
    MOVE(0)
    MOVE(1)
#if PARTS > 1
    MOVE(2)
#endif
#if FAILURES > 0
    FAIL(SENDER, 0)
    FAIL(SENDER, 1)
    FAIL(RECEIVER, 0)
    FAIL(RECEIVER, 1)
#if PARTS > 1
    FAIL(SENDER, 2)
    FAIL(RECEIVER, 2)
#endif
    :: atomic { told[SENDER] && !failed[SENDER] && !freed[SENDER] ->
            failed[SENDER] = true; queue_failed[SENDER] = !BY_HOST(SENDER) }
    :: atomic { told[RECEIVER] && !failed[RECEIVER] && !freed[RECEIVER] ->
            failed[RECEIVER] = true; queue_failed[RECEIVER] = !BY_HOST(RECEIVER) }
#endif
    od
}

init
{
    atomic {
        run program(SENDER);
        run program(RECEIVER);
        run thread(0);
        run thread(1);
        run network();
#if !(HOSTS & 1)
        run progress(SENDER);
#endif
#if !(HOSTS & 2)
        run progress(RECEIVER);
#endif
#ifdef ARRIVED
        asks = true;
        run asker();
#endif
    }
}
