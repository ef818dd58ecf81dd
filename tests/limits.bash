# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# limits.bash - sourced by the gates that count something in the object files of each folder of src/
#
# No number grows. Such a gate has one for each folder in "most", and defines
#
#     count ROOM      of its object files, "$objects": prints the number, and what was counted
#     rooms_end WHAT  the verdict, which ends the program
#
# One that has become less is written there: continuous integration asks for it. Elsewhere it is
# only said, as another compiler may leave out more.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
command -v nm >/dev/null || { echo "skip: there is no nm"; exit 77; }
limits_failed=0
fail()
{
    echo "failed: $*"
    limits_failed=1
}

rooms_end()
{
    local room n what limit object name
    for room in "$top_srcdir"/src/*/; do
        room=$(basename "$room")
        objects=()
        for object in "$top_builddir/src/$room"/libmpixq_la-*.o; do
            # What is left of a source that has moved does not count.
            name=${object##*/libmpixq_la-}
            [ ! -f "$object" ] || [ ! -f "$top_srcdir/src/$room/${name%.o}.c" ] ||
                objects+=("$object")
        done
        if [ ${#objects[@]} -eq 0 ]; then
            [[ $room =~ ^(cxi|fortran|python)$ ]] || fail "no object files of src/$room"
            continue
        fi
        read -r n what < <(count)
        limit=${most[$room]-0}
        if [ "$n" -gt "$limit" ]; then
            fail "src/$room: $n $1, more than $limit: $what"
        elif [ "$n" -lt "$limit" ]; then
            echo "src/$room: $n $1: write $n here instead of $limit"
            [ -z "${CI-}" ] || limits_failed=1
        fi
    done
    exit $limits_failed
}
