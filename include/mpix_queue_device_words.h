/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mpix_queue_device_words.h - what the functions of mpix_queue_device.h need of CUDA and of HIP,
 * and the same for a thread of the host, which then is all of a warp and of a block. Included by
 * that header only; nothing in here is part of the interface.
 *
 * Words are 64 bits, and loaded and stored as a whole. Unless it says otherwise an access is
 * relaxed and of the scope of the system. The instructions are of PTX 6.0 and sm_70.
 */
#ifndef MPIX_QUEUE_DEVICE_WORDS_H_INCLUDED
#define MPIX_QUEUE_DEVICE_WORDS_H_INCLUDED

typedef unsigned long long mpixq_dev_word;

#if defined(__HIP__) || defined(__HIPCC__)
#define MPIXQ_DEV_HIP 1
#elif defined(__CUDACC__) || defined(__CUDA__)
#define MPIXQ_DEV_CUDA 1
#else
#define MPIXQ_DEV_HOST 1
#endif
#ifndef MPIXQ_DEV_HIP
#define MPIXQ_DEV_HIP 0
#endif
#ifndef MPIXQ_DEV_CUDA
#define MPIXQ_DEV_CUDA 0
#endif
#ifndef MPIXQ_DEV_HOST
#define MPIXQ_DEV_HOST 0
#endif

#if MPIXQ_DEV_HOST
#include <time.h>
#define MPIXQ_DEV static inline __attribute__((unused))
#define MPIXQ_DEV_ANYWHERE MPIXQ_DEV
#else
#define MPIXQ_DEV static inline __attribute__((device, always_inline, unused))
#define MPIXQ_DEV_ANYWHERE static inline __attribute__((host, device, always_inline, unused))
#endif

#if MPIXQ_DEV_CUDA

