/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The protocol of channel ipc (src/ipc, src/stream/kernels.inc): one pair, whose ends are the
 * sender, 0, and the receiver, 1, each in a process of its own. Each end makes STARTS starts: it
 * enqueues them, each followed by its wait, on a stream of its GPU; or the host makes them, and
 * waits. Then it frees its request. The sender fills the buffer before each start; the receiver
 * looks at its buffer after each wait, and overwrites it. A queue may fail at any moment, because of
 * this pair or of something else: its host then enqueues no more, the last start perhaps has no
 * wait, and what is in the stream drains. A start by the host fails with its pair only.
 *
 * The host's starts run in a stream of the library's own, and so does what copies a message from its
 * slot, which the host asks for when it sees that it is there; what takes a start back comes behind
 * both, while the host waits. A request that is freed while it is active differs in nothing: the
 * library then looks at it as the host would.
 *
 * Names are those of the code. Starts count from 1, and a pair's base is 0. Every step of a process
 * is one access to a word that others see, or to a part of a buffer: a block moves one part, in two
 * steps. Words that are put in no order (tell_both) are put in any order. Of "gate" and "halt" one
 * word is left, since an open gate alone lets nobody leave who can close his pair.
 *
 * A slot holds two parts, each of which tells of which start it is; the wait copies each when it is
 * there.
 *
 * Checked:
 *   - who moves reads and writes only what both ends have started and not yet seen done: so nothing
 *     that its owner has filled, read or freed meanwhile (busy); a send to a slot touches nothing
 *     of the receiver's but that, and no slot is filled before its message has been copied (kept);
 *   - each start is moved once, and blocks agree about who moves;
 *   - a wait that was not given up has its data, and only waits of failed queues are given up;
 *   - what the host has completed, or was told to have failed, nobody reads or writes any more
 *     (busy), and no block of it is left when the next start comes, be it on another stream;
 *   - all streams drain and all ends are freed (no deadlock), with and without failures: so a send
 *     waits for its receive only if two before it have not been received (AHEAD);
 *   - an end's words are used again only if none is of a later start than the next pair's base, and
 *     then nobody of this pair touches them (given).
 * In place of a second pair that uses the words there is an assertion at each access to them.
 *
 * Not in it: what the orders of memory allow besides, and several pairs of one launch.
 *
 * STARTS: how many. BLOCKS: that move a start, 1 or 2. READY: a ready send, which is enqueued when
 * its receive is known to be. SLOTTED: the receive has slots; that of a ready send may go without
 * one even if there is one, since the word that says so may be late. AHEAD: the receiver
 * enqueues nothing before the sender's first so many starts are over, which so must not wait for
 * it. FAILURES: how many queues may fail by themselves; what follows from that does not count.
 * DEATH: in their place a process may die; then, and only then, who waits for what it was moving
 * goes after a while. FEWER: the receiver makes one start less than the sender. HOSTS: ends, as
 * bits, that may make any of their starts by the host.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_ARRIVE  the state is changed by a load and a store
 *   BREAK_BOTH    who comes second leaves the state as if he were alone
 *   BREAK_EARLY   done is told before the data is there
 *   BREAK_CLOSE   a wait is given up without closing the pair
 *   BREAK_RECALL  a start that lacks its wait is not taken back before the buffer is freed
 *   BREAK_RESET   a block that sees as many gone as have come is the last one
 *   BREAK_FOUND   each block finds out by itself who moves
 *   BREAK_REUSE   a sender's words are used again before its receiver has freed its end
 *   BREAK_CLEAN   they are used again though the receiver's last start was taken back
 *   BREAK_ASK     a ready send does not look whether its receive was taken back
 *   BREAK_BEGUN   a receive is taken back though its ready send has begun
 *   BREAK_TELL    a failure is not told to the peer
 *   BREAK_FREE    a send takes its slot one start too early
 *   BREAK_TWO     there are two slots only
 *   BREAK_LEFT    words are used again though a message was left in a slot
 *   BREAK_OTHER   a wait looks at its slot only
 *   BREAK_LATE    a wait for a process that died between telling host and GPU is for ever
 *   BREAK_ORDER   a receiver with slots that moves the data tells in any order
 *   BREAK_AFTER   a send after one by the host goes to its slot though the GPU cannot see yet that
 *                 the one before is done
 *   BREAK_TICKET  the host completes a start when its data has moved, be its launch over or not
 *   BREAK_COPY    the same, and does not have a message copied from its slot
 *   BREAK_SOON    that is asked for before the message is there
 *   BREAK_BACK    a start by the host that has failed is not taken back
 *   BREAK_LAUNCH  that does not wait for the launch of a ready send
 *   BREAK_SAY     the peer does not hear that a start was taken back
 */
