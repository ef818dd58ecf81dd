#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# model.sh cxi|ipc|partitions|tally - the protocol of doc/cxi.md, or of src/ipc, or partitioned
# requests, or starts that a GPU counts for the host, as doc/model/cxi.pml, cxi_eager.pml,
# cxi_chain.pml and cxi_shares.pml, or ipc.pml, or partitions.pml, or tally.pml, have it, holds for
# all interleavings; and with any one of its rules broken it does not, so that the checks are known
# to see something
set -u
if ! command -v spin >/dev/null; then
    echo "skip: there is no spin"
    exit 77
fi
channel=$1
model=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0

# A hundred searches are over at once: what takes time there is the compiler.
quick=(gcc -O0)
! command -v tcc >/dev/null || quick=(tcc)

# errors LEVEL OPTION...: how many errors the search, compiled at the level of optimization, finds,
# 0 or 1; nothing if it did not end.
errors()
{
    local compile=(gcc "-O$1")
    [ "$1" -gt 0 ] || compile=("${quick[@]}")
    shift
    spin -a "$@" "$top_srcdir/doc/model/$model.pml" >log 2>&1 &&
        "${compile[@]}" -w -DSAFETY -o pan pan.c >>log 2>&1 &&
        ./pan -m100000 -w22 >>log 2>&1
    # A search that was cut short proves nothing.
    grep -q -e 'search not completed' -e 'max search depth too small' log &&
        grep -q 'errors: 0' log && return
    sed -n 's/.*depth reached.*errors: \([0-9]*\).*/\1/p' log
}

# expect NUMBER OPTION...
expect()
{
    local wanted=$1 found
    shift
    # A search that finds something ends early, and all of ipc are short.
    found=$(errors $((channel_level * (1 - wanted))) "$@")
    if [ "$found" = "$wanted" ]; then
        echo "$*: $found errors, as it should be"
    else
        echo "failed: $*: ${found:-no} errors, expected $wanted"
        tail -n 20 log
        failed=1
    fi
}

search_cxi()
{
    local rule
    expect 0 -DROUNDS=1
    expect 0 -DROUNDS=2 -DONE_PAIR
    expect 0 -DROUNDS=1 -DLATE_DATA -DDELIVERED
    expect 0 -DROUNDS=2 -DONE_PAIR -DLATE_DATA -DDELIVERED
    expect 1 -DROUNDS=1 -DONE_PAIR -DLATE_DATA
    expect 0 -DROUNDS=2 -DONE_PAIR -DCOUNTED_FAILURES
    expect 0 -DROUNDS=2 -DONE_PAIR -DLATE_DATA -DDELIVERED -DCOUNTED_FAILURES
    expect 1 -DROUNDS=1 -DONE_PAIR -DDELIVERED -DCOUNTED_FAILURES -DBREAK_TOLD
    expect 0 -DROUNDS=2 -DONE_PAIR -DOWN -DCOUNTED_FAILURES
    expect 0 -DROUNDS=1 -DONE_PAIR -DOWN -DLATE_DATA -DDELIVERED -DCOUNTED_FAILURES
    expect 0 -DROUNDS=1 -DONE_PAIR -DOWN -DPARTLY
    expect 0 -DROUNDS=1 -DONE_PAIR -DPARTLY
    expect 0 -DROUNDS=1 -DONE_PAIR -DPARTLY -DLATE_DATA -DDELIVERED
    for rule in HELD ORDER ODD RELATIVE TWICE CTS TELL; do
        expect 1 -DROUNDS=1 "-DBREAK_$rule"
    done
    expect 1 -DROUNDS=1 -DONE_PAIR -DPARTLY -DBREAK_HALF
    for rule in RING NUMBER; do
        expect 1 -DROUNDS=2 -DONE_PAIR "-DBREAK_$rule"
    done
}

search_cxi_eager()
{
    local rule
    expect 0 -DSTARTS=4
    expect 0 -DSTARTS=3 -DFAILURES -DCOUNTED=0
    expect 0 -DSTARTS=3 -DFAILURES -DCOUNTED=1
    for rule in LOOK JOINED EARLY LATE COUNTER OWN RING WORD FREED; do
        expect 1 -DSTARTS=3 "-DBREAK_$rule"
    done
    expect 0 -DSTARTS=3 -DPARTLY=1
    expect 0 -DSTARTS=3 -DPARTLY=2
    for rule in HALF CREDIT; do
        expect 1 -DSTARTS=3 -DPARTLY=1 "-DBREAK_$rule"
    done
    expect 1 -DSTARTS=3 -DPARTLY=2 -DBREAK_COUNT
    expect 0 -DSTARTS=2 -DGPU
    for rule in CLAIM BUSY DRAIN; do
        expect 1 -DSTARTS=2 -DGPU "-DBREAK_$rule"
    done
}

search_cxi_chain()
{
    local rule
    expect 0 -DSTARTS=3
    expect 0 -DSTARTS=2 -DOWN
    for rule in RELEASE EARLY LAST AHEAD SHARED; do
        expect 1 "-DBREAK_$rule"
    done
}

search_cxi_shares()
{
    local rule
    expect 0 -DSHARES=2 -DROUNDS=3
    expect 0 -DSHARES=3
    for rule in FIRST JOINED CTS AGREE NUMBER ALONE TELL FREE; do
        expect 1 "-DBREAK_$rule"
    done
}

