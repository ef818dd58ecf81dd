/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * switches.h - the variants of the double, chosen by environment variables (switch_defs.h)
 */
#ifndef CXI_DOUBLE_SWITCHES_H
#define CXI_DOUBLE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

enum { NIC_RULES_CXI, NIC_RULES_GENERIC };
enum { NIC_CHAIN_SUCCESS, NIC_CHAIN_SUM };
enum { NIC_READ_BLOCKING, NIC_READ_STALE };
enum { NIC_CAPTURE_QUEUE, NIC_CAPTURE_FIRE };
enum { NIC_ORDER_ASKED, NIC_ORDER_ALWAYS };
enum { NIC_ACK_EARLY, NIC_ACK_RANDOM, NIC_ACK_LATE };
enum { NIC_DATA_STRICT, NIC_DATA_RELAXED, NIC_DATA_LAST };
enum { NIC_ASKS_ANSWERED, NIC_ASKS_HALF, NIC_ASKS_LOST };
enum { NIC_FULL_STALL, NIC_FULL_REFUSE };
enum { NIC_REFUSE_NONE, NIC_REFUSE_AGAIN, NIC_REFUSE_INTERRUPT };
enum { NIC_HMEM_YES, NIC_HMEM_REFUSE, NIC_HMEM_NO };
enum { NIC_HMEM_DATA_LAST, NIC_HMEM_DATA_STRICT };
enum { NIC_YES, NIC_NO };
enum { NIC_RECEIVES_YES, NIC_RECEIVES_NO, NIC_RECEIVES_ABORT };
enum { NIC_LOAD_ABORT, NIC_LOAD_POISON };
enum { NIC_ABORT, NIC_FINE };
enum { NIC_ASSERTS_NO, NIC_ASSERTS_YES };
enum { NIC_CLOSE_WORKS, NIC_CLOSE_ABORT };
enum { NIC_FAULT_NONE, NIC_FAULT_FAIL, NIC_FAULT_LOSE, NIC_FAULT_DUPLICATE, NIC_FAULT_LATE };
enum { NIC_HIT_ANY, NIC_HIT_WRITE, NIC_HIT_ATOMIC, NIC_HIT_SEND, NIC_HIT_READ };

struct nic_switches {
#define SWITCH_CHOICE(field, name, def, choices, help) int field;
#define SWITCH_INT(field, name, def, low, high, help) int field;
#include "switch_defs.h"
#undef SWITCH_CHOICE
#undef SWITCH_INT
};

/* Written by nic_switches_read before any other thread exists; faults also by hooks.c. */
extern struct nic_switches nic_switches;

/* CXI_DOUBLE_WRONG: the behaviour that is to be wrong, so that its check is seen to fail. */
bool nic_is_wrong(const char *behaviour);

size_t nic_max_message(void);

/* A wrong value ends the program: a test that runs another variant than it says is worthless. */
void nic_switches_read(void);

#endif