#ifndef STARTS
#define STARTS 1
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef AHEAD
#define AHEAD 0
#endif
#ifndef HOSTS
#define HOSTS 0
#endif
#ifdef FEWER
#define STARTS_OF(e) (STARTS - (e))
#else
#define STARTS_OF(e) STARTS
#endif

#define SENDER 0
#define RECEIVER 1
#define RECEIVE(n) (4 * (n) + 1)
#define SEND(n) (4 * (n) + 2)
#define BOTH(n) (4 * (n) + 3)
#define CLOSED 120
#if defined(READY) && !defined(SLOTTED)
#define IS_READY true
#else
#define IS_READY false
#endif
/* A ready send to a receive with slots. */
#if defined(READY) && defined(SLOTTED)
#define IS_PROMISED true
#else
#define IS_PROMISED false
#endif
#ifdef BREAK_TWO
#define SLOTS 2
#else
#define SLOTS 3
#endif
#ifdef SLOTTED
#define HAS_SLOTS true
#else
#define HAS_SLOTS false
#endif
#define MINE(e, n) ((e) == SENDER -> SEND(n) : RECEIVE(n))
#define OTHER(e, n) ((e) == SENDER -> RECEIVE(n) : SEND(n))
#ifdef BREAK_BOTH
#define TOGETHER(e, n) MINE(e, n)
#else
#define TOGETHER(e, n) BOTH(n)
#endif
/* In whose memory the state is. */
#define HOME (HAS_SLOTS -> RECEIVER : SENDER)

/* Words that GPUs see. */
byte state;
byte posted;
byte come[2], gone[2], found[2], done[2], halted[2];
byte told; /* the hosts of both ends, in memory of the receiver's */
byte from[2], to[2]; /* the buffers: whose start's data each part holds */
#ifdef SLOTTED
byte slot[6]; /* parts of slots: of which start */
bool kept[6];
#endif

/* Words of hosts. */
bool failed[2];     /* the queue of an end */
bool req_failed[2]; /* the pair has failed at this end, which told the other, or was told */
byte epoch[2];      /* starts that were made */
byte booked[2];     /* of which the worker knows that they were made while all was well */
byte finished;      /* waits of the sender that are over, as the receiver's program knows */
byte receives;      /* receives that the sender's program knows to have started, of ready sends */
byte peer_end[2];
bool freed[2];
bool queued[2];     /* the last start was enqueued; or none has been made */
byte launched[2];   /* into the library's own stream, and not over */
bool after_host[2]; /* the start before was made by the host */
bool lacks_copy[2]; /* of a message that comes to a slot, for a start by the host */
mtype = { FAILURE, RELEASE, START, COPY };
chan news[2] = [3] of { mtype, byte };   /* to an end */
chan launch[2] = [2] of { mtype, byte }; /* to the library's own stream */

/* What nobody sees. */
bool busy[2];  /* the buffer is not its owner's: from the start until its wait has ended */
bool given[2]; /* the words may belong to another pair */
byte moved;    /* starts that an end moves, or has moved, as bits */
bool second_is[2]; /* what the first block of a launch has found */
byte asked;        /* whether there was one, by bits of the starts */
byte more[4]; /* the start that the other block of a launch has to move; 0: none; of two streams */
bool dead[2];
byte failures = FAILURES;

/* The words of an end are touched. */
#define USE(e) assert(!given[e])

/* The host of an end learns, or says, that the pair has failed. */
inline tell_failure(e)
{
    if
    :: !req_failed[e] ->
        req_failed[e] = true;
#ifndef BREAK_TELL
        news[1 - e]!FAILURE(0)
#endif
    :: else
    fi
}

