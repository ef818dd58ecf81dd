/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Messages in shares of doc/cxi.md: one standard send, of which each share goes by a NIC of its
 * own. A share by itself is a pair as cxi.pml has it; here is what holds the shares together. The
 * streams of both ends execute ROUNDS starts, a share after the other, and a wait for all of them
 * after each; then, or when the pair has failed, both requests are freed, and the buffer of the
 * receive is the program's. The data of a write is read, lands, and is answered at different times.
 * Any one write or clear-to-send may fail, and so does a write that finds no region.
 *
 * Arrays are by share, or by process where that is said: 0 sends. Starts count from 1.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_FIRST   a wait looks at the word of the first share alone
 *   BREAK_JOINED  the NICs of a process add to one word
 *   BREAK_CTS     a write waits for the clear-to-send of the first share
 *   BREAK_AGREE   each end has as many shares as it has NICs, and the receive has fewer
 *   BREAK_NUMBER  rings are numbered for all NICs of a queue together
 *   BREAK_ALONE   a share that fails does not fail its pair
 *   BREAK_TELL    a failure is not told to the peer
 *   BREAK_FREE    the region of the first share alone is closed before the buffer is the program's
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef SHARES
#define SHARES 2
#endif
#ifdef BREAK_AGREE
#define SHARES_OF_RECEIVE (SHARES - 1)
#else
#define SHARES_OF_RECEIVE SHARES
#endif

byte sends[SHARES], receives[SHARES]; /* executed: rung for */
byte cts[SHARES];
byte left[SHARES], landed[SHARES], answered[SHARES]; /* writes */
byte data[SHARES];           /* of the write that has left: the round that it is of */
byte send_word[SHARES], receive_word[SHARES];
bool broke[SHARES];          /* an operation has failed: nothing comes behind it */
byte source;                 /* of which round what is sent is; 0: the program's */
byte part[SHARES];           /* and what was received */
bool has_region[SHARES] = true;
bool is_programs;            /* the buffer of the receive */
bool failed[2];              /* by process: failure word */
bool may_fail = true;
byte ended;

#ifdef BREAK_FIRST
#define ALL(words, k) (words[0] >= (k))
#elif defined(BREAK_JOINED)
#define ALL(words, k) (words[0] >= SHARES * (k))
#elif SHARES == 3
#define ALL(words, k) (words[0] >= (k) && words[1] >= (k) && words[2] >= (k))
#else
#define ALL(words, k) (words[0] >= (k) && words[SHARES_OF_RECEIVE - 1] >= (k))
#endif
#ifdef BREAK_ALONE
#define FAIL(process) skip
#else
#define FAIL(process) failed[process] = true
#endif
#ifdef BREAK_NUMBER
#define IS_RUNG(n, k) (receives[n] >= SHARES * ((k) - 1) + (n) + 1)
#else
#define IS_RUNG(n, k) (receives[n] >= (k))
#endif
#ifdef BREAK_CTS
#define CTS(n) cts[0]
#else
#define CTS(n) cts[n]
#endif

proctype sender()
{
    byte k = 1, n;

    do
    :: k <= ROUNDS && !failed[0] ->
        source = k;
        n = 0;
        do
        :: n < SHARES -> sends[n] = k; n++
        :: else -> break
        od;
        (ALL(send_word, k) || failed[0]);
        k++
    :: else -> break
    od;
    source = 0;
    ended++
}

proctype receiver()
{
    byte k = 1, n;

    do
    :: k <= ROUNDS && !failed[1] ->
        n = 0;
        do
        :: n < SHARES_OF_RECEIVE -> receives[n] = k; n++
        :: else -> break
        od;
        (ALL(receive_word, k) || failed[1]);
        n = 0;
        do
        :: n < SHARES && !failed[1] -> assert(part[n] == k || failed[1]); n++
        :: else -> break
        od;
        k++
    :: else -> break
    od;
    n = 0;
    do
#ifdef BREAK_FREE
    :: n < 1 -> has_region[n] = false; n++
#else
    :: n < SHARES -> has_region[n] = false; n++
#endif
    :: else -> break
    od;
    is_programs = true;
    ended++
}

inline write_fails(n)
{
    broke[n] = true;
    FAIL(0)
}

inline land(n)
{
    assert(receives[n] > landed[n] && !is_programs);
    part[n] = data[n];
    landed[n]++
}

/* What the NICs of both ends do for a share. */
proctype nics(byte n)
{
#ifdef BREAK_JOINED /* what they read before they add may be another's */
    byte sum, own_send, own_receive;
    bool adds;
#endif

    do
    :: atomic { IS_RUNG(n, cts[n] + 1) && cts[n] < ROUNDS && !broke[n] -> cts[n]++ }
    :: atomic { IS_RUNG(n, cts[n] + 1) && cts[n] < ROUNDS && !broke[n] && may_fail ->
            may_fail = false; broke[n] = true; FAIL(1) }
    :: atomic { sends[n] > left[n] && CTS(n) > left[n] && !broke[n] ->
            data[n] = source; left[n]++ }
    :: atomic { left[n] > landed[n] && !broke[n] && has_region[n] -> land(n) }
    :: atomic { left[n] > landed[n] && !broke[n] && (may_fail || !has_region[n]) ->
            may_fail = may_fail && !has_region[n]; write_fails(n) }
    :: atomic { landed[n] > answered[n] -> answered[n]++ }
#ifdef BREAK_JOINED
    :: atomic { answered[n] > own_send && !adds -> own_send++; sum = send_word[0] + 1; adds = true }
    :: atomic { adds -> send_word[0] = sum; adds = false }
    :: atomic { landed[n] > own_receive -> own_receive++; receive_word[0]++ }
#else
    :: atomic { answered[n] > send_word[n] -> send_word[n]++ }
    :: atomic { landed[n] > receive_word[n] -> receive_word[n]++ }
#endif
    :: ended == 2 && (left[n] == landed[n] || broke[n]) -> break
    od
}

/* Each process tells the other. */
proctype control()
{
    do
#ifndef BREAK_TELL
    :: atomic { failed[0] != failed[1] -> failed[0] = true; failed[1] = true }
#endif
    :: ended == 2 -> break
    od
}

init
{
    atomic {
        run sender();
        run receiver();
        run control();
        run nics(0);
        run nics(1);
#if SHARES > 2
        run nics(2)
#endif
    }
}
