/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Eager pairs of doc/cxi.md: one pair, whose sends go to the two slots of the receive. The streams
 * of both ends execute STARTS starts, and a wait after each; the sender may free its request when
 * its last start is complete. Hosts arm starts early, or the stream does when it is there. NICs
 * execute what is armed in any order that the counters allow; a write lands, is counted and is
 * answered at different times, and its answer may come before its data; an atomic arrives, and its
 * end is counted, some time after it was executed. What has come is copied by a thread of the host,
 * as soon as it sees it, or (GPU) by a GPU in the wait for it, which its stream has claimed. With
 * FAILURES any one write may fail, which W counts (COUNTED) or not, and which the ends hear of at
 * any time. With PARTLY the NIC of the sender (1) or of the receiver (2) is short of entries: a
 * start may have got none, or only the first of its two, when the stream comes to it. What is left
 * is taken over by the host, which executes each operation when it sees it due, or posts it late.
 * The other end then arms all in one way, and nothing is freed, which keeps the number of states
 * low.
 *
 * Names: T, W, D, Q and the words are those of doc/cxi.md; D[p] counts for the starts whose number
 * is p modulo 2. Starts count from 1, arrays by start from 0.
 *
 * Without GPU a copy of the host is one step, which keeps the number of states low.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_LOOK      a send is armed on its ring alone though its credit is not there
 *   BREAK_JOINED    rings and credits are counted in one counter, and armed without a look at them
 *   BREAK_EARLY     what lacks its credit is armed on that alone before the stream has come to it
 *   BREAK_LATE      what lacked its credit when the stream came to it is not armed any more
 *   BREAK_COUNTER   both slots are counted in one counter
 *   BREAK_OWN       D does not count the ends of atomics
 *   BREAK_RING      a clear-to-send does not wait for the ring of its start
 *   BREAK_WORD      the wait of a receive ends by the word of the NIC
 *   BREAK_FREED     the region of the CTS word is closed when the send is freed
 *   BREAK_CLAIM     a thread copies without a look at what is claimed
 *   BREAK_BUSY      a wait is claimed though a thread is copying
 *   BREAK_DRAIN     the wait of a GPU ends before its copy
 *   BREAK_HALF      a start that was armed in part is taken over as a whole
 *   BREAK_CREDIT    a send that was taken over is executed without a look at its credit
 *   BREAK_COUNT     so is the end of a receive, without a look at what has come
 */
#ifndef STARTS
#define STARTS 3
#endif
#ifndef PARTLY
#define PARTLY 0
#endif
#define SLOT(k) ((k) % 2)

#ifdef BREAK_COUNTER
#define CLASS(k) 0
#define ORDINAL(k) (k)
#else
#define CLASS(k) ((k) % 2)
#define ORDINAL(k) (((k) + 1) / 2)
#endif
#ifdef BREAK_OWN
#define DUE(k) ORDINAL(k)
#define COUNT_END(k) skip
#else
#define DUE(k) (3 * ORDINAL(k) - 1)
#define COUNT_END(k) D[CLASS(k)]++
#endif
#define CLEAR(k) (cts >= (k) - 1)

byte Qs, Qr, T, W, D[2], cts, send_word, receive_word, taken;
byte claimed, by_gpu, drained; /* start that may be, and is, the GPU's; waits that it has made */
bool busy;                     /* a thread copies */
byte sends, receives; /* executed by the streams */
byte slot[2], buffer;
/* By start: of a send what its write waits for, and how far that is, and whether its word is told; */
bool on_ring[STARTS], on_credit[STARTS], word_posted[STARTS];
bool wrote[STARTS], landed[STARTS], counted[STARTS], answered[STARTS], told[STARTS];
/* of a receive. */
bool cts_posted[STARTS] = PARTLY == 1, done_posted[STARTS] = PARTLY == 1;
bool cleared[STARTS], seen[STARTS], cleared_end[STARTS], done[STARTS], done_end[STARTS];
/* Taken over: the host's next operation of the start, or how many there are. */
byte over_send[STARTS] = 2, over_receive[STARTS] = 2;
bool freed, broke, failed;
byte ended;

#define IF_ROOM(whose, what) if :: what :: PARTLY == whose -> skip fi
#define IS_POSTED(k) (on_ring[k - 1] || on_credit[k - 1])

/* The stream comes to a send: the first entry or both may be there already. */
inline execute_send(k)
{
    sends = k;
    if
#ifdef BREAK_LATE
    :: !IS_POSTED(k) -> on_ring[k - 1] = CLEAR(k); word_posted[k - 1] = true
#else
    :: !IS_POSTED(k) -> IF_ROOM(1, on_credit[k - 1] = true)
#endif
    :: else
    fi;
    if
    :: IS_POSTED(k) && !word_posted[k - 1] -> IF_ROOM(1, word_posted[k - 1] = true)
    :: else
    fi;
#ifdef BREAK_HALF
    over_send[k - 1] = (word_posted[k - 1] -> 2 : 0)
#else
    over_send[k - 1] = (word_posted[k - 1] -> 2 : (IS_POSTED(k) -> 1 : 0))
#endif
}

