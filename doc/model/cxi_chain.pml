/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains of doc/cxi.md: a barrier of RANKS processes, each of which makes STARTS starts, one when
 * the one before it is complete there, in ROUNDS rounds. In round r a process sends to the one that
 * is 2^r further on, and receives from the one that is 2^r before; its send of round 1 waits for the
 * data of round 0. What its NIC does for a pair is in steps that come in any order: a
 * clear-to-send, a write, a release, the atomics to the words. The ends of the atomics are counted at
 * once; with OWN those of process 0 some time after they were executed.
 *
 * Arrays are by process and round: AT(p, r), of the send that p makes or of the receive that it has.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_RELEASE  a send does not wait for releases
 *   BREAK_EARLY    a release is due one step too early
 *   BREAK_LAST     the word of a receive does not wait for the ends of its releases
 *   BREAK_AHEAD    a process makes its next start when its sends are complete
 *   BREAK_SHARED   releases are counted in one counter for all rounds, with the clear-to-sends
 */
#ifndef STARTS
#define STARTS 2
#endif
#define RANKS 4
#define ROUNDS 2
#define AT(p, r) (ROUNDS * (p) + (r))
#define ALL (RANKS * ROUNDS)
#define TO(p, r) (((p) + 1 + (r)) % RANKS)
#define FROM(p, r) (((p) + RANKS - 1 - (r)) % RANKS)
#define RELEASES(r) ((r) == 0 -> 1 : 0) /* of a receive; a send has as many of the other round */
#define AWAITS(r) ((r) == 0 -> 0 : 1)

/* Of a start D counts the write and the ends of the clear-to-send, the releases and the word. */
#define COUNTED(r) (3 + RELEASES(r))
#ifdef BREAK_EARLY
#define RELEASE_AT(r, k) (COUNTED(r) * (k) - 3)
#else
#define RELEASE_AT(r, k) (COUNTED(r) * (k) - 2)
#endif
#ifdef BREAK_LAST
#define DONE_AT(r, k) (COUNTED(r) * (k) - 1 - RELEASES(r))
#else
#define DONE_AT(r, k) (COUNTED(r) * (k) - 1)
#endif
#ifdef BREAK_RELEASE
#define WRITE_AT(r, k) (2 * (k))
#else
#define WRITE_AT(r, k) ((2 + AWAITS(r)) * (k))
#endif
#ifdef BREAK_SHARED
#define T_OF(p, r) (T[AT(p, 0)] + T[AT(p, 1)])
#else
#define T_OF(p, r) T[AT(p, r)]
#endif

byte T[ALL], D[ALL];
byte starts[RANKS];                                 /* rung for */
byte cts[ALL], writes[ALL], data[ALL];              /* executed; data: by receive */
byte releases[ALL], words[ALL];                     /* of receives */
byte owed[ALL];                                     /* ends to be counted in D */
byte passed;

#ifdef OWN
#define OWE(p, r) if :: (p) == 0 -> owed[AT(p, r)]++ :: else -> D[AT(p, r)]++ fi
#else
#define OWE(p, r) D[AT(p, r)]++
#endif

#ifdef BREAK_AHEAD
#define IS_COMPLETE(p, k) (writes[AT(p, 0)] >= (k) && writes[AT(p, 1)] >= (k))
#else
#define IS_COMPLETE(p, k)                                                                          \
    (writes[AT(p, 0)] >= (k) && writes[AT(p, 1)] >= (k) && words[AT(p, 0)] >= (k) &&               \
     words[AT(p, 1)] >= (k))
#endif

proctype stream(byte me)
{
    byte k = 1;

    do
    :: k <= STARTS ->
        atomic { starts[me] = k; T[AT(me, 0)]++; T[AT(me, 1)]++ }
        IS_COMPLETE(me, k);
        /* Nobody passes a barrier that not all have come to. */
        assert(starts[0] >= k && starts[1] >= k && starts[2] >= k && starts[3] >= k);
        k++
    :: else -> break
    od;
    passed++
}

/* What the NIC of a process does in a round. */
proctype nic(byte me, r)
{
    do
    :: atomic { cts[AT(me, r)] < starts[me] ->
            cts[AT(me, r)]++;
            T[AT(FROM(me, r), r)]++;
            OWE(me, r)
        }
    :: atomic { writes[AT(me, r)] < STARTS && T_OF(me, r) >= WRITE_AT(r, writes[AT(me, r)] + 1) ->
            writes[AT(me, r)]++;
            assert(starts[me] >= writes[AT(me, r)]);
            assert(starts[TO(me, r)] >= writes[AT(me, r)]);
            assert(r == 0 || data[AT(me, 0)] >= writes[AT(me, r)]);
            data[AT(TO(me, r), r)]++;
            D[AT(TO(me, r), r)]++
        }
    :: atomic { r == 0 && releases[AT(me, 0)] < STARTS &&
            D[AT(me, 0)] >= RELEASE_AT(0, releases[AT(me, 0)] + 1) ->
            releases[AT(me, 0)]++;
            assert(data[AT(me, 0)] >= releases[AT(me, 0)]);
            T[AT(me, 1)]++;
            OWE(me, 0)
        }
    :: atomic { words[AT(me, r)] < STARTS && D[AT(me, r)] >= DONE_AT(r, words[AT(me, r)] + 1) ->
            words[AT(me, r)]++;
            assert(data[AT(me, r)] >= words[AT(me, r)]);
            /* Entries come back: all operations of this start are executed. */
            assert(r == 1 || releases[AT(me, r)] >= words[AT(me, r)]);
            OWE(me, r)
        }
    :: atomic { owed[AT(me, r)] > 0 -> owed[AT(me, r)]--; D[AT(me, r)]++ }
    :: atomic { passed == RANKS && owed[AT(me, r)] == 0 -> break }
    od
}

init
{
    byte i;

    atomic {
        do
        :: i < RANKS -> run stream(i); run nic(i, 0); run nic(i, 1); i++
        :: else -> break
        od
    }
}