# A deadlock is not seen where a queue may still fail: hence the numbers of failures.
search_ipc()
{
    local rule
    expect 0 -DSTARTS=2 -DBLOCKS=2
    expect 0 -DSTARTS=2 -DBLOCKS=2 -DREADY
    expect 0 -DSTARTS=2 -DFAILURES=2
    expect 0 -DBLOCKS=2 -DFAILURES=1
    expect 0 -DSTARTS=2 -DBLOCKS=2 -DREADY -DFAILURES=1
    expect 0 -DSTARTS=2 -DREADY -DFAILURES=2
    expect 0 -DBLOCKS=2 -DREADY -DDEATH
    # With slots two sends do not wait for the receiver, and three do.
    expect 0 -DSTARTS=5 -DSLOTTED
    expect 1 -DSTARTS=3 -DSLOTTED -DAHEAD=3
    expect 0 -DSTARTS=2 -DSLOTTED -DFAILURES=2
    expect 0 -DSTARTS=3 -DSLOTTED -DFAILURES=1
    expect 0 -DSTARTS=4 -DSLOTTED -DAHEAD=2 -DFAILURES=1
    expect 0 -DSTARTS=3 -DSLOTTED -DDEATH
    expect 0 -DSTARTS=4 -DSLOTTED -DREADY
    expect 0 -DSTARTS=2 -DSLOTTED -DREADY -DFAILURES=1
    expect 0 -DSTARTS=3 -DSLOTTED -DREADY -DDEATH
    # Each start may be one by the host.
    expect 0 -DHOSTS=1 -DSTARTS=2 -DBLOCKS=2
    expect 0 -DHOSTS=2 -DSTARTS=2 -DBLOCKS=2
    expect 0 -DHOSTS=3 -DSTARTS=2 -DFAILURES=1
    expect 0 -DHOSTS=3 -DSTARTS=2 -DDEATH
    expect 0 -DHOSTS=3 -DSTARTS=2 -DREADY -DFAILURES=1
    expect 0 -DHOSTS=1 -DBLOCKS=2 -DREADY -DFAILURES=1
    expect 0 -DHOSTS=3 -DSTARTS=4 -DSLOTTED -DAHEAD=2
    expect 0 -DHOSTS=3 -DSTARTS=3 -DSLOTTED -DFEWER
    expect 0 -DHOSTS=3 -DSTARTS=2 -DSLOTTED -DFAILURES=1
    expect 0 -DHOSTS=3 -DSTARTS=2 -DSLOTTED -DDEATH
    expect 0 -DHOSTS=3 -DSTARTS=3 -DSLOTTED -DREADY -DFEWER
    for rule in ARRIVE EARLY; do
        expect 1 "-DBREAK_$rule"
    done
    for rule in RESET FOUND; do
        expect 1 -DBLOCKS=2 "-DBREAK_$rule"
    done
    for rule in BOTH CLOSE RECALL REUSE CLEAN TELL; do
        expect 1 -DFAILURES=1 "-DBREAK_$rule"
    done
    expect 1 -DREADY -DFAILURES=1 -DBREAK_ASK
    expect 1 -DREADY -DSLOTTED -DFAILURES=1 -DBREAK_ASK
    expect 1 -DREADY -DBLOCKS=2 -DDEATH -DBREAK_LATE
    expect 1 -DBLOCKS=2 -DREADY -DFAILURES=1 -DBREAK_BEGUN
    for rule in FREE TWO OTHER ORDER; do
        expect 1 -DSTARTS=4 -DSLOTTED -DAHEAD=2 "-DBREAK_$rule"
    done
    expect 1 -DSTARTS=3 -DSLOTTED -DFEWER -DBREAK_LEFT
    expect 1 -DHOSTS=1 -DSTARTS=2 -DBLOCKS=2 -DBREAK_TICKET
    for rule in TICKET COPY; do
        expect 1 -DHOSTS=2 -DSLOTTED "-DBREAK_$rule"
    done
    expect 1 -DHOSTS=2 -DSLOTTED -DFAILURES=1 -DBREAK_SOON
    expect 1 -DHOSTS=3 -DFAILURES=1 -DBREAK_BACK
    expect 1 -DHOSTS=1 -DREADY -DFAILURES=1 -DBREAK_LAUNCH
    expect 1 -DHOSTS=3 -DSTARTS=2 -DREADY -DFAILURES=1 -DBREAK_SAY
    expect 1 -DHOSTS=3 -DSTARTS=4 -DSLOTTED -DBREAK_AFTER
}

search_partitions()
{
    local rule
    expect 0 -DHOSTS=3
    expect 0 -DHOSTS=3 -DIDLE
    expect 0 -DHOSTS=3 -DEAGER
    expect 0 -DHOSTS=3 -DTWICE
    expect 0 -DHOSTS=2
    for rule in CALL BEGUN WORD INSIDE; do
        expect 1 -DHOSTS=3 "-DBREAK_$rule"
    done
    expect 1 -DHOSTS=3 -DIDLE -DBREAK_LOOK
    for rule in CLAIM BACK; do
        expect 1 -DHOSTS=3 -DTWICE "-DBREAK_$rule"
    done
    for rule in SUM BUSY AGAIN DONE LIST DRIVE; do
        expect 1 -DHOSTS=2 "-DBREAK_$rule"
    done
}

search_tally()
{
    local rule
    expect 0 -DROUNDS=4
    expect 0 -DROUNDS=4 -DFAILURES
    for rule in ENTER BEGUN WAITED BY DONE DRIVE WORD FREE; do
        expect 1 "-DBREAK_$rule"
    done
    expect 1 -DFAILURES -DBREAK_HALT
}

case $channel in
cxi)
    channel_level=1
    search_cxi
    model=cxi_eager
    search_cxi_eager
    model=cxi_chain
    search_cxi_chain
    model=cxi_shares
    search_cxi_shares
    ;;
ipc) channel_level=0; search_ipc ;;
partitions) channel_level=1; search_partitions ;;
tally) channel_level=0; search_tally ;;
*) exit 99 ;;
esac
exit $failed