inline execute_receive(k)
{
    receives = k;
    if
    :: !cts_posted[k - 1] -> IF_ROOM(2, cts_posted[k - 1] = true)
    :: else
    fi;
    if
    :: cts_posted[k - 1] && !done_posted[k - 1] -> IF_ROOM(2, done_posted[k - 1] = true)
    :: else
    fi;
    over_receive[k - 1] = (done_posted[k - 1] -> 2 : (cts_posted[k - 1] -> 1 : 0))
}

inline write(k)
{
    assert(sends >= k && !wrote[k - 1]);
    wrote[k - 1] = true
}

proctype sender()
{
    byte k = 1;

    do
    :: k <= STARTS && !failed ->
        atomic { execute_send(k) }
        Qs++;
        (send_word >= k || failed);
        k++
    :: else -> break
    od;
    if
    :: PARTLY == 0 -> freed = true
    :: skip
    fi;
    ended++
}

#ifdef BREAK_LOOK
#define MAY_ARM(k) true
#elif defined(BREAK_JOINED)
#define MAY_ARM(k) true
#else
#define MAY_ARM(k) CLEAR(k)
#endif

/* Arming in the order of the starts, before they are executed. */
proctype sender_host()
{
    byte k = 1;

    do
#if PARTLY != 2
    :: atomic { k <= STARTS && sends < k && MAY_ARM(k) -> on_ring[k - 1] = true;
        IF_ROOM(1, word_posted[k - 1] = true); k++ }
#ifdef BREAK_EARLY
    :: atomic { k <= STARTS && sends < k && !CLEAR(k) -> on_credit[k - 1] = true;
        word_posted[k - 1] = true; k++ }
#endif
    :: atomic { k <= STARTS && sends >= k -> k++ }
#endif
    :: ended == 2 -> break
    od
}

#ifdef BREAK_JOINED
#define RUNG(k) (Qs + T >= 2 * (k) - 1)
#else
#define RUNG(k) (Qs >= (k))
#endif
#ifdef FAILURES
#define FAIL(k) \
    :: atomic { wrote[k - 1] && !landed[k - 1] && !answered[k - 1] && !broke -> \
        broke = true; landed[k - 1] = true; counted[k - 1] = true; answered[k - 1] = true; \
        W = W + COUNTED }
#else
#define FAIL(k)
#endif
#ifdef BREAK_FREED
#define HAS_REGION !freed
#else
#define HAS_REGION true
#endif
#ifdef BREAK_RING
#define STARTED(k) true
#else
#define STARTED(k) (Qr >= (k))
#endif

#ifdef BREAK_CREDIT
#define MAY_WRITE(k) true
#else
#define MAY_WRITE(k) CLEAR(k)
#endif
#ifdef BREAK_COUNT
#define MAY_END(k) true
#else
#define MAY_END(k) (D[CLASS(k)] >= DUE(k))
#endif

inline tell_send(k)
{
    assert(!told[k - 1] && sends >= k);
    told[k - 1] = true;
    send_word++
}

inline clear(k)
{
    assert(!cleared[k - 1]);
    cleared[k - 1] = true;
    if
    :: HAS_REGION -> cts++; assert(cts <= sends + 1)
    :: else -> failed = true
    fi
}

inline tell_receive(k)
{
    assert(!done[k - 1] && cleared_end[k - 1]);
    done[k - 1] = true;
    receive_word++;
    assert(receive_word == k)
}

/* What a failure found taken over is left as it is. */
#define OVER(end, k, step) (over_##end[k - 1] == (step) && !failed)
#if PARTLY == 1
#define BY_HOST(k) \
    :: atomic { OVER(send, k, 0) && MAY_WRITE(k) -> over_send[k - 1] = 1; write(k) } \
    :: atomic { OVER(send, k, 0) && !CLEAR(k) -> over_send[k - 1] = 1; on_credit[k - 1] = true } \
    :: atomic { OVER(send, k, 1) && W >= (k) -> over_send[k - 1] = 2; tell_send(k) } \
    :: atomic { OVER(send, k, 1) && W < (k) -> over_send[k - 1] = 2; word_posted[k - 1] = true }
#elif PARTLY == 2
#define BY_HOST(k) \
    :: atomic { OVER(receive, k, 0) -> over_receive[k - 1] = 1; clear(k) } \
    :: atomic { OVER(receive, k, 1) && MAY_END(k) -> over_receive[k - 1] = 2; tell_receive(k) } \
    :: atomic { OVER(receive, k, 1) && D[CLASS(k)] < DUE(k) -> over_receive[k - 1] = 2; \
        done_posted[k - 1] = true }
