/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The table of shares. Its file is found by the user's number and by where process numbers hold,
 * as the table says by these who is alive; so processes in a container with numbers of its own have
 * a table of their own, in which ranks outside of it never come, and their part is kept for them.
 * What stands in it is written under a lock of the file, which the kernel takes from a process that
 * dies, except for what a process uses. It is not trusted: a claim that makes no sense is dropped,
 * and one that somebody has dropped is made anew. */
#include "shares.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/backoff.h"
#include "util/lock.h"

enum { CLAIMS = 1024, LINE = 128 };

/* The last digit is the version of the layout, which the name of the file has too. */
#define MAGIC UINT64_C(0x4d50585153480002)
#define NAME "mpixq-shares-2"

/* How long to try to get the lock, which is held for microseconds. */
#define LOCK_US 1000000
/* Between two questions for what others have given back, and for who has ended, which takes files.
 */
#define ASK_NS UINT64_C(10000000)
#define LOOK_NS UINT64_C(1000000000)

union slot {
    struct cxi_claim claim;
    char line[LINE]; /* processes write to lines of their own */
};

_Static_assert(sizeof(union slot) == LINE, "a claim fits into a line");

struct cxi_table {
    uint64_t magic;
    char rest[LINE - sizeof(uint64_t)];
    union slot slots[CLAIMS];
};

static uint32_t limit_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static uint32_t used_of(uint64_t word)
{
    return (uint32_t)word;
}

static void set_limit(struct cxi_claim *claim, uint32_t limit, uint32_t used)
{
    atomic_store(&claim->word, (uint64_t)limit << 32 | used);
}

/* The file. */

static bool lock(const struct cxi_shares *shares)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(shares->file, F_SETLK, &whole) == 0;
}

static void unlock(const struct cxi_shares *shares)
{
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void)fcntl(shares->file, F_SETLK, &whole);
}

static bool lock_soon(const struct cxi_shares *shares)
{
    uint64_t begin = mpixq_now_ns();

    while (!lock(shares)) {
        if (mpixq_now_ns() - begin > UINT64_C(1000) * LOCK_US) {
            return false;
        }
        mpixq_sleep_us(200);
    }
    return true;
}

/* Is it a file that only this user can have written? */
static bool is_own(const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
           (status->st_mode & (S_IRWXG | S_IRWXO)) == 0 && status->st_nlink <= 1;
}

static void close_file(struct cxi_shares *shares)
{
    if (shares->table != NULL) {
        (void)munmap(shares->table, sizeof *shares->table);
        shares->table = NULL;
    }
    if (shares->file >= 0) {
        (void)close(shares->file); /* which gives the lock up */
        shares->file = -1;
    }
}

/* NULL and the lock; or why not. *again_p: it was removed meanwhile. */
static const char *open_and_lock(struct cxi_shares *shares, bool *again_p)
{
    struct stat status;

    *again_p = false;
    /* Neither a link nor a pipe that somebody else has put there. */
    shares->file = open(shares->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                        S_IRUSR | S_IWUSR);
    if (shares->file < 0) {
        return "the table of shares cannot be opened";
    }
    if (fstat(shares->file, &status) != 0 || !is_own(&status)) {
        return "the table of shares is not this user's alone";
    }
    if (!lock_soon(shares)) {
        return "the table of shares is locked";
    }
    if (fstat(shares->file, &status) != 0 || status.st_nlink == 0) {
        *again_p = true;
        return "the table of shares was removed";
    }
    /* The pages as well: to find none left when they are first written to would be fatal. */
    return posix_fallocate(shares->file, 0, sizeof *shares->table) == 0
               ? NULL
               : "there is no room for a table of shares";
}

static const char *open_table(struct cxi_shares *shares, const char *folder)
{
    const char *why;
    bool again;

    (void)snprintf(shares->path, sizeof shares->path, "%s/%s-%u-%016llx", folder, NAME,
                   (unsigned)geteuid(), (unsigned long long)shares->self.process.home.low);
    for (int tries = 0; (why = open_and_lock(shares, &again)) != NULL; tries++) {
        close_file(shares);
        if (!again || tries > 100) {
            return why;
        }
    }
    shares->table =
        mmap(NULL, sizeof *shares->table, PROT_READ | PROT_WRITE, MAP_SHARED, shares->file, 0);
    if (shares->table == MAP_FAILED) {
        shares->table = NULL;
        close_file(shares);
        return "the table of shares cannot be mapped";
    }
    if (shares->table->magic != MAGIC) {
        memset(shares->table, 0, sizeof *shares->table);
        shares->table->magic = MAGIC;
    }
    return NULL;
}

/* The claims, under the lock. */

static bool is_sane(const struct cxi_shares *shares, const struct cxi_claim *claim)
{
    const struct cxi_sharer *who = &claim->who;
    uint64_t word = atomic_load(&claim->word);

    return mpixq_ident_equal(who->process.home, shares->self.process.home) &&
           who->process.pid <= INT_MAX && who->ranks > 0 && who->depth > 0 &&
           limit_of(word) <= (uint32_t)who->depth && used_of(word) <= limit_of(word);
}

