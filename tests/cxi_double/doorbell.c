/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * doorbell.c - pages that a store of n to adds n to a counter
 *
 * The pages allow no access. A store faults; the handler reads the value out of the instruction
 * and the registers, hands it to the engine, and goes on behind the instruction. So each store
 * counts, in the order of its thread, however many there are; and a load, or an instruction that
 * loads as well (an exchange, an addition to memory, also a sequentially consistent atomic store),
 * is found out. The handler takes no lock and calls nothing that is not safe in a handler.
 */
#include "double.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BELL_PAGES = 16384, BELL_SIZE = 4096, RING_SIZE = 4096 };

struct store {
    _Atomic uint64_t ticket; /* its number + 1, when the rest is complete */
    uint32_t page, offset;
    uint64_t value;
};

static char *pages;
static uint32_t pages_used; /* under nic.lock; a page is not used again */
static struct nic_cntr *cntrs[BELL_PAGES];
static _Atomic bool page_open[BELL_PAGES];
static struct store ring[RING_SIZE];
/* Any thread takes numbers from next; the engine, under nic.lock, moves done. */
static _Atomic uint64_t next_store, done_stores;
static struct sigaction previous;
static bool installed;

static void (*_Atomic watcher)(uint32_t counter, uint32_t offset, uint64_t value);

void nic_bells_watch(void (*watch)(uint32_t counter, uint32_t offset, uint64_t value))
{
    atomic_store(&watcher, watch);
}

/* Waits when the ring is full: the engine is never the one that stores. */
void nic_bell_store(uint32_t page, uint32_t offset, uint64_t value)
{
    uint64_t number = atomic_fetch_add(&next_store, 1);
    struct store *store = &ring[number % RING_SIZE];
    void (*watch)(uint32_t counter, uint32_t offset, uint64_t value) = atomic_load(&watcher);

    if (watch != NULL) {
        watch(page, offset, value);
    }
    while (number - atomic_load(&done_stores) >= RING_SIZE) {
        nic_wake();
        sched_yield();
    }
    store->page = page;
    store->offset = offset;
    store->value = value;
    atomic_store(&store->ticket, number + 1);
    nic_wake();
}

uint64_t nic_bell_stores(void)
{
    return atomic_load(&next_store);
}

static void store_apply(struct nic_cntr *cntr, uint32_t offset, uint64_t value)
{
    if (nic_is_wrong("doorbell-words")) {
        offset ^= MPIXQ_CXI_BELL_ADD_FAILURE;
    }
    switch (offset) {
    case MPIXQ_CXI_BELL_ADD:
        nic_cntr_add(cntr, value & FI_CXI_CNTR_SUCCESS_MAX, 0);
        break;
    case MPIXQ_CXI_BELL_ADD_FAILURE:
        nic_cntr_add(cntr, 0, value & FI_CXI_CNTR_FAILURE_MAX);
        break;
    case MPIXQ_CXI_BELL_RESET:
    case MPIXQ_CXI_BELL_RESET_FAILURE:
        if (value != 0) {
            nic_die("a doorbell can set a counter to 0 only, not to %llu",
                    (unsigned long long)value);
        }
        nic_cntr_set(cntr, 0, offset == MPIXQ_CXI_BELL_RESET_FAILURE);
        break;
    default:
        nic_die("store to byte %u of a doorbell page, where nothing is", offset);
    }
}

bool nic_bells_run(void)
{
    bool any = false;

    for (;;) {
        uint64_t number = atomic_load(&done_stores);
        struct store *store = &ring[number % RING_SIZE];
        struct nic_cntr *cntr;

        if (atomic_load(&store->ticket) != number + 1) {
            return any;
        }
        any = true;
        cntr = cntrs[store->page];
        if (cntr != NULL && !(number % 1000 == 999 && nic_is_wrong("doorbell-add"))) {
            store_apply(cntr, store->offset, store->value);
        }
        atomic_store(&done_stores, number + 1);
    }
}

#ifdef __x86_64__

/* Of the registers, in the order of the instruction's numbers. */
static const int register_names[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};

static void complain(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

    (void)ignored; /* Nothing is left to be done about it. */
    abort();
}

