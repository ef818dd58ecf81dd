/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts that a GPU counts and threads of the host make (src/core/tally.c, src/cxi/counted.c): one
 * end of one pair, after its first capture. The program makes ROUNDS starts, one after the other:
 * a graph that starts and waits, a thread that does both, or a thread whose start a graph waits
 * for. Two threads of the library, of streams and of progress, find starts and completions. Then,
 * or once it has failed, the request is freed, and a replay comes too late.
 *
 * Each step of a process is one access of a word that others use. Starts count from 1.
 *
 * Macros that break one rule each, so that the checks can be seen to fail:
 *   BREAK_ENTER  who makes a start of the pair, or tells its completion, is not alone
 *   BREAK_BEGUN  what a thread starts is not noted as given to the channel
 *   BREAK_WAITED a completion is told before it is noted that nobody else waits for the start
 *   BREAK_BY     what a thread has started is taken for the GPU's
 *   BREAK_DONE   the GPU is not told of completions
 *   BREAK_DRIVE  only starts are looked for, and not what is under way
 *   BREAK_HALT   waits do not end when the pair has failed
 *   BREAK_WORD   a free does not tell the GPU
 *   BREAK_FREE   a free does not wait for a thread that is at the pair
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif

/* Words that the GPU sees, and what it tells the host. */
byte own_started, own_waited, own_done, told_started;
bool own_closed, halt;
/* Of the tally. */
byte begun;
bool is_closed, by_thread;
byte driven; /* threads that are at it: the lock lets in one at a time */
/* Of the pair and its end; completed is what the network knows. */
byte executed, completed, done;
bool is_entered, has_failed, is_freed;

byte made;   /* by the program */
bool is_over; /* with all of them, and with the free */

#define IS_UNDER_WAY (told_started > done)

#ifdef BREAK_ENTER
#define ENTER skip
#define TRY_ENTER(got) got = true
#define LEAVE skip
#else
#define ENTER atomic { !is_entered -> is_entered = true }
#define TRY_ENTER(got) atomic { got = !is_entered; is_entered = true }
#define LEAVE is_entered = false
#endif

inline raise_waited(value)
{
    atomic {
        if
        :: own_waited < value -> own_waited = value
        :: else
        fi
    }
}

inline note_completion(seen)
{
    seen = completed;
    if
    :: seen > done ->
#ifndef BREAK_WAITED
        if
        :: by_thread -> raise_waited(seen)
        :: else
        fi;
#endif
        done = seen;
#ifndef BREAK_DONE
        own_done = seen;
#endif
#ifdef BREAK_WAITED
        if
        :: by_thread -> raise_waited(seen)
        :: else
        fi;
#endif
        by_thread = false
    :: else
    fi
}

/* The channel makes a start: the one that was begun, and no other is under way. */
inline execute()
{
    assert(!is_freed);
    atomic {
        executed++;
        assert(executed == begun && executed <= made && completed == executed - 1)
    }
}

inline next_start(number)
{
    number = begun + 1;
    if
    :: !is_closed && number <= told_started && done == executed ->
        by_thread = false;
        begun = number;
        if
        :: has_failed ->
#ifndef BREAK_HALT
            halt = true
#endif
        :: else -> execute()
        fi
    :: else
    fi
}

/* The stream of a host's thread, and the progress thread. A round that finds nothing is none. */
proctype driver()
{
    byte number, seen;
    bool got;

    do
#ifdef BREAK_DRIVE
    :: atomic { driven == 0 && !is_closed && told_started > begun -> driven++ }
#else
    :: atomic { driven == 0 && !is_closed && 
             (told_started > begun || (IS_UNDER_WAY && completed > done)) -> driven++ }
#endif
        assert(!is_freed);
        TRY_ENTER(got);
        if
        :: got ->
            note_completion(seen);
            next_start(number);
            assert(!is_freed);
            LEAVE
        :: else
        fi;
        driven--
    :: is_over -> break
    od
}

/* A kernel; who is wrong is refused, and here nobody is. */
inline gpu_start()
{
    if
    :: own_closed -> skip
    :: else ->
        assert(own_waited == own_started);
        made++;
        own_started++;
        told_started = own_started
    fi
}

inline gpu_wait(value)
{
    value = own_waited + 1;
    if
    :: own_started >= value ->
        (own_done >= value || halt);
        if
        :: own_done >= value -> own_waited = value
        :: else -> has_ended = true
        fi
    :: else
    fi
}

inline thread_start(number, seen)
{
    ENTER;
    note_completion(seen);
    assert(!IS_UNDER_WAY);
    made++;
    number = told_started + 1;
    by_thread = true;
#ifdef BREAK_BY
    by_thread = false;
#endif
#ifndef BREAK_BEGUN
    begun = number;
#endif
    own_started = number;
    told_started = number;
    execute();
    LEAVE
}

inline thread_wait(number, seen, got)
{
    do
    :: done >= number -> break
    :: done < number && has_failed -> has_ended = true; break
    :: done < number && completed >= number ->
        TRY_ENTER(got);
        if
        :: got -> note_completion(seen); LEAVE
        :: else
        fi
    od
}

proctype program()
{
    byte number, seen;
    bool got, has_ended;

    do
    :: made < ROUNDS && !has_ended && !has_failed ->
        if
        :: gpu_start(); gpu_wait(number)
        :: thread_start(number, seen); thread_wait(number, seen, got)
        :: thread_start(number, seen); gpu_wait(number)
        fi
    :: else -> break
    od;
#ifndef BREAK_WORD
    own_closed = true;
#endif
    is_closed = true;
#ifndef BREAK_FREE
    driven == 0;
#endif
    is_freed = true;
    if
    :: has_ended || has_failed
    :: else ->
        assert(executed == made && done == made);
        gpu_start(); /* by a replay that comes too late */
        assert(executed == made)
    fi;
    is_over = true
}

/* The peer and the network, which may fail once; and who looks at the pair then. */
proctype network()
{
    do
    :: atomic { executed > completed && !has_failed -> completed++ }
#ifdef FAILURES
    :: atomic { executed > completed && !has_failed -> has_failed = true }
#ifndef BREAK_HALT
    :: atomic { has_failed && IS_UNDER_WAY && !halt -> halt = true }
#endif
#endif
    :: is_over -> break
    od
}

init
{
    atomic {
        run program();
        run network();
        run driver();
        run driver()
    }
}
