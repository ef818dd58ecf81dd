/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The protocol of channel ipc (src/ipc, src/stream/kernels.inc): one pair, whose ends are the
 * sender, 0, and the receiver, 1, each in a process of its own. Each end enqueues STARTS starts,
 * each followed by its wait, on a stream of its GPU; then it frees its request. The sender's stream
 * fills the buffer before each start; that of the receiver looks at its buffer after each wait, and
 * overwrites it. A queue may fail at any moment, because of this pair or of something else: its
 * host then enqueues no more, the last start perhaps has no wait, and what is in the stream drains.
 *
 * Names are those of the code. Starts count from 1, and a pair's base is 0. Every step of a process
 * is one access to a word that others see, or to a part of a buffer: a block moves one part, in two
 * steps. Words that are put in no order (tell_both) are put in any order. Of "gate" and "halt" one
 * word is left, since an open gate alone lets nobody leave who can close his pair.
 *
 * Checked:
 *   - who moves reads and writes only what both ends have started and not yet seen done: so nothing
 *     that its owner has filled, read or freed meanwhile (busy);
 *   - each start is moved once, and blocks agree about who moves;
 *   - a wait that was not given up has its data, and only waits of failed queues are given up;
 *   - all streams drain and all ends are freed (no deadlock), with and without failures;
 *   - an end's words are used again only if they are as they were before the first start, but for
 *     values that the next pair's base covers, and then nobody of this pair touches them (given).
 * In place of a second pair that uses the words there is an assertion at each access to them.
 *
 * Not in it: what the orders of memory allow besides, several pairs of one launch, and a process
 * that dies in the midst of tell_both.
 *
 * STARTS: how many. BLOCKS: that move a start, 1 or 2. READY: a ready send, which is
 * enqueued when its receive is known to be. FAILURES: how many queues may fail by themselves; what
 * follows from that does not count. DEATH: in their place a process may die; then, and only then,
 * who waits for what it was moving goes after a while.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_ADD     the state is changed by a load and a store
 *   BREAK_EARLY   done is told before the data is there
 *   BREAK_CLOSE   a wait is given up without closing the pair
 *   BREAK_RECALL  a start that lacks its wait is not taken back before the buffer is freed
 *   BREAK_RESET   a block that sees as many gone as have come is the last one
 *   BREAK_FOUND   each block finds out by itself who moves
 *   BREAK_REUSE   a sender's words are used again before its receiver has freed its end
 *   BREAK_CLEAN   they are used again though the receiver's last start was taken back
 *   BREAK_ASK     a ready send does not look whether its receive was taken back
 *   BREAK_DONE    the words of a ready pair that was closed as its data came are used again
 *   BREAK_ONCE    to take back a ready pair's receive is tried once
 *   BREAK_TELL    a failure is not told to the peer
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

#define SENDER 0
#define RECEIVER 1
#define CLOSED 64
#define IS_CLOSED(word) ((word) > CLOSED / 2)
#ifdef READY
#define IS_READY true
#define MINE(e) 0
#else
#define IS_READY false
#define MINE(e) ((e) == SENDER -> 1 : -1)
#endif
#define BY_START(e) ((e) == SENDER -> 1 : -1)

/* Words that GPUs see. */
short state;
byte come[2], gone[2], found[2], done[2], told[2], halted[2];
byte from[BLOCKS], to[BLOCKS]; /* the buffers: whose start's data each part holds */

/* Words of hosts. */
bool failed[2];     /* the queue of an end */
bool req_failed[2]; /* the pair has failed at this end, which told the other, or was told */
byte epoch[2];      /* starts that were made */
byte booked[2];     /* of which the worker knows that they were made while all was well */
byte posted;        /* receives of a ready send that the other program knows to have started */
byte peer_end[2];
bool freed[2];
mtype = { FAILURE, RELEASE };
chan news[2] = [3] of { mtype, byte }; /* to an end */

/* What nobody sees. */
bool busy[2];  /* the buffer is not its owner's: from the start until its wait has ended */
bool given[2]; /* the words may belong to another pair */
byte moved;    /* starts that an end moves, or has moved */
bool second_is[2]; /* what the first block of a launch has found */
byte more[2]; /* the start that the other block of a launch has to move; 0: none */
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

/* Starts. */