inline fail_queue(e)
{
    failed[e] = true;
    halted[e] = true
}

/* What fails a pair fails the queue that has it, if one has. */
inline fail_owner(e)
{
    if
    :: queued[e] -> fail_queue(e)
    :: else
    fi
}

/* Starts. */

inline note_second(e, n)
{
    if
    :: IS_READY && (asked & (1 << n)) -> assert(second == second_is[e])
    :: else ->
        second_is[e] = second;
        asked = asked | (1 << n);
        if
        :: second -> assert(!(moved & (1 << n))); moved = moved | (1 << n)
        :: else
        fi
    fi
}

/* Each turn is one comparison with what is expected there, and perhaps a change. */
inline arrive(e, n)
{
    seen = (e == SENDER && !IS_READY -> RECEIVE(n) : 0);
    do
#ifdef BREAK_ARRIVE
    :: state == seen && seen < CLOSED ->
        atomic {
#else
    :: atomic { state == seen && seen < CLOSED ->
#endif
            USE(HOME);
            second = seen == OTHER(e, n);
            state = (second -> TOGETHER(e, n) : MINE(e, n));
            if
            :: IS_READY -> second = true
            :: IS_PROMISED -> second = e == SENDER
            :: else
            fi;
            note_second(e, n);
            seen = 0;
            break
        }
    :: atomic { state != seen ->
            USE(HOME);
            seen = state;
            if
            :: seen == CLOSED || (seen > MINE(e, n) && seen != OTHER(e, n)) ->
#ifdef BREAK_ASK
                second = e == SENDER && (IS_READY || IS_PROMISED);
#else
                second = e == SENDER && IS_PROMISED && seen != CLOSED;
#endif
                note_second(e, n);
                seen = 0;
                break
            :: else
            fi
        }
    od
}

inline copy(b)
{
    atomic { assert(busy[SENDER]); data = from[b] }
    atomic { assert(busy[RECEIVER]); to[b] = data; data = 0 }
}

/* In any order, but for a receiver that has slots: its sender, who sees that its start is done, may
 * tell of the next one without asking it. Bits of puts say what has been put. */
#ifdef BREAK_ORDER
#define MAY_PUT_DONE(e) true
#else
#define MAY_PUT_DONE(e) (!HAS_SLOTS || e == SENDER || (puts & 4))
#endif
#define PUT(bit, may, e, word, n) \
    :: atomic { !(puts & bit) && may -> \
            USE(e); assert(word[e] < n); word[e] = n; puts = puts | bit }

inline tell_both(e, n)
{
    do
    PUT(1, MAY_PUT_DONE(e), 1 - e, done, n)
    PUT(2, MAY_PUT_DONE(e), e, done, n)
    :: atomic { !(puts & 4) -> USE(RECEIVER); assert(told < n); told = n; puts = puts | 4 }
    :: atomic { puts == 7 -> puts = 0; break }
    od
}

#ifdef BREAK_EARLY
#define TELL_EARLY(e, n) tell_both(e, n)
#define TELL(e, n) skip
#else
#define TELL_EARLY(e, n) skip
#define TELL(e, n) tell_both(e, n)
#endif

#ifdef BREAK_RESET
#define IS_LAST(e) (gone[e] + 1 == come[e])
#else
#define IS_LAST(e) (gone[e] == BLOCKS - 1)
#endif

/* Each block of a ready send asks by itself. */
inline find_out(e, n)
{
#if BLOCKS == 1 || defined(READY) || defined(BREAK_FOUND)
    arrive(e, n)
#else
    atomic { USE(e); seen = come[e]; come[e]++ }
    if
    :: atomic { seen == 0 ->
            assert(found[e] / 2 != n)
        }
        arrive(e, n);
        atomic { USE(e); found[e] = 2 * n + second }
    :: atomic { seen != 0 && found[e] / 2 == n ->
            USE(e);
            seen = 0;
            second = found[e] % 2;
            assert(second == second_is[e])
        }
    fi
#endif
}

inline goes_last(e)
{
#if BLOCKS == 1
    last = true;
#else
    atomic { USE(e); last = IS_LAST(e); gone[e]++ }
    if
    :: last ->
        atomic { USE(e); come[e] = 0 }
        atomic { USE(e); gone[e] = 0 }
    :: else
    fi;
#endif
}

/* Block b of start n of end e. */
inline run_part(e, b, n)
{
    find_out(e, n);
    if
    :: second ->
        TELL_EARLY(e, n);
        copy(b);
#if BLOCKS == 1
        copy(1)
#endif
    :: else
    fi;
    goes_last(e)
    if
    :: last && second -> TELL(e, n)
    :: else
    fi;
    atomic { last = false; second = false }
}

#if BLOCKS > 1
proctype other_block(byte e; byte own)
{
    bool second, last;
    byte seen, data, puts;

    {
end:
        do
        :: more[e + own] != 0 -> run_part(e, 1, more[e + own]); more[e + own] = 0
        od
    } unless { dead[e] }
}
#endif

#ifdef SLOTTED
#ifdef BREAK_FREE
#define IS_FREE(n) ((n) <= 3 || posted + 3 >= (n))
#else
#define IS_FREE(n) ((n) < 3 || posted + 3 > (n))
#endif
/* The host may have seen that a start was done before the GPU does. */
#ifdef BREAK_AFTER
#define IS_SEEN(n) true
#else
#define IS_SEEN(n) (!after_host[SENDER] || done[SENDER] >= (n) - 1)
#endif
#define AT(n, part) (2 * ((n) % SLOTS) + (part))

inline put_part(n, part)
{
    atomic {
        assert(busy[SENDER]);
        USE(RECEIVER);
        assert(!kept[AT(n, part)] || halted[RECEIVER] || failed[RECEIVER] || freed[RECEIVER] ||
               dead[RECEIVER]);
        slot[AT(n, part)] = from[part];
        kept[AT(n, part)] = true
    }
}

inline send(n)
{
    atomic { USE(SENDER);
        if
        :: IS_FREE(n) && IS_SEEN(n) -> second = true
        :: IS_PROMISED || !IS_FREE(n) || !IS_SEEN(n) -> second = false
        fi
    }
    if
    :: second ->
        atomic { assert(!(moved & (1 << n))); moved = moved | (1 << n) }
        second = false;
        put_part(n, 1);
        put_part(n, 0);
        atomic { USE(SENDER); assert(done[SENDER] < n); done[SENDER] = n }
        atomic { USE(RECEIVER); assert(told < n); told = n }
    :: else -> run_part(SENDER, 0, n)
    fi
}
#endif

/* own: 2 for the stream of the library, else 0. */
inline start(e, n, own)
{
#ifdef SLOTTED
    if
    :: e == SENDER -> send(n)
    :: e == RECEIVER ->
        atomic { USE(SENDER); posted = n }
        run_part(e, 0, n)
    fi
#else
#if BLOCKS > 1
    more[e + own] = n;
#endif
    run_part(e, 0, n);
#if BLOCKS > 1
    more[e + own] == 0
#endif
#endif
}

/* Waits. */

#ifdef BREAK_BEGUN
#define MAY_CLOSE(e, n) (seen <= SEND(n))
#else
#define MAY_CLOSE(e, n) (seen <= MINE(e, n))
#endif

inline close_pair(e, n)
{
    atomic {
        USE(HOME);
        seen = state;
        if
        :: MAY_CLOSE(e, n) -> state = CLOSED; closed = true
        :: else -> closed = seen == CLOSED
        fi
    }
}

#ifdef SLOTTED
#define HAS_PART(e, n, part) (e == RECEIVER && slot[AT(n, part)] == n)
#else
#define HAS_PART(e, n, part) false
#endif

/* A process has died that had told the host of the end, and not its GPU: the gate is open then, and
 * the GPU leaves after a while. */
#define IS_TOLD_ONLY(e, n, part) \
    (dead[1 - e] && told >= n && done[e] < n && !HAS_PART(e, n, part))

/* Sets closed if it was given up. That data is lacking is seen some time before the pair is closed,
 * or known to be: so it may have come, and the peer may have closed the pair for its next start.
 * may_leave: it is given up if its queue fails. */
inline wait_part(e, n, part, may_leave)
{
    do
#ifdef SLOTTED
    :: atomic { HAS_PART(e, n, part) ->
            USE(e);
            assert(busy[RECEIVER]);
            to[part] = n;
            kept[AT(n, part)] = false;
            seen = 0;
            break
        }
#endif
#ifdef BREAK_OTHER
    :: atomic { e == SENDER && done[e] >= n -> USE(e); seen = 0; break }
#else
    :: atomic { done[e] >= n -> USE(e); seen = 0; break }
#endif
#ifndef BREAK_LATE
    :: atomic { IS_TOLD_ONLY(e, n, part) -> seen = 0; break }
#endif
    :: may_leave && halted[e] && done[e] < n && !HAS_PART(e, n, part) ->
#ifdef BREAK_CLOSE
        closed = true;
        break
#else
        if
        :: IS_READY && e == SENDER -> closed = true
        :: else -> close_pair(e, n)
        fi;
        if
        :: closed -> seen = 0; break
        :: !closed && dead[1 - e] -> closed = true; seen = 0; break
        :: atomic { !closed && (done[e] >= n || HAS_PART(e, n, part) || state != seen) -> seen = 0 }
        fi
#endif
    od
}

inline wait(e, n)
{
    closed = false;
    wait_part(e, n, 0, true);
    gave_up = closed;
    closed = false;
    wait_part(e, n, 1, true);
    atomic { closed = closed || gave_up; gave_up = false }
}

inline after_wait(e, n)
{
    atomic {
        busy[e] = false;
        assert(closed || moved & (1 << n));
        assert(!closed || halted[e]);
        if
        :: e == RECEIVER && !closed -> assert(to[0] == n && to[1] == n)
        :: e == SENDER -> finished = n
        :: else
        fi;
        if
        :: e == RECEIVER -> to[0] = 0; to[1] = 0
        :: else
        fi;
        lost = lost || closed;
        closed = false
    }
}

/* Starts by the host. */

#ifdef BREAK_TICKET
#define IS_LAUNCHED(e) (lacks_copy[e])
#else
#ifdef BREAK_COPY
#define IS_LAUNCHED(e) (launched[e] > 0)
#else
#define IS_LAUNCHED(e) (launched[e] > 0 || lacks_copy[e])
#endif
#endif
/* All that the host can see of the last start is over. */
#define IS_OVER(e) (told >= epoch[e] && (queued[e] || !IS_LAUNCHED(e)))
/* The peer was freed before it came to the last start. */
#define IS_ALONE(e) (peer_end[e] != 0 && epoch[e] >= peer_end[e])

/* Of a receive that has slots it is known only that the message was there or about to be, so one of
 * a failed queue has failed. */
#define IS_BROKEN(e) (HAS_SLOTS && e == RECEIVER && queued[e] && failed[e])
/* The host may start what is matched: its last start has completed. */
#define MAY_HOST(e) ((HOSTS & (1 << e)) && !req_failed[e] && IS_OVER(e) && !IS_BROKEN(e))

inline start_by_host(e, n)
{
    if
    :: IS_READY && e == RECEIVER -> receives = n
    :: else ->
        atomic {
            lacks_copy[e] = HAS_SLOTS && e == RECEIVER;
            launched[e]++;
            launch[e]!START(n)
        }
    fi;
    booked[e]++
}

/* MPI_Wait. Sets lost if it fails. */
inline wait_by_host(e, n)
{
    do
#ifndef BREAK_COPY
#ifdef BREAK_SOON
    :: atomic { lacks_copy[e] && !req_failed[e] ->
#else
    :: atomic { lacks_copy[e] && told >= n && !req_failed[e] ->
#endif
            lacks_copy[e] = false;
            launched[e]++;
            launch[e]!COPY(n)
        }
#endif
    :: IS_OVER(e) -> after_wait(e, n); break
    :: atomic { !IS_OVER(e) && (req_failed[e] || IS_ALONE(e)) ->
#ifdef BREAK_BACK
            busy[e] = false;
#endif
            lost = true;
            break
        }
    od
}

/* The library's own stream, in which no wait is given up. */
proctype own_stream(byte e)
{
    bool second, last, closed;
    byte seen, data, puts, n;

    {
end:
        do
        :: launch[e]?START(n) ->
            start(e, n, 2);
            atomic { launched[e]--; n = 0 }
        :: launch[e]?COPY(n) ->
            wait_part(e, n, 0, false);
            wait_part(e, n, 1, false);
            atomic { launched[e]--; n = 0 }
        od
    } unless { dead[e] }
}

/* The end of a pair. */

/* MPI_Request_free, or the host is told that its start has failed: what was started and has not
 * completed is taken back, and the peer hears of it, who else might take its words for clean;
 * nothing more touches the buffer if the message is in a slot, whether or not it has come there. A
 * ready send moves its data in any case, and is waited for. */
#ifdef BREAK_LAUNCH
#define HAS_LEFT(e) (launched[e] == 0 || (IS_READY && e == SENDER))
#else
#define HAS_LEFT(e) (launched[e] == 0)
#endif

inline take_back(e)
{
#ifndef BREAK_RECALL
    if
    :: IS_OVER(e)
    :: !IS_OVER(e) ->
#ifndef BREAK_SAY
        atomic { tell_failure(e) }
#endif
        HAS_LEFT(e);
        do
        :: (IS_READY && e == SENDER) -> break
        :: closed || done[e] >= epoch[e] || dead[1 - e] || seen > BOTH(epoch[e]) -> break
        :: !(IS_READY && e == SENDER) && !closed && done[e] < epoch[e] && seen <= BOTH(epoch[e]) ->
            close_pair(e, epoch[e]);
            (closed || done[e] >= epoch[e] || dead[1 - e] || seen > BOTH(epoch[e]) || state != seen)
        od;
        seen = 0
    fi
#else
    skip
#endif
}

#ifdef BREAK_REUSE
#define PEER_IS_GONE(e) (peer_end[e] != 0 || dead[1 - e] || e == SENDER)
#else
#define PEER_IS_GONE(e) (peer_end[e] != 0 || dead[1 - e])
#endif
#ifdef BREAK_CLEAN
#define IS_CLEAN(e) IS_OVER(e)
#elif defined(BREAK_LEFT) || defined(BREAK_REUSE)
#define IS_CLEAN(e) (IS_OVER(e) && !req_failed[e])
#else
#define IS_CLEAN(e) (IS_OVER(e) && !req_failed[e] && peer_end[e] == epoch[e] + 1)
#endif
/* Starts of which the receiver knows that they have completed. */
#define COMPLETED(e) (told < epoch[e] -> told : (IS_OVER(e) -> epoch[e] : epoch[e] - 1))

inline retire(e)
{
    atomic { PEER_IS_GONE(e) ->
        if
        :: IS_CLEAN(e) ->
            assert(come[e] == 0 && gone[e] == 0);
            assert(found[e] / 2 <= epoch[e] && done[e] <= epoch[e] && told <= epoch[e]);
            assert(e != HOME || state <= BOTH(epoch[e]));
            assert(e == RECEIVER || posted <= epoch[e]);
#ifdef SLOTTED
            assert(e == SENDER || (slot[0] <= epoch[e] && slot[2] <= epoch[e]));
            assert(e == SENDER || slot[4] <= epoch[e]);
#endif
            /* What the sender's host finds there may be a later pair's. */
            assert(e == SENDER || told >= epoch[SENDER]);
            given[e] = true
        :: else
        fi
    }
}

/* The host sees that the stream has drained. */
inline settle(e)
{
    atomic { told >= epoch[e] || failed[e] ->
        if
        :: told < epoch[e] -> tell_failure(e)
        :: told >= epoch[e] && IS_BROKEN(e) -> tell_failure(e)
        :: told >= epoch[e] && !IS_BROKEN(e)
        fi
    }
}

/* A program with its stream, and then its host. */
proctype stream(byte e)
{
    bool second, last, closed, gave_up, lost;
    byte seen, data, puts, n = 1;

    {
        do
        :: n > STARTS_OF(e) || failed[e] || req_failed[e] -> break
        :: (IS_READY || IS_PROMISED) && e == SENDER && n <= STARTS_OF(e) &&
           (freed[RECEIVER] || dead[RECEIVER]) ->
            break
        :: atomic { n <= STARTS_OF(e) &&
                ((!IS_READY && !IS_PROMISED) || e == RECEIVER || receives >= n) &&
                (e == SENDER || finished >= AHEAD || freed[SENDER] || dead[SENDER] ||
                 failed[SENDER]) ->
                assert(!busy[e]);
                after_host[e] = !queued[e];
                if
                :: e == SENDER -> from[0] = n; from[1] = n
                :: else
                fi;
                busy[e] = true;
                if
                :: !queued[e] && !req_failed[e] -> queued[e] = true
                :: !queued[e] && req_failed[e] -> queued[e] = true; fail_queue(e)
                :: queued[e]
                :: MAY_HOST(e) -> queued[e] = false
                fi;
                epoch[e] = n;
                if
                :: IS_PROMISED && e == RECEIVER -> receives = n
                :: else
                fi
            }
            if
            :: !queued[e] -> start_by_host(e, n); wait_by_host(e, n)
            :: queued[e] && IS_READY && e == RECEIVER -> receives = n
            :: queued[e] && !(IS_READY && e == RECEIVER) -> start(e, n, 0)
            fi;
            atomic {
                if
                :: queued[e] && failed[e] -> tell_failure(e)
                :: queued[e] && !lost -> booked[e]++ /* who gave up a wait before was told to */
                :: !queued[e]
                fi
            }
            if
            :: (queued[e] && failed[e]) || (!queued[e] && lost) -> break
            :: queued[e] -> wait(e, n); after_wait(e, n); n++
            :: !queued[e] && !lost -> n++
            fi
        od;
        if
        :: queued[e] -> settle(e)
        :: else
        fi;
        take_back(e);
        atomic {
            busy[e] = false;
            freed[e] = true;
            news[1 - e]!RELEASE((e == SENDER -> booked[e] : COMPLETED(e)))
        }
        retire(e)
    } unless { dead[e] }
}

/* The progress thread of an end, and what may happen to it. */
#define LACKS_PEER(e) \
    (epoch[e] > told && (dead[1 - e] || (peer_end[e] != 0 && told + 1 >= peer_end[e])))

#define HAS_FAILED(e) (queued[e] -> failed[e] : req_failed[e])

proctype host(byte e)
{
    byte n;

    {
end:
        do
        :: atomic { news[e]?FAILURE(n) -> req_failed[e] = true; fail_owner(e) }
        :: atomic { news[e]?RELEASE(n) -> peer_end[e] = n + 1; n = 0 }
        :: atomic { !HAS_FAILED(e) && LACKS_PEER(e) -> tell_failure(e); fail_owner(e) }
#ifdef DEATH
        :: atomic { !freed[e] && !dead[1 - e] -> dead[e] = true }
#elif FAILURES > 0
        :: atomic { failures > 0 && !failed[e] && !freed[e] -> failures--; fail_queue(e) }
        :: atomic { failures > 0 && !HAS_FAILED(e) && !freed[e] ->
                failures--;
                tell_failure(e);
                fail_owner(e)
            }
#endif
        od
    } unless { dead[e] }
}

init
{
    atomic {
        queued[SENDER] = true;
        queued[RECEIVER] = true;
        run stream(SENDER);
        run stream(RECEIVER);
        run host(SENDER);
        run host(RECEIVER);
#if BLOCKS > 1
        run other_block(SENDER, 0);
#ifndef READY
        run other_block(RECEIVER, 0);
#endif
#endif
#if HOSTS & 1
        run own_stream(SENDER);
#endif
#if (HOSTS & 2) && (!defined(READY) || defined(SLOTTED))
        run own_stream(RECEIVER);
#endif
#if BLOCKS > 1 && (HOSTS & 1)
        run other_block(SENDER, 2);
#endif
#if BLOCKS > 1 && (HOSTS & 2) && !defined(READY)
        run other_block(RECEIVER, 2);
#endif
    }
}
