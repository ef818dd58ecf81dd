#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# circles.sh - in each folder of src/, how many files at most use each other in a circle: of the
# functions and variables that one object file has and another one wants (nm), the largest strongly
# connected component. What is in such a circle can only be understood, tested and changed as a
# whole. limits.bash says what the numbers are.
# shellcheck source=limits.bash
. "$top_srcdir/tests/limits.bash"
declare -A most=([api]=1 [comm]=1 [core]=1 [cxi]=1 [fallback]=1 [host]=1 [ipc]=3 [lib]=1 [match]=4
    [pmpi]=3 [queue]=2 [report]=3 [rma]=1 [self]=1 [stream]=1 [util]=4)

# largest: of lines "file has|wants symbol" on standard input, the largest circle: the number of its
# files, and their names.
largest()
{
    awk '
        $2 == "has" { owner[$3] = $1 }
        $2 == "wants" { wants[$1, $3] = 1 }
        { files[$1] = 1 }
        END {
            for (pair in wants) {
                split(pair, part, SUBSEP)
                if (part[2] in owner) {
                    reaches[part[1], owner[part[2]]] = 1
                }
            }
            for (via in files) {
                for (from in files) {
                    if ((from, via) in reaches) {
                        for (to in files) {
                            if ((via, to) in reaches) {
                                reaches[from, to] = 1
                            }
                        }
                    }
                }
            }
            most = 1
            for (file in files) {
                n = 1
                names = file
                for (other in files) {
                    if (other != file && (file, other) in reaches && (other, file) in reaches) {
                        n++
                        names = names " " other
                    }
                }
                if (n > most) {
                    most = n
                    all = names
                }
            }
            print most, all
        }'
}

# Of a room.
count()
{
    nm -A -P "${objects[@]}" | awk '
        { file = $1; sub(/.*libmpixq_la-/, "", file); sub(/\.o:$/, "", file) }
        $3 == "U" { print file, "wants", $2 }
        $3 ~ /^[TDBRVWC]$/ { print file, "has", $2 }' | largest
}

# On made-up files: two that use each other beside one that both use; a circle of three; none.
seen=$(printf '%s\n' 'a has f' 'a wants g' 'b has g' 'b wants f' 'a wants h' 'b wants h' 'c has h' |
    largest)
[ "${seen%% *}" = 2 ] || fail "finds $seen in a circle of two files"
seen=$(printf '%s\n' 'a has f' 'a wants g' 'b has g' 'b wants h' 'c has h' 'c wants f' | largest)
[ "${seen%% *}" = 3 ] || fail "finds $seen in a circle of three files"
seen=$(printf '%s\n' 'a has f' 'a wants g' 'b has g' 'b wants h' 'c has h' | largest)
[ "${seen%% *}" = 1 ] || fail "finds $seen in no circle"

rooms_end "files in a circle"