#else
#define BY_HOST(k)
#endif

/* A slot is written only when what was in it has been copied. The word says that a start is over
 * only if all that was posted for it was executed, so that its entries can be used again. */
#define SEND(k) \
    :: atomic { on_ring[k - 1] && !wrote[k - 1] && RUNG(k) -> write(k) } \
    :: atomic { on_credit[k - 1] && !wrote[k - 1] && T >= (k) - 1 -> write(k) } \
    :: atomic { wrote[k - 1] && !landed[k - 1] -> landed[k - 1] = true; \
        assert((k) <= 2 || taken >= (k) - 2); slot[SLOT(k)] = k } \
    :: atomic { landed[k - 1] && !counted[k - 1] -> counted[k - 1] = true; D[CLASS(k)]++ } \
    :: atomic { wrote[k - 1] && !answered[k - 1] -> answered[k - 1] = true; W++ } \
    FAIL(k) \
    :: atomic { W >= (k) && word_posted[k - 1] && !told[k - 1] -> tell_send(k) }
#define RECEIVE(k) \
    :: atomic { cts_posted[k - 1] && STARTED(k) && !cleared[k - 1] -> clear(k) } \
    :: atomic { cleared[k - 1] && !seen[k - 1] -> seen[k - 1] = true; T++ } \
    :: atomic { cleared[k - 1] && !cleared_end[k - 1] -> cleared_end[k - 1] = true; \
        COUNT_END(k) } \
    :: atomic { done_posted[k - 1] && D[CLASS(k)] >= DUE(k) && !done[k - 1] -> \
        tell_receive(k) } \
    :: atomic { done[k - 1] && !done_end[k - 1] -> done_end[k - 1] = true; COUNT_END(k) } \
    BY_HOST(k)

proctype network()
{
    do
    SEND(1) RECEIVE(1)
#if STARTS > 1
    SEND(2) RECEIVE(2)
#endif
#if STARTS > 2
    SEND(3) RECEIVE(3)
#endif
#if STARTS > 3
    SEND(4) RECEIVE(4)
#endif
    :: atomic { broke && !failed -> failed = true }
    :: ended == 2 -> break
    od
}

inline claim(k)
{
    claimed = k;
#ifdef BREAK_BUSY
    by_gpu = k
#else
    if
    :: busy -> claimed = 0
    :: else -> by_gpu = k
    fi
#endif
}

proctype receiver()
{
    byte k = 1;

    do
    :: k <= STARTS && !failed ->
        assert(buffer == 0); /* the program's, which it reads and writes between its waits */
        atomic { execute_receive(k) }
        Qr++;
#ifdef GPU
        if
        :: claim(k)
        :: skip
        fi;
#endif
#ifdef BREAK_WORD
        (receive_word >= k || failed);
#else
#ifdef BREAK_DRAIN
        (by_gpu == k || taken >= k || failed);
#else
        ((by_gpu == k -> drained : taken) >= k || failed);
#endif
#endif
        atomic { assert(failed || buffer == k); buffer = 0 }
        k++
    :: else -> break
    od;
    assert(!failed || broke);
    ended++
}

#ifdef BREAK_CLAIM
#define IS_CLAIMED(k) false
#else
#define IS_CLAIMED(k) (claimed >= (k))
#endif

proctype receiver_host()
{
    byte r = (PARTLY == 1 -> STARTS + 1 : 1), k;

    do
    :: atomic { r <= STARTS && receives < r -> cts_posted[r - 1] = true;
        IF_ROOM(2, done_posted[r - 1] = true); r++ }
    :: atomic { r <= STARTS && receives >= r -> r++ }
#ifndef GPU
    :: atomic { receive_word > taken && receives > taken && !failed ->
        k = taken + 1; buffer = slot[SLOT(k)]; taken = k }
#else
    :: receive_word > taken && receives > taken && !failed && !IS_CLAIMED(taken + 1) ->
        busy = true;
        k = taken + 1;
        if
        :: receive_word >= k && receives >= k && !IS_CLAIMED(k) ->
            buffer = slot[SLOT(k)];
            taken = k
        :: else -> skip
        fi;
        busy = false
#endif
    :: ended == 2 -> break
    od
}

#ifdef GPU
/* What a thread has copied before the wait was claimed is copied again. */
proctype receiver_gpu()
{
    byte k;

    do
    :: by_gpu > drained && receive_word >= by_gpu && !failed ->
        k = by_gpu;
        assert(receives >= k);
        buffer = slot[SLOT(k)];
        taken = k;
        drained = k
    :: ended == 2 -> break
    od
}
#endif

init
{
    atomic {
        run sender();
        run sender_host();
        run receiver();
        run receiver_host();
#ifdef GPU
        run receiver_gpu();
#endif
        run network()
    }
}
