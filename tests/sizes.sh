#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# sizes.sh - files and functions stay small: in the library and the benchmarks files up to 500 lines
# and functions up to 40, everywhere else up to 700 and 80; headers up to 250
# shellcheck source=gate.bash
. "$top_srcdir/tests/gate.bash"
if ! ctags --version 2>/dev/null | grep -q Universal; then
    echo "skip: there is no universal-ctags"
    exit 77
fi

# What is larger, with the reason. Nothing may be above 700 lines or 80.
exempt()
{
    case $1 in
    # It is the contract: most of it are the descriptions of the functions.
    include/mpix_queue.h) return 0 ;;
    # One file to include; half of it are the lines between short functions.
    include/mpix_queue.hpp | include/mpix_queue_rma.hpp) return 0 ;;
    # The contract of kernels: half of it are the descriptions of the functions.
    include/mpix_queue_device.h) return 0 ;;
    # The contract of puts: most of it are the descriptions of the functions.
    include/mpix_queue_rma.h) return 0 ;;
    # What a compiler puts into kernels stands in headers; these two are its parts.
    include/mpix_queue_device_ends.h | include/mpix_queue_device_words.h) return 0 ;;
    # As mpix_queue_device.h, with what its functions are made of.
    include/mpix_queue_device_ranges.h | include/mpix_queue_device_rma.h) return 0 ;;
    esac
    return 1
}

# limits FILE: sets file_limit and function_limit.
limits()
{
    file_limit=500 function_limit=40
    case $1 in
    tests/* | examples/*) file_limit=700 function_limit=80 ;;
    *.h | *.hpp) file_limit=250 ;;
    esac
    if exempt "$1"; then
        file_limit=700 function_limit=80
    fi
}

check_tree()
{
    local file first last name lines
    while read -r lines file; do
        limits "$file"
        [ "$file" = total ] || [ "$lines" -le "$file_limit" ] ||
            echo "$file:$lines: the file is longer than $file_limit lines"
    done < <(c_files | xargs -d '\n' -r wc -l)
    while read -r file first last name; do
        limits "$file"
        [ $((last - first + 1)) -le "$function_limit" ] ||
            echo "$file:$first: $name is longer than $function_limit lines"
    done < <(c_files | xargs -d '\n' -r ctags -x --_xformat='%F %n %{end} %N' --languages=C \
        --langmap=C:.c.h.inc -I MPIXQ_APPLY+,MPIXQ_APPLY_NARROW+,MPIXQ_COMBINE+ --kinds-C=f)
}

# lines N [TEXT]: N lines.
lines()
{
    yes "${2-}" | head -n "$1"
}

function_of()
{
    printf 'int x(void)\n{\n'
    lines $(($1 - 4)) '    y();'
    printf '    return 0;\n}\n'
}

finds "src/core/x.c:501: the file is longer than 500 lines" src/core/x.c < <(lines 501)
finds "src/core/x.h:251: the file is longer than 250 lines" src/core/x.h < <(lines 251)
finds "tests/x.c:701: the file is longer than 700 lines" tests/x.c < <(lines 701)
finds "src/core/x.c:1: x is longer than 40 lines" src/core/x.c < <(function_of 41)
finds "tests/unit/x.c:1: x is longer than 80 lines" tests/unit/x.c < <(function_of 81)
allows src/core/x.c < <(function_of 40; lines 460)
allows tests/x.c < <(function_of 80; lines 620)
gate_end