/* Bytes of the operand's description, from the ModRM byte on. */
static size_t operand_length(const unsigned char *modrm)
{
    unsigned mode = modrm[0] >> 6, base = modrm[0] & 7;
    size_t length = 1;

    if (base == 4) {
        length++;
        if (mode == 0 && (modrm[1] & 7) == 5) {
            length += 4;
        }
    } else if (mode == 0 && base == 5) {
        length += 4;
    }
    return length + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

/* A 64-bit move to memory, from a register (also non-temporal) or of a constant. */
static bool decode_store(const greg_t *registers, const unsigned char *code, uint64_t *value_p,
                         size_t *length_p)
{
    unsigned rex;
    size_t at = 1, operand;
    int32_t constant;

    if ((code[0] & 0xf8) != 0x48) {
        return false; /* not 64 bits wide */
    }
    rex = code[0];
    if (code[at] == 0x0f && code[at + 1] == 0xc3) {
        at++;
    } else if (code[at] != 0x89 && code[at] != 0xc7) {
        return false;
    }
    operand = operand_length(code + at + 1);
    if (code[at] == 0xc7) {
        memcpy(&constant, code + at + 1 + operand, sizeof(constant));
        *value_p = (uint64_t)(int64_t)constant;
        *length_p = at + 1 + operand + sizeof(constant);
    } else {
        unsigned number = (code[at + 1] >> 3 & 7) + ((rex & 4) != 0 ? 8 : 0);

        *value_p = (uint64_t)registers[register_names[number]];
        *length_p = at + 1 + operand;
    }
    return true;
}

/* A 64-bit move from memory gets a value that nobody can take for a counter's. */
static bool give_poison(greg_t *registers, const unsigned char *code)
{
    unsigned number;

    if ((code[0] & 0xf8) != 0x48 || code[1] != 0x8b) {
        return false;
    }
    number = (code[2] >> 3 & 7) + ((code[0] & 4) != 0 ? 8 : 0);
    registers[register_names[number]] = (greg_t)0xdeadbeefdeadbeefULL;
    registers[REG_RIP] += (greg_t)(2 + operand_length(code + 2));
    return true;
}

static void handle_bell(const char *address, greg_t *registers)
{
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    size_t at = (size_t)(address - pages);
    bool is_store = (registers[REG_ERR] & 2) != 0;
    uint64_t value;
    size_t length;

    if (!is_store) {
        if (nic_switches.load != NIC_LOAD_POISON || !give_poison(registers, code)) {
            complain("cxi double: load from a doorbell, which is write-only\n");
        }
        return;
    }
    if (!decode_store(registers, code, &value, &length)) {
        complain("cxi double: a doorbell wants a plain 64-bit store, and no other instruction "
                 "(exchange, addition, vector, 32 bits)\n");
    }
    nic_bell_store((uint32_t)(at / BELL_SIZE), (uint32_t)(at % BELL_SIZE), value);
    registers[REG_RIP] += (greg_t)length;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    const char *address = info->si_addr;

    if (address >= pages && address < pages + (size_t)BELL_PAGES * BELL_SIZE &&
        atomic_load(&page_open[(size_t)(address - pages) / BELL_SIZE])) {
        handle_bell(address, state->uc_mcontext.gregs);
        return;
    }
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
        return;
    }
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
        return;
    }
    /* The instruction faults again, and that ends the program. */
    signal(SIGSEGV, SIG_DFL);
}

static void uninstall(void)
{
    struct sigaction now;

    /* Unless somebody has put another one in front of ours. */
    if (installed && sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_fault) {
        sigaction(SIGSEGV, &previous, NULL);
    }
}

static int install(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (!installed && sigaction(SIGSEGV, &action, &previous) != 0) {
        return -FI_EOTHER;
    }
    installed = true;
    return 0;
}

#else

/* No decoder for this processor: counters have no doorbells then. */
static int install(void)
{
    return 0;
}

static void uninstall(void)
{
}

#endif

int nic_bells_open(void)
{
    void *memory = mmap(NULL, (size_t)BELL_PAGES * BELL_SIZE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        return -FI_ENOMEM;
    }
    pages = memory;
    pages_used = 0;
    return install();
}

/* The handler stays: somebody may have put another one in front of it. */
void nic_bells_close(void)
{
    munmap(pages, (size_t)BELL_PAGES * BELL_SIZE);
    pages = NULL;
}

void nic_bells_leave(void)
{
    uninstall();
}

int nic_bell_open(struct nic_cntr *cntr)
{
    if (pages_used == BELL_PAGES) {
        return -FI_EDOMAIN;
    }
    cntr->bell = pages_used++;
    cntrs[cntr->bell] = cntr;
    atomic_store(&page_open[cntr->bell], true);
    return 0;
}

void nic_bell_close(struct nic_cntr *cntr)
{
    atomic_store(&page_open[cntr->bell], false);
    cntrs[cntr->bell] = NULL;
}

void *nic_bell_address(const struct nic_cntr *cntr)
{
#ifdef __x86_64__
    return pages + (size_t)cntr->bell * BELL_SIZE;
#else
    (void)cntr;
    return NULL;
#endif
}