/* Who moves is known by one atomic operation. */
inline comes_second(e, n)
{
#ifdef BREAK_ADD
    before = state;
    atomic {
        USE(SENDER);
        state = before + BY_START(e);
#else
    atomic {
        USE(SENDER);
        before = state;
        state = state + BY_START(e);
#endif
#ifdef BREAK_ASK
        second = true;
#else
        second = before == (IS_READY -> 0 : 0 - BY_START(e));
#endif
        second_is[e] = second;
        if
        :: second -> moved++; assert(moved == n)
        :: else
        fi;
        before = 0
    }
}

inline copy(b)
{
    atomic { assert(busy[SENDER]); data = from[b] }
    atomic { assert(busy[RECEIVER]); to[b] = data; data = 0 }
}

/* In any order; bits of puts say what has been put. */
#define PUT(bit, e, word, n) \
    :: atomic { !(puts & bit) -> USE(e); assert(word[e] == n - 1); word[e] = n; puts = puts | bit }

inline tell_both(e, n)
{
#ifdef DEATH
    atomic { /* not even a process that dies does in the midst of these stores */
#endif
    do
    PUT(1, 1 - e, done, n)
    PUT(2, e, done, n)
    PUT(4, 1 - e, told, n)
    PUT(8, e, told, n)
    :: atomic { IS_READY && !(puts & 16) -> USE(e); state--; puts = puts | 16 }
    :: atomic { puts == (IS_READY -> 31 : 15) -> puts = 0; break }
    od
#ifdef DEATH
    }
#endif
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

inline find_out(e, n)
{
#if BLOCKS == 1 || defined(BREAK_FOUND)
    comes_second(e, n);
#else
    atomic { USE(e); before = come[e]; come[e]++ }
    if
    :: atomic { before == 0 ->
            assert(found[e] / 2 != n)
        }
        comes_second(e, n);
        atomic { USE(e); found[e] = 2 * n + second }
    :: atomic { before != 0 && found[e] / 2 == n ->
            USE(e);
            before = 0;
            second = found[e] % 2;
            assert(second == second_is[e])
        }
    fi;
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
    find_out(e, n)
    if
    :: second -> TELL_EARLY(e, n); copy(b)
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
proctype other_block(byte e)
{
    bool second, last;
    short before;
    byte data, puts;

    {
end:
        do
        :: more[e] != 0 -> run_part(e, 1, more[e]); more[e] = 0
        od
    } unless { dead[e] }
}
#endif

inline start(e, n)
{
#if BLOCKS > 1
    more[e] = n;
#endif
    run_part(e, 0, n);
#if BLOCKS > 1
    more[e] == 0
#endif
}

/* Waits. */

inline close_pair(e)
{
    atomic {
        USE(SENDER);
        before = state;
        if
        :: state == MINE(e) -> state = CLOSED; closed = true
        :: else -> closed = IS_CLOSED(state)
        fi
    }
}

/* Sets closed if it was given up. That done lacks n is seen some time before the pair is closed. */
inline wait(e, n)
{
    do
    :: atomic { done[e] >= n -> USE(e); closed = false; before = 0; break }
    :: halted[e] && done[e] < n ->
#ifdef BREAK_CLOSE
        closed = true;
        break
#else
        if
        :: IS_READY && e == SENDER -> closed = true
        :: else -> close_pair(e)
        fi;
        if
        :: closed -> before = 0; break
        :: !closed && dead[1 - e] -> closed = true; before = 0; break
        :: atomic { !closed && (done[e] >= n || state != before) -> before = 0 }
        fi
#endif
    od
}

inline after_wait(e, n)
{
    atomic {
        busy[e] = false;
        assert(closed || moved == n);
        assert(!closed || halted[e]);
        if
        :: e == RECEIVER && !closed -> assert(to[0] == n && to[BLOCKS - 1] == n)
        :: else
        fi;
        if
        :: e == RECEIVER -> to[0] = 0; to[BLOCKS - 1] = 0
        :: else
        fi;
        closed = false
    }
}

/* The end of a pair. */

/* MPI_Request_free: what was started and has not completed is taken back. A ready send that is over
 * may not have left the state yet, so that is tried again. */
inline take_back(e)
{
#ifndef BREAK_RECALL
    if
    :: told[e] < epoch[e] && !(IS_READY && e == SENDER) ->
#ifdef BREAK_ONCE
        close_pair(e);
        (closed || done[e] >= epoch[e] || dead[1 - e]);
#else
        do
        :: closed || done[e] >= epoch[e] || dead[1 - e] -> break
        :: !closed && done[e] < epoch[e] ->
            close_pair(e);
            (closed || done[e] >= epoch[e] || dead[1 - e] || state != before)
        od;
#endif
        before = 0
    :: else
    fi
#else
    skip
#endif
}

#ifdef BREAK_REUSE
#define PEER_IS_GONE(e) (peer_end[e] != 0 || dead[1 - e] || e == SENDER)
#define IS_CLEAN(e) (told[e] == epoch[e] && !req_failed[e])
#else
#define PEER_IS_GONE(e) (peer_end[e] != 0 || dead[1 - e])
#ifdef BREAK_CLEAN
#define IS_CLEAN(e) (told[e] == epoch[e])
#else
#define IS_CLEAN(e) \
    (told[e] == epoch[e] && !req_failed[e] && \
     (e == SENDER -> peer_end[e] == epoch[e] + 1 : peer_end[e] != 0))
#endif
#endif

inline retire(e)
{
    atomic { PEER_IS_GONE(e) ->
        if
        :: IS_CLEAN(e) ->
            assert(done[e] == epoch[e] && come[e] == 0 && gone[e] == 0);
            assert(found[e] / 2 <= epoch[e]);
            assert(e == RECEIVER || state == 0);
            given[e] = true
        :: else
        fi
    }
}

/* The host sees that the stream has drained. A wait for a ready send may have been given up though
 * the data came at that moment: then the pair is closed and all of it is told. */
#ifdef BREAK_DONE
#define MAY_BE_CLOSED(e) false
#else
#define MAY_BE_CLOSED(e) (IS_READY && e == RECEIVER && failed[e])
#endif

inline settle(e)
{
    atomic { told[e] >= epoch[e] || failed[e] ->
        if
        :: told[e] < epoch[e] -> tell_failure(e)
        :: told[e] >= epoch[e] && !MAY_BE_CLOSED(e)
        :: told[e] >= epoch[e] && failed[e] -> tell_failure(e)
        fi
    }
}

/* A stream, and then its host. */
proctype stream(byte e)
{
    bool second, last, closed;
    short before;
    byte data, puts, n = 1;

    {
        do
        :: n > STARTS || failed[e] -> break
        :: IS_READY && e == SENDER && n <= STARTS && (freed[RECEIVER] || dead[RECEIVER]) -> break
        :: atomic { n <= STARTS && (!IS_READY || e == RECEIVER || posted >= n) ->
                assert(!busy[e]);
                if
                :: e == SENDER -> from[0] = n; from[BLOCKS - 1] = n
                :: else
                fi;
                busy[e] = true;
                epoch[e] = n
            }
            if
            :: IS_READY && e == RECEIVER -> posted = n
            :: else -> start(e, n)
            fi;
            atomic {
                if
                :: failed[e] -> tell_failure(e)
                :: booked[e]++
                fi
            }
            if
            :: failed[e] -> break
            :: true -> wait(e, n); after_wait(e, n); n++
            fi
        od;
        settle(e);
        take_back(e);
        atomic {
            busy[e] = false;
            freed[e] = true;
            news[1 - e]!RELEASE((e == SENDER -> booked[e] : told[e]))
        }
        retire(e)
    } unless { dead[e] }
}

/* The progress thread of an end, and what may happen to it. */
#define LACKS_PEER(e) \
    (epoch[e] > told[e] && (dead[1 - e] || (peer_end[e] != 0 && told[e] + 1 >= peer_end[e])))

proctype host(byte e)
{
    byte n;

    {
end:
        do
        :: atomic { news[e]?FAILURE(n) -> req_failed[e] = true; fail_queue(e) }
        :: atomic { news[e]?RELEASE(n) -> peer_end[e] = n + 1; n = 0 }
        :: atomic { !failed[e] && LACKS_PEER(e) -> tell_failure(e); fail_queue(e) }
#ifdef DEATH
        :: atomic { !freed[e] && !dead[1 - e] -> dead[e] = true }
#elif FAILURES > 0
        :: atomic { failures > 0 && !failed[e] && !freed[e] -> failures--; fail_queue(e) }
        :: atomic { failures > 0 && !failed[e] && !freed[e] ->
                failures--;
                tell_failure(e);
                fail_queue(e)
            }
#endif
        od
    } unless { dead[e] }
}

init
{
    atomic {
        run stream(SENDER);
        run stream(RECEIVER);
        run host(SENDER);
        run host(RECEIVER);
#if BLOCKS > 1
        run other_block(SENDER);
#ifndef READY
        run other_block(RECEIVER);
#endif
#endif
    }
}
