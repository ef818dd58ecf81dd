/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * switch_defs.h - every environment variable of the double; no include guard on purpose
 *
 * SWITCH_CHOICE(field, name, default, "a|b|c", help), SWITCH_INT(field, name, default, lowest,
 * highest, help) and SWITCH_TEXT(field, name, help). The number of a choice is its place in the
 * list. README.md has the same table, which tests/hip_double.sh compares.
 */
SWITCH_INT(version, "HIP_DOUBLE_VERSION", 5, 5, 6,
           "Major version of the runtime, which decides how types of memory are numbered.")
SWITCH_INT(devices, "HIP_DOUBLE_DEVICES", 1, 0, 8, "Devices of the machine.")
SWITCH_INT(domain, "HIP_DOUBLE_DOMAIN", 0, 0, 2147483647,
           "PCI domain of the devices: in another one they are other devices.")
SWITCH_CHOICE(visible, "HIP_DOUBLE_VISIBLE", "all", "all|own",
              "Whether a process sees all devices, or one, by its rank (PMI_RANK, "
              "OMPI_COMM_WORLD_RANK), as the only one.")
SWITCH_CHOICE(hidden, "HIP_DOUBLE_HIDDEN", "opens", "opens|refused|plain",
              "Whether memory of a device that the process does not see can be opened, or not, or "
              "what a kernel of the library changes there to try atomic operations is lost.")
SWITCH_INT(queues, "HIP_DOUBLE_QUEUES", 4, 1, 4,
           "Hardware queues of a device; streams share them in the order of creation.")
SWITCH_INT(depth, "HIP_DOUBLE_DEPTH", 1024, 1, 1000000,
           "Operations that a hardware queue holds; the next one waits for room.")
SWITCH_CHOICE(lookup, "HIP_DOUBLE_LOOKUP", "blocks", "blocks|free",
              "While a launch waits for room, look-ups, queries and launches of other threads wait "
              "too, or do not.")
SWITCH_CHOICE(sync, "HIP_DOUBLE_SYNC", "all", "all|known|none",
              "Which calls wait for the device: all that may, those that are known to, or none.")
SWITCH_CHOICE(forbid, "HIP_DOUBLE_FORBID", "off", "off|report|abort",
              "What a call does that waits for the device while a wait is queued, or runs for "
              "longer than a moment: it waits, says so and waits, or ends the program.")
SWITCH_CHOICE(host, "HIP_DOUBLE_HOST", "moved", "moved|same",
              "Whether registered and pinned memory has another address for devices.")
SWITCH_CHOICE(access, "HIP_DOUBLE_ACCESS", "none", "none|bar",
              "Whether the host can reach device memory.")
SWITCH_CHOICE(addresses, "HIP_DOUBLE_ADDRESSES", "new", "new|again",
              "Whether device memory gets a new address and handle, or those of some that was "
              "freed.")
SWITCH_CHOICE(wait_memory, "HIP_DOUBLE_WAIT_MEMORY", "signal", "signal|any",
              "Memory that a value wait takes.")
SWITCH_CHOICE(wait_value, "HIP_DOUBLE_WAIT_VALUE", "yes", "yes|no",
              "Whether there are value waits.")
SWITCH_CHOICE(values, "HIP_DOUBLE_VALUES", "recorded", "recorded|at-once",
              "Whether values that are written, or waited for, in a stream that is captured are "
              "part of the graph, or not and are written at once.")
SWITCH_CHOICE(
    io, "HIP_DOUBLE_IO", "yes", "yes|plain|no",
    "Whether pages of other devices can be registered as what they are, or only as if they "
    "were memory of the host, or not at all.")
SWITCH_CHOICE(ipc, "HIP_DOUBLE_IPC", "yes", "yes|no",
              "Whether device memory can be shared with other processes.")
SWITCH_CHOICE(peer, "HIP_DOUBLE_PEER", "yes", "yes|no",
              "Whether devices reach each other's memory.")
SWITCH_CHOICE(rtc, "HIP_DOUBLE_RTC", "finds", "finds|told",
              "Whether hiprtc finds the kind of the device, or has to be told it.")
SWITCH_CHOICE(callbacks, "HIP_DOUBLE_CALLBACKS", "one", "one|each",
              "Host functions run on one thread of the process, or on one for each hardware "
              "queue.")
SWITCH_CHOICE(last, "HIP_DOUBLE_LAST_ERROR", "call", "call|error",
              "hipGetLastError tells of the last call, or of the last one that failed.")
SWITCH_CHOICE(destroy, "HIP_DOUBLE_DESTROY", "waits", "waits|later",
              "hipStreamDestroy waits for the stream, or returns and the work goes on.")
SWITCH_INT(objects_ms, "HIP_DOUBLE_OBJECTS_MS", 0, 0, 60000,
           "Milliseconds from the end of a graph to that of the objects of the user that it kept.")
SWITCH_CHOICE(gone, "HIP_DOUBLE_GONE", "tells", "tells|dies",
              "Whoever asks a stream that went with its device for its capture is told so, or ends "
              "the process, as CUDA does now and then.")
SWITCH_CHOICE(ordering, "HIP_DOUBLE_ORDERING", "none", "none|owner|all",
              "Which devices are said to see what NICs write into device memory in its order: "
              "none, the one that has it, or all.")
SWITCH_INT(memory_mb, "HIP_DOUBLE_MEMORY_MB", 1024, 1, 1000000, "Memory of a device, in MiB.")
SWITCH_INT(delay_us, "HIP_DOUBLE_DELAY_US", 0, 0, 1000000,
           "Longest random delay before an operation, in microseconds.")
SWITCH_INT(seed, "HIP_DOUBLE_SEED", 1, 0, 2147483647, "Seed of the random delays.")
SWITCH_TEXT(wrong, "HIP_DOUBLE_WRONG",
            "Name of a behaviour that the double has wrong, to see its case fail.")
SWITCH_TEXT(arch, "HIP_DOUBLE_ARCH", "Kind of the devices, gfx90a if not set.")
SWITCH_TEXT(fail, "HIP_DOUBLE_FAIL",
            "function:n=error,...: the n-th call of a function fails with this number.")
SWITCH_TEXT(breaks, "HIP_DOUBLE_BREAK",
            "n=error: at the n-th operation that it runs, the device breaks with this error.")
SWITCH_TEXT(skip, "HIP_DOUBLE_SKIP", "kernel:n: the n-th run of this kernel does nothing.")
SWITCH_TEXT(strangers, "HIP_DOUBLE_STRANGERS",
            "Beginning of the names of threads that may not call the runtime.")