/* Those of this world are not asked for: they were there when MPI was initialised, and to look at
 * each costs a file. */
static bool is_stale(const struct cxi_shares *shares, const struct cxi_claim *claim)
{
    return !is_sane(shares, claim) || (!mpixq_ident_equal(claim->who.world, shares->self.world) &&
                                       mpixq_process_has_ended(&claim->who.process));
}

static void drop_stale(struct cxi_shares *shares)
{
    for (int i = 0; i < CLAIMS; i++) {
        struct cxi_claim *claim = &shares->table->slots[i].claim;

        if (claim->who.process.pid != 0 && is_stale(shares, claim)) {
            memset(claim, 0, sizeof *claim);
        }
    }
}

static bool is_on(const struct cxi_claim *claim, struct mpixq_ident nic)
{
    return claim->who.process.pid != 0 && mpixq_ident_equal(claim->who.device, nic);
}

static bool is_mine(const struct cxi_shares *shares, const struct cxi_claim *claim)
{
    return claim->who.process.pid == shares->self.process.pid &&
           claim->who.process.birth == shares->self.process.birth &&
           is_on(claim, shares->self.device);
}

/* The processes of a world that are on a NIC, or may still come to it. One that has several NICs
 * has come to all of them. */
static uint32_t users_of_world(const struct cxi_shares *shares, const struct cxi_sharer *of)
{
    uint32_t here = 0, elsewhere = 0, others = 0, ranks = (uint32_t)of->ranks;

    for (int i = 0; i < CLAIMS; i++) {
        const struct cxi_claim *claim = &shares->table->slots[i].claim;

        if (claim->who.process.pid != 0 && mpixq_ident_equal(claim->who.world, of->world)) {
            here += is_on(claim, of->device);
            elsewhere += !is_on(claim, of->device) && claim->who.place == 0;
            others += is_on(claim, of->device) && claim->who.place > 0;
        }
    }
    elsewhere -= others < elsewhere ? others : elsewhere; /* these are here as well */
    return ranks > here + elsewhere ? ranks - elsewhere : here;
}

/* Is it the first claim of its world on its NIC? */
static bool is_first(const struct cxi_shares *shares, int index)
{
    const struct cxi_sharer *who = &shares->table->slots[index].claim.who;

    for (int i = 0; i < index; i++) {
        const struct cxi_claim *claim = &shares->table->slots[i].claim;

        if (is_on(claim, who->device) && mpixq_ident_equal(claim->who.world, who->world)) {
            return false;
        }
    }
    return true;
}

/* Lower a limit, but not below what is used. Returns the new one. */
static uint32_t lower_limit(struct cxi_claim *claim, uint32_t share)
{
    uint64_t word = atomic_load(&claim->word), lowered;

    do {
        uint32_t limit = limit_of(word) < share  ? limit_of(word)
                         : used_of(word) > share ? used_of(word)
                                                 : share;

        lowered = (uint64_t)limit << 32 | used_of(word);
    } while (!atomic_compare_exchange_weak(&claim->word, &word, lowered));
    return limit_of(lowered);
}

/* Raise a limit as far as the share, by what is left. Returns what it took. */
static uint32_t raise_limit(struct cxi_claim *claim, uint32_t left)
{
    uint32_t limit = limit_of(atomic_load(&claim->word));
    uint32_t more = claim->share > limit ? claim->share - limit : 0;

    more = more < left ? more : left;
    atomic_fetch_add(&claim->word, (uint64_t)more << 32);
    return more;
}

static void divide(struct cxi_shares *shares, struct mpixq_ident nic)
{
    uint32_t depth = UINT32_MAX, users = 0, spent = 0;

    for (int i = 0; i < CLAIMS; i++) {
        const struct cxi_claim *claim = &shares->table->slots[i].claim;

        if (is_on(claim, nic)) {
            depth = (uint32_t)claim->who.depth < depth ? (uint32_t)claim->who.depth : depth;
            users += is_first(shares, i) ? users_of_world(shares, &claim->who) : 0;
        }
    }
    for (int i = 0; i < CLAIMS; i++) {
        struct cxi_claim *claim = &shares->table->slots[i].claim;

        if (is_on(claim, nic)) {
            claim->share = depth / users;
            spent += lower_limit(claim, claim->share);
        }
    }
    for (int i = 0; i < CLAIMS && spent < depth; i++) {
        if (is_on(&shares->table->slots[i].claim, nic)) {
            spent += raise_limit(&shares->table->slots[i].claim, depth - spent);
        }
    }
}

static void divide_all(struct cxi_shares *shares)
{
    for (int i = 0; i < CLAIMS; i++) {
        const struct cxi_claim *claim = &shares->table->slots[i].claim;
        bool seen = claim->who.process.pid == 0;

        for (int k = 0; k < i && !seen; k++) {
            seen = is_on(&shares->table->slots[k].claim, claim->who.device);
        }
        if (!seen) {
            divide(shares, claim->who.device);
        }
    }
}

