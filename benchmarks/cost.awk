# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cost.awk - what cost.h counted, from the dumps of callgrind
#
# Writes lines of the form
#
#     rank/group/name/num library others system-calls locks messages allocations bytes left mpi
#
# all per call or request, as cost_end was told. library and others are instructions, without those
# of the program itself. Locks and messages are what the library calls. Allocations, bytes and the
# bytes that are left are the library's, mpi are the allocations of all others. Counts are the
# median of the rounds, since a round may meet another thread; those of the heap are the mean, since
# a block of memory may be for several rounds.

function end_of_dump()
{
    if (name != "") {
        n = ++rounds[name]
        value[name, n, 1] = library / times
        value[name, n, 2] = others / times
        value[name, n, 3] = calls / times
        value[name, n, 4] = locks / times
        value[name, n, 5] = messages / times
        for (i = 6; i <= 9; i++) {
            value[name, n, i] = part[i] / times
        }
    }
    name = ""
    library = others = calls = locks = messages = inclusive = 0
    delete names
}

# In a dump a name is written in full once, and then by its number.
function full_name(kind, text,    id)
{
    id = text
    sub(/\).*/, ")", id)
    if (index(text, " ") > 0) {
        names[kind id] = substr(text, index(text, " ") + 1)
    }
    return names[kind id]
}

function median(key, i,    n, k, j, x, sorted)
{
    n = rounds[key]
    for (k = 1; k <= n; k++) {
        x = value[key, k, i]
        for (j = k; j > 1 && sorted[j - 1] > x; j--) {
            sorted[j] = sorted[j - 1]
        }
        sorted[j] = x
    }
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function mean(key, i,    k, sum)
{
    for (k = 1; k <= rounds[key]; k++) {
        sum += value[key, k, i]
    }
    return sum / rounds[key]
}

FNR == 1 { end_of_dump() }

/^desc: Trigger: Client Request: / {
    sub(/^desc: Trigger: Client Request: /, "")
    split($0, part, "/")
    name = part[1] "/" part[2] "/" part[3] "/" part[4]
    times = part[5]
    # From here on part 6 is the first of the heap.
}

/^c?ob=/ {
    text = full_name("object", substr($0, index($0, "=") + 1))
    if ($0 ~ /^ob/) {
        object = text
    }
}

/^c?fn=/ { function_name = full_name("function", substr($0, index($0, "=") + 1)) }

# The line after it has the cost of the call, which its own function shows as well.
/^calls=/ {
    if (object ~ /libmpix_queue/) {
        number = substr($1, 7)
        locks += function_name ~ /pthread_[a-z]+_(timed|try|rd|wr|clock)?lock/ ? number : 0
        messages += function_name ~ /^PMPI_Issend/ ? number : 0
    }
    inclusive = 1
    next
}

/^[0-9+*-]/ {
    if (!inclusive) {
        library += object ~ /libmpix_queue/ ? $2 : 0
        others += object !~ /libmpix_queue|\/cost_(mpi|plain|queue)/ ? $2 : 0
        calls += $3
    }
    inclusive = 0
}

END {
    end_of_dump()
    for (key in rounds) {
        line = key
        for (i = 1; i <= 9; i++) {
            line = line "\t" (i <= 5 ? median(key, i) : mean(key, i))
        }
        print line
    }
}