MPIXQ_DEV mpixq_dev_word mpixq_dev_load(const mpixq_dev_word *word) /* acquire */
{
    mpixq_dev_word value;

    __asm__ volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_peek(const mpixq_dev_word *word)
{
    mpixq_dev_word value;

    __asm__ volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

MPIXQ_DEV void mpixq_dev_put(mpixq_dev_word *word, mpixq_dev_word value)
{
    __asm__ volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* Two words side by side, at a multiple of 16 bytes; each of them is whole. */
MPIXQ_DEV void mpixq_dev_put_two(mpixq_dev_word *words, mpixq_dev_word first, mpixq_dev_word second)
{
    __asm__ volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(words), "l"(first), "l"(second)
                     : "memory");
}

MPIXQ_DEV void mpixq_dev_peek_two(const mpixq_dev_word *words, mpixq_dev_word *first,
                                  mpixq_dev_word *second)
{
    __asm__ volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                     : "=l"(*first), "=l"(*second)
                     : "l"(words)
                     : "memory");
}

/* Returns what was there. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_replace(mpixq_dev_word *word, mpixq_dev_word expected,
                                           mpixq_dev_word value)
{
    mpixq_dev_word before;

    __asm__ volatile("atom.relaxed.sys.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(before)
                     : "l"(word), "l"(expected), "l"(value)
                     : "memory");
    return before;
}

/* To what is seen by the system. */
MPIXQ_DEV void mpixq_dev_add(mpixq_dev_word *word, mpixq_dev_word value)
{
    __asm__ volatile("red.relaxed.sys.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* Relaxed, within this GPU. Returns what was there. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_add_here(mpixq_dev_word *word, mpixq_dev_word value)
{
    mpixq_dev_word before;

    __asm__ volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;"
                     : "=l"(before)
                     : "l"(word), "l"(value)
                     : "memory");
    return before;
}

/* Release and acquire. */
MPIXQ_DEV void mpixq_dev_fence(void)
{
    __asm__ volatile("fence.acq_rel.sys;" ::: "memory");
}

/* Release and acquire, within this GPU. */
MPIXQ_DEV void mpixq_dev_fence_here(void)
{
    __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_clock(void) /* nanoseconds */
{
    mpixq_dev_word now;

    __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

MPIXQ_DEV void mpixq_dev_pause(void)
{
}

#define MPIXQ_DEV_REGISTER(name, text)                                                             \
    MPIXQ_DEV unsigned name(void)                                                                  \
    {                                                                                              \
        unsigned value;                                                                            \
                                                                                                   \
        __asm__("mov.u32 %0, %%" text ";" : "=r"(value));                                          \
        return value;                                                                              \
    }
MPIXQ_DEV_REGISTER(mpixq_dev_tid_x, "tid.x")
MPIXQ_DEV_REGISTER(mpixq_dev_tid_y, "tid.y")
MPIXQ_DEV_REGISTER(mpixq_dev_tid_z, "tid.z")
MPIXQ_DEV_REGISTER(mpixq_dev_ntid_x, "ntid.x")
MPIXQ_DEV_REGISTER(mpixq_dev_ntid_y, "ntid.y")
MPIXQ_DEV_REGISTER(mpixq_dev_ntid_z, "ntid.z")
#undef MPIXQ_DEV_REGISTER

#define MPIXQ_DEV_WARP 32u

MPIXQ_DEV void mpixq_dev_meet_warp(void)
{
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

MPIXQ_DEV void mpixq_dev_meet_block(void)
{
    __asm__ volatile("bar.sync 0;" ::: "memory");
}

/* What the first thread says, to all. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_tell_warp(mpixq_dev_word value)
{
    unsigned low = (unsigned)value, high = (unsigned)(value >> 32);

    __asm__ volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(low)::"memory");
    __asm__ volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(high)::"memory");
    return (mpixq_dev_word)high << 32 | low;
}

/* The threads meet: does any of them say so? The vote alone orders no memory. */
MPIXQ_DEV int mpixq_dev_any_of_warp(int flag)
{
    int any;

    mpixq_dev_meet_warp();
    __asm__ volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0;"
                     " vote.sync.any.pred q, p, 0xffffffff; selp.s32 %0, 1, 0, q; }"
                     : "=r"(any)
                     : "r"(flag)
                     : "memory");
    return any;
}

MPIXQ_DEV int mpixq_dev_any_of_block(int flag)
{
    int any;

    __asm__ volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0;"
                     " bar.red.or.pred q, 0, p; selp.s32 %0, 1, 0, q; }"
                     : "=r"(any)
                     : "r"(flag)
                     : "memory");
    return any;
}

/* What so many lanes further on has. */
MPIXQ_DEV unsigned mpixq_dev_from_lane(unsigned value, unsigned further)
{
    unsigned theirs;

    __asm__ volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;"
                     : "=r"(theirs)
                     : "r"(value), "r"(further)
                     : "memory");
    return theirs;
}

/* To a word in shared memory. */
MPIXQ_DEV void mpixq_dev_add_shared(unsigned *word, unsigned value)
{
    __asm__ volatile("red.relaxed.cta.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

#elif MPIXQ_DEV_HIP

MPIXQ_DEV mpixq_dev_word mpixq_dev_load(const mpixq_dev_word *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_peek(const mpixq_dev_word *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

MPIXQ_DEV void mpixq_dev_put(mpixq_dev_word *word, mpixq_dev_word value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_replace(mpixq_dev_word *word, mpixq_dev_word expected,
                                           mpixq_dev_word value)
{
    (void)__atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
    return expected;
}

MPIXQ_DEV void mpixq_dev_add(mpixq_dev_word *word, mpixq_dev_word value)
{
    (void)__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_add_here(mpixq_dev_word *word, mpixq_dev_word value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

MPIXQ_DEV void mpixq_dev_fence(void)
{
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");
}

MPIXQ_DEV void mpixq_dev_fence_here(void)
{
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_clock(void)
{
    return __builtin_amdgcn_s_memrealtime() * 10; /* of 100 MHz */
}

MPIXQ_DEV void mpixq_dev_pause(void)
{
    __builtin_amdgcn_s_sleep(1);
}

/* The packet by which the kernel was launched has the size of a block. */
MPIXQ_DEV unsigned mpixq_dev_ntid(unsigned dimension)
{
    const __attribute__((address_space(4))) unsigned short *packet =
        (const __attribute__((address_space(4))) unsigned short *)__builtin_amdgcn_dispatch_ptr();

    return packet[2 + dimension];
}

#define mpixq_dev_tid_x() ((unsigned)__builtin_amdgcn_workitem_id_x())
#define mpixq_dev_tid_y() ((unsigned)__builtin_amdgcn_workitem_id_y())
#define mpixq_dev_tid_z() ((unsigned)__builtin_amdgcn_workitem_id_z())
#define mpixq_dev_ntid_x() mpixq_dev_ntid(0)
#define mpixq_dev_ntid_y() mpixq_dev_ntid(1)
#define mpixq_dev_ntid_z() mpixq_dev_ntid(2)

#ifdef __AMDGCN_WAVEFRONT_SIZE
#define MPIXQ_DEV_WARP ((unsigned)__AMDGCN_WAVEFRONT_SIZE)
#elif __has_builtin(__builtin_amdgcn_wavefrontsize)
#define MPIXQ_DEV_WARP ((unsigned)__builtin_amdgcn_wavefrontsize())
#else /* when a compiler reads the functions for the host */
#define MPIXQ_DEV_WARP 64u
#endif

/* The first thread may release what all have written: that has left for the system by then. */
MPIXQ_DEV void mpixq_dev_meet_warp(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

MPIXQ_DEV void mpixq_dev_meet_block(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_tell_warp(mpixq_dev_word value)
{
    unsigned low = (unsigned)__builtin_amdgcn_readfirstlane((int)value);
    unsigned high = (unsigned)__builtin_amdgcn_readfirstlane((int)(value >> 32));

    return (mpixq_dev_word)high << 32 | low;
}

MPIXQ_DEV int mpixq_dev_any_of_warp(int flag)
{
    mpixq_dev_meet_warp();
    return __builtin_amdgcn_uicmp((unsigned)flag, 0u, 33 /* ne */) != 0;
}

MPIXQ_DEV int mpixq_dev_any_of_block(int flag)
{
    static __attribute__((shared)) int any;

    if (mpixq_dev_tid_x() + mpixq_dev_tid_y() + mpixq_dev_tid_z() == 0) {
        any = 0;
    }
    mpixq_dev_meet_block();
    if (flag) {
        __atomic_store_n(&any, 1, __ATOMIC_RELAXED);
    }
    mpixq_dev_meet_block();
    flag = __atomic_load_n(&any, __ATOMIC_RELAXED);
    mpixq_dev_meet_block();
    return flag;
}

MPIXQ_DEV unsigned mpixq_dev_from_lane(unsigned value, unsigned further)
{
    unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));

    return (unsigned)__builtin_amdgcn_ds_bpermute((int)(4 * (lane + further)), (int)value);
}

MPIXQ_DEV void mpixq_dev_add_shared(unsigned *word, unsigned value)
{
    (void)__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

#else /* MPIXQ_DEV_HOST */

MPIXQ_DEV mpixq_dev_word mpixq_dev_load(const mpixq_dev_word *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The thread sanitizer has no fences: so each access orders what stands before and after it. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_peek(const mpixq_dev_word *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

MPIXQ_DEV void mpixq_dev_put(mpixq_dev_word *word, mpixq_dev_word value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_replace(mpixq_dev_word *word, mpixq_dev_word expected,
                                           mpixq_dev_word value)
{
    (void)__atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE);
    return expected;
}

MPIXQ_DEV void mpixq_dev_add(mpixq_dev_word *word, mpixq_dev_word value)
{
    (void)__atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_add_here(mpixq_dev_word *word, mpixq_dev_word value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

MPIXQ_DEV void mpixq_dev_fence(void)
{
}

MPIXQ_DEV void mpixq_dev_fence_here(void)
{
}

#ifdef CLOCK_MONOTONIC
MPIXQ_DEV mpixq_dev_word mpixq_dev_clock(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (mpixq_dev_word)now.tv_sec * 1000000000u + (mpixq_dev_word)now.tv_nsec;
}

MPIXQ_DEV void mpixq_dev_pause(void)
{
    struct timespec nap = {0, 20000};

    (void)nanosleep(&nap, 0);
}
#else /* plain C has neither */
MPIXQ_DEV mpixq_dev_word mpixq_dev_clock(void)
{
    return (mpixq_dev_word)time(0) * 1000000000u;
}

MPIXQ_DEV void mpixq_dev_pause(void)
{
}
#endif

#define mpixq_dev_tid_x() 0u
#define mpixq_dev_tid_y() 0u
#define mpixq_dev_tid_z() 0u
#define mpixq_dev_ntid_x() 1u
#define mpixq_dev_ntid_y() 1u
#define mpixq_dev_ntid_z() 1u
#define MPIXQ_DEV_WARP 1u
#define mpixq_dev_meet_warp() ((void)0)
#define mpixq_dev_meet_block() ((void)0)
#define mpixq_dev_tell_warp(value) (value)
#define mpixq_dev_any_of_warp(flag) (flag)
#define mpixq_dev_any_of_block(flag) (flag)

#endif

#if !MPIXQ_DEV_CUDA
MPIXQ_DEV void mpixq_dev_put_two(mpixq_dev_word *words, mpixq_dev_word first, mpixq_dev_word second)
{
    mpixq_dev_put(&words[0], first);
    mpixq_dev_put(&words[1], second);
}

MPIXQ_DEV void mpixq_dev_peek_two(const mpixq_dev_word *words, mpixq_dev_word *first,
                                  mpixq_dev_word *second)
{
    *first = mpixq_dev_peek(&words[0]);
    *second = mpixq_dev_peek(&words[1]);
}
#endif

/* ---- Of these, on all ------------------------------------------------------------------------ */

enum { MPIXQ_DEV_AT_ONCE = 4 };

struct __attribute__((aligned(16))) mpixq_dev_wide {
    mpixq_dev_word low, high;
};

/* 4 bytes of any type in memory of the program; and twice as many, at once if they stand at a
 * multiple of 8. */
typedef unsigned __attribute__((may_alias)) mpixq_dev_bytes4;
typedef mpixq_dev_word __attribute__((may_alias)) mpixq_dev_bytes8;

MPIXQ_DEV unsigned mpixq_dev_read(const char *from)
{
    return *(const mpixq_dev_bytes4 *)(const void *)from;
}

MPIXQ_DEV void mpixq_dev_write(char *to, unsigned value)
{
    *(mpixq_dev_bytes4 *)(void *)to = value;
}

MPIXQ_DEV mpixq_dev_word mpixq_dev_read_two(const char *from, int is_wide)
{
    return is_wide ? *(const mpixq_dev_bytes8 *)(const void *)from
                   : (mpixq_dev_word)mpixq_dev_read(from + 4) << 32 | mpixq_dev_read(from);
}

MPIXQ_DEV void mpixq_dev_write_two(char *to, int is_wide, mpixq_dev_word value)
{
    if (is_wide) {
        *(mpixq_dev_bytes8 *)(void *)to = value;
        return;
    }
    mpixq_dev_write(to, (unsigned)value);
    mpixq_dev_write(to + 4, (unsigned)(value >> 32));
}

/* Add a value to a word of this GPU, and set these bits of it, which may be set. Returns what is
 * there then. */
MPIXQ_DEV mpixq_dev_word mpixq_dev_count_here(mpixq_dev_word *word, mpixq_dev_word value,
                                              mpixq_dev_word bits)
{
    mpixq_dev_word before = 0, seen;

    if (bits == 0) {
        return mpixq_dev_add_here(word, value) + value;
    }
    while ((seen = mpixq_dev_replace(word, before, (before + value) | bits)) != before) {
        before = seen;
    }
    return (before + value) | bits;
}

MPIXQ_DEV unsigned mpixq_dev_rank_in_block(void)
{
    return mpixq_dev_tid_x() +
           mpixq_dev_ntid_x() * (mpixq_dev_tid_y() + mpixq_dev_ntid_y() * mpixq_dev_tid_z());
}

MPIXQ_DEV unsigned mpixq_dev_block_size(void)
{
    return mpixq_dev_ntid_x() * mpixq_dev_ntid_y() * mpixq_dev_ntid_z();
}

/* By the threads of a unit, several loads of each ahead of the stores. */
MPIXQ_DEV void mpixq_dev_copy(char *to, const char *from, mpixq_dev_word bytes, unsigned rank,
                              unsigned size)
{
    mpixq_dev_word done = 0, step = (mpixq_dev_word)MPIXQ_DEV_AT_ONCE * size;

    if (((mpixq_dev_word)to | (mpixq_dev_word)from) % sizeof(struct mpixq_dev_wide) == 0) {
        const struct mpixq_dev_wide *source = (const struct mpixq_dev_wide *)(const void *)from;
        struct mpixq_dev_wide *target = (struct mpixq_dev_wide *)(void *)to;
        mpixq_dev_word low[MPIXQ_DEV_AT_ONCE], high[MPIXQ_DEV_AT_ONCE]; /* in registers */
        mpixq_dev_word n = bytes / sizeof(struct mpixq_dev_wide);

        for (mpixq_dev_word i = rank; i < n; i += step) {
            for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
                low[k] = high[k] = 0;
                if (i + k * size < n) {
                    low[k] = source[i + k * size].low;
                    high[k] = source[i + k * size].high;
                }
            }
            for (unsigned k = 0; k < MPIXQ_DEV_AT_ONCE; k++) {
                if (i + k * size < n) {
                    target[i + k * size].low = low[k];
                    target[i + k * size].high = high[k];
                }
            }
        }
        done = n * sizeof(struct mpixq_dev_wide);
    }
    for (mpixq_dev_word i = done + rank; i < bytes; i += size) {
        to[i] = from[i];
    }
}

#endif /* MPIX_QUEUE_DEVICE_WORDS_H_INCLUDED */
