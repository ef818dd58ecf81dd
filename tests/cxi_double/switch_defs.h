/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * switch_defs.h - every environment variable of the double; no include guard on purpose
 *
 * SWITCH_CHOICE(field, name, default, "a|b|c", help) and
 * SWITCH_INT(field, name, default, lowest, highest, help). The number of a choice is its place in
 * the list; switches.h names those that are tested. README.md has the same table, which
 * tests/nic_docs.sh compares.
 */
SWITCH_CHOICE(rules, "CXI_DOUBLE_RULES", "cxi", "cxi|generic",
              "What cxi refuses is refused, or all that libfabric's manual allows is accepted.")
SWITCH_CHOICE(chain, "CXI_DOUBLE_CHAIN", "success", "success|sum",
              "A threshold is compared with the successes, or with successes and failures.")
SWITCH_CHOICE(read, "CXI_DOUBLE_READ", "blocking", "blocking|stale",
              "fi_cntr_read asks the NIC and waits, or returns what it knew and only asks.")
SWITCH_CHOICE(capture, "CXI_DOUBLE_CAPTURE", "queue", "queue|fire",
              "Deferred work is read when it is queued, or again when it fires.")
SWITCH_CHOICE(order, "CXI_DOUBLE_ORDER", "asked", "asked|always",
              "Operations to one peer are in order only if asked for, or always.")
SWITCH_CHOICE(ack, "CXI_DOUBLE_ACK", "early", "early|random|late",
              "The initiator learns of its end before, around or long after the target.")
SWITCH_CHOICE(data, "CXI_DOUBLE_DATA", "strict", "strict|relaxed|last",
              "The last bytes come before the target counts, after it under an optimized key, or "
              "always after it.")
SWITCH_CHOICE(hmem, "CXI_DOUBLE_HMEM", "yes", "yes|refuse|no",
              "Memory of GPUs can be registered, or each attempt fails, or FI_HMEM is not offered.")
SWITCH_CHOICE(hmem_data, "CXI_DOUBLE_HMEM_DATA", "last", "last|strict",
              "The last bytes for memory of GPUs come after the target counts, unless delivery is "
              "asked for, or as the others do.")
SWITCH_CHOICE(full, "CXI_DOUBLE_FULL", "stall", "stall|refuse",
              "Without a free trigger entry the command queue stands still, or the call fails.")
SWITCH_CHOICE(refuse, "CXI_DOUBLE_REFUSE", "none", "none|again|interrupt",
              "Every second attempt to post fails with -FI_EAGAIN, or to defer with -FI_EINTR.")
SWITCH_CHOICE(asserts, "CXI_DOUBLE_ASSERTS", "no", "no|yes",
              "Whether closing a counter or a domain where refused posts have left something ends "
              "the program, as where libfabric is built to be debugged.")
SWITCH_CHOICE(region_close, "CXI_DOUBLE_REGION_CLOSE", "works", "works|abort",
              "Closing a region that peers may access works, or ends the program, as where the "
              "provider cannot queue the command for it or the driver fails.")
SWITCH_CHOICE(
    asks, "CXI_DOUBLE_ASKS", "answered", "answered|half|lost",
    "Questions for a counter's value that does not wait for it: answered, or every second "
    "or each one lost, as where the command queue is full.")
SWITCH_CHOICE(sum, "CXI_DOUBLE_SUM", "yes", "yes|no", "Whether FI_SUM is offered.")
SWITCH_CHOICE(optimized, "CXI_DOUBLE_OPTIMIZED", "yes", "yes|no",
              "Whether keys below 100 are optimized ones, which use up a scarce resource.")
SWITCH_CHOICE(load, "CXI_DOUBLE_LOAD", "abort", "abort|poison",
              "A load from a doorbell ends the program, or gives a senseless value.")
SWITCH_CHOICE(bells, "CXI_DOUBLE_BELLS", "yes", "yes|no", "Whether get_mmio_addr gives an address.")
SWITCH_CHOICE(
    receives, "CXI_DOUBLE_RECEIVES", "yes", "yes|no|abort",
    "Whether an endpoint that may receive messages takes 36 MiB of buffers for them, or is "
    "an error.")
SWITCH_CHOICE(amo_cntr, "CXI_DOUBLE_AMO_CNTR", "abort", "abort|fine",
              "Deferred atomics that count on an endpoint without FI_WRITE counter crash (2.3 and "
              "later), or do not.")