/* A claim for this process, with nothing in it but what it uses. False: there is no room. */
static bool claim_one(struct cxi_shares *shares, uint32_t used)
{
    for (int i = 0; i < CLAIMS; i++) {
        struct cxi_claim *claim = &shares->table->slots[i].claim;

        if (claim->who.process.pid == 0) {
            set_limit(claim, used, used);
            claim->share = 0;
            claim->who = shares->self;
            shares->mine = claim;
            return true;
        }
    }
    return false;
}

/* What others call. */

void mpixq_cxi_shares_fix(struct cxi_shares *shares, int entries)
{
    shares->file = -1;
    shares->mine = &shares->alone;
    shares->alone.share = (uint32_t)entries;
    set_limit(&shares->alone, (uint32_t)entries, 0);
}

static const char *join(struct cxi_shares *shares, const char *folder)
{
    const char *why = open_table(shares, folder);

    if (why != NULL) {
        return why;
    }
    drop_stale(shares);
    if (!claim_one(shares, 0)) {
        close_file(shares);
        return "the table of shares is full";
    }
    divide_all(shares);
    unlock(shares);
    return NULL;
}

const char *mpixq_cxi_shares_join(struct cxi_shares *shares, const char *folder,
                                  const struct cxi_sharer *me)
{
    const char *why;

    shares->self = *me;
    mpixq_cxi_shares_fix(shares, me->depth / me->ranks);
    if (me->depth <= 0) {
        return NULL; /* there is nothing to share */
    }
    if (mpixq_ident_is_none(me->process.home)) {
        return "the system does not say what process this is";
    }
    mpixq_lock_acquire(shares->among);
    why = join(shares, folder);
    mpixq_lock_release(shares->among);
    return why;
}

static bool is_empty(const struct cxi_shares *shares)
{
    for (int i = 0; i < CLAIMS; i++) {
        if (shares->table->slots[i].claim.who.process.pid != 0) {
            return false;
        }
    }
    return true;
}

/* The last one removes the file, unless it has been removed already and this is another one. */
static void remove_file(const struct cxi_shares *shares)
{
    struct stat ours, there;

    if (fstat(shares->file, &ours) == 0 && lstat(shares->path, &there) == 0 &&
        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
        (void)unlink(shares->path);
    }
}

void mpixq_cxi_shares_leave(struct cxi_shares *shares)
{
    if (shares->table == NULL) {
        return;
    }
    mpixq_lock_acquire(shares->among);
    /* Otherwise it goes with the process. */
    if (lock_soon(shares)) {
        if (is_mine(shares, shares->mine)) {
            memset(shares->mine, 0, sizeof *shares->mine);
        }
        divide_all(shares);
        if (is_empty(shares)) {
            remove_file(shares);
        }
    }
    shares->mine = &shares->alone;
    close_file(shares);
    mpixq_lock_release(shares->among);
}

/* Limit and use, both 0 where somebody has dropped the claim: another process may have it by now.
 */
static uint64_t word_of_mine(const struct cxi_shares *shares)
{
    bool lost = shares->table != NULL && !is_mine(shares, shares->mine);

    return lost ? 0 : atomic_load_explicit(&shares->mine->word, memory_order_relaxed);
}

int mpixq_cxi_shares_limit(const struct cxi_shares *shares)
{
    uint32_t limit = limit_of(word_of_mine(shares));

    return limit <= (uint32_t)INT_MAX ? (int)limit : INT_MAX;
}

int mpixq_cxi_shares_room(const struct cxi_shares *shares)
{
    uint64_t word = word_of_mine(shares);

    return used_of(word) < limit_of(word) ? (int)(limit_of(word) - used_of(word)) : 0;
}

bool mpixq_cxi_shares_take(struct cxi_shares *shares)
{
    uint64_t word = word_of_mine(shares);

    do {
        if (used_of(word) >= limit_of(word)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&shares->mine->word, &word, word + 1));
    return true;
}

void mpixq_cxi_shares_give(struct cxi_shares *shares)
{
    uint64_t word = word_of_mine(shares);

    while (used_of(word) > 0 &&
           !atomic_compare_exchange_weak(&shares->mine->word, &word, word - 1)) {
    }
}

/* Under the lock. */
static void ask(struct cxi_shares *shares, int used, uint64_t now)
{
    if (now - shares->looked_ns >= LOOK_NS) {
        shares->looked_ns = now;
        drop_stale(shares);
    }
    if (is_mine(shares, shares->mine) || claim_one(shares, (uint32_t)used)) {
        divide_all(shares);
    }
}

void mpixq_cxi_shares_ask(struct cxi_shares *shares, int used)
{
    uint64_t now;

    if (shares->table == NULL ||
        (is_mine(shares, shares->mine) &&
         (uint32_t)mpixq_cxi_shares_limit(shares) >= atomic_load(&shares->mine->share))) {
        return;
    }
    now = mpixq_now_ns();
    if (now - shares->asked_ns < ASK_NS || !mpixq_lock_try(shares->among)) {
        return;
    }
    shares->asked_ns = now;
    if (lock(shares)) {
        ask(shares, used, now);
        unlock(shares);
    }
    mpixq_lock_release(shares->among);
}