SWITCH_CHOICE(lifetime, "CXI_DOUBLE_LIFETIME", "abort", "abort|fine",
              "Closing a counter that unreaped work still counts on ends the program, or not.")
SWITCH_CHOICE(fault, "CXI_DOUBLE_FAULT", "none", "none|fail|lose|duplicate|late",
              "What happens to the operations that the next three choose.")
SWITCH_CHOICE(fault_op, "CXI_DOUBLE_FAULT_OP", "any", "any|write|atomic|send|read",
              "Operations that can be hit.")
SWITCH_INT(fault_first, "CXI_DOUBLE_FAULT_FIRST", 1, 1, 1000000000,
           "The first operation that is hit, counted in each process from 1.")
SWITCH_INT(fault_count, "CXI_DOUBLE_FAULT_COUNT", 1, 1, 1000000000,
           "How many operations are hit from there on.")
SWITCH_INT(delay_us, "CXI_DOUBLE_DELAY_US", 20, 0, 10000000,
           "Longest random delay of each step of an operation, in microseconds.")
SWITCH_INT(late_us, "CXI_DOUBLE_LATE_US", 20000, 0, 10000000, "What late means, in microseconds.")
SWITCH_INT(retry_ms, "CXI_DOUBLE_RETRY_MS", 500, 1, 600000,
           "Time until an operation to a dead peer fails, in milliseconds.")
SWITCH_INT(flush_ms, "CXI_DOUBLE_FLUSH_MS", 1000, 0, 60000,
           "Time that FI_FLUSH_WORK takes, in milliseconds.")
SWITCH_INT(close_ms, "CXI_DOUBLE_CLOSE_MS", 3000, 0, 60000,
           "Time that closing an endpoint waits for unfinished work, in milliseconds.")
SWITCH_INT(nics, "CXI_DOUBLE_NICS", 1, 1, 4,
           "NICs that fi_getinfo shows, each with pools of its own.")
SWITCH_INT(eps, "CXI_DOUBLE_EPS", 128, 1, 128, "Endpoints that a process can have enabled.")
SWITCH_INT(broken, "CXI_DOUBLE_BROKEN", -1, -1, 3,
           "Number of a NIC of which no domain can be opened; -1: none.")
SWITCH_INT(bare, "CXI_DOUBLE_BARE", -1, -1, 3,
           "Number of a NIC on which no trigger entries are reserved; -1: none.")
SWITCH_INT(crowded, "CXI_DOUBLE_CROWDED", -1, -1, 3,
           "Number of a NIC on which other programs have left 16 counters; -1: none.")
SWITCH_INT(
    mbps, "CXI_DOUBLE_MBPS", 0, 0, 1000000,
    "Bytes of writes and messages that a process sends by each NIC, in MB per second; 0: any "
    "number.")
SWITCH_INT(max_message, "CXI_DOUBLE_MAX_MESSAGE", 0, 0, 2147483647,
           "Largest message in bytes; 0: 4 GiB less 1, as the provider has it.")
SWITCH_INT(tles, "CXI_DOUBLE_TLES", 512, 0, 1000000,
           "Trigger entries of each service on a NIC, for all its processes; 8 are never shown.")
SWITCH_INT(service, "CXI_DOUBLE_SERVICE", 1, 1, 65535,
           "The service of processes whose launcher names none (SLINGSHOT_SVC_IDS).")
SWITCH_INT(events, "CXI_DOUBLE_EVENTS", 0, 0, 1000000,
           "Events for which an endpoint's queue has room; 0: as many as the provider gives it.")
SWITCH_INT(region_us, "CXI_DOUBLE_REGION_US", 50, 0, 10000000,
           "Time for which enabling or closing a region has the endpoint's lock, in microseconds.")
SWITCH_INT(hmem_mib, "CXI_DOUBLE_HMEM_MIB", 0, 0, 1048576,
           "Memory of GPUs that can be mapped, in MiB of whole allocations; 0: any amount.")
SWITCH_INT(cntrs, "CXI_DOUBLE_CNTRS", 2047, 1, 65535,
           "Counters of the NIC; a closed one is free again when its domain is closed.")
SWITCH_INT(ptltes, "CXI_DOUBLE_PTLTES", 64, 0, 2048, "Optimized regions of the NIC.")
SWITCH_INT(les, "CXI_DOUBLE_LES", 65536, 0, 1000000, "Standard regions of the NIC.")
SWITCH_INT(seed, "CXI_DOUBLE_SEED", 1, 0, 2147483647, "Seed of the random delays.")
