#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# selftest.sh alone|ranks|hip|cxi|wrong|hang|options - mpixq_selftest tests what there is, and finds
# what is not right
#
# alone     one process without a launcher
# ranks     two and three ranks; those whose channels MPIXQ_CHANNELS leaves out
# hip       on GPUs, of the double of HIP's runtime; those that do not reach each other; a slow one
# cxi       on a NIC, of the double of libfabric's cxi provider and of its provider sockets
# wrong     a wait of a GPU, and messages of MPI, that bring wrong data
# hang      a message of a GPU that does not come; an MPI_Init that does not return
# options   wrong ones
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
program=$top_builddir/tools/selftest/mpixq_selftest
# shellcheck source=tool.bash
. "$top_srcdir/tests/tool.bash"

# on RC RANKS OPTION...: all tests, and nothing is judged by times unless an option says so.
on()
{
    local rc=$1 ranks=$2
    shift 2
    # shellcheck disable=SC2086 # the flags are words
    look "$rc" $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" ${each-} "$program" --seconds 0 --slow 0 "$@"
}

# says PATTERN...: each of these is a line of the text.
says()
{
    local pattern
    for pattern; do
        grep -Eqx -- "$pattern" "$dir/out" || fail "there is no line '$pattern'"
    done
}

# tested MEMORY STREAM BETWEEN CHANNEL PAIRS OUTCOME: so says a line of the table, once; the channel
# has a star if it serves by default.
tested()
{
    local n
    n=$(awk -v memory="$1" -v stream="$2" -v between="$3" -v channel="$4" -v pairs="$5" \
        -v outcome="$6" '
        { line = $0; gsub(/ +\*/, "*", line); split(line, word, " +")
            rest = line; sub(/^ +[A-Za-z]+ +[A-Za-z]+ +/, "", rest) }
        word[2] == memory && word[3] == stream && index(rest, between) == 1 {
            rest = substr(rest, length(between) + 1)
            sub(/^ +/, "", rest)
            split(rest, word, " +")
            n += word[1] == channel && word[2] == pairs && index(rest, outcome) > 0
        } END { print n + 0 }' "$dir/out")
    [ "$n" -eq 1 ] || fail "the table says $n times: $1, $2, $3: $4 of $5 pairs: $6"
}

# verdict NAME: the last line.
verdict()
{
    tail -n 1 "$dir/out" | grep -q "^selftest: $1: [0-9]* tests verified, [0-9]* errors, " ||
        fail "the verdict is not $1"
}

# in_json CONDITION: of the report r, by another reader of JSON than ours; tests(...) are those with
# these values.
in_json()
{
    command -v python3 >/dev/null || skip "there is no python3 to read JSON with"
    python3 - "$dir/out" "$1" <<'EOP' || fail "the JSON does not say $1"
import json, sys
r = json.load(open(sys.argv[1]))
def tests(**wanted):
    return [t for t in r["tests"] if all(t[key] == wanted[key] for key in wanted)]
assert r["verified"] == len(tests(outcome="verified"))
assert all(t["us"] > 0 and t["gb_per_s"] > 0 for t in tests(outcome="verified"))
assert all(t["why"] for t in r["tests"] if t["outcome"] != "verified")
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)
EOP
}

alone()
{
    look 0 "$program" --seconds 0 --slow 0
    [ ! -s "$dir/err" ] || fail "something stands in standard error"
    tested host host "own process" "self*" 1 verified
    tested host host "own process" fallback 1 verified
    tested host host "own process" ipc 1 "not used: the buffer is not in memory of a GPU"
    verdict ok
    look 0 "$program" --seconds 0 --slow 0 --json
    in_json 'r["ranks"] == 1 and r["exit"] == 0 and r["verdict"] == "ok" and r["verified"] == 2'
    in_json '[t["channel"] for t in tests(default=True)] == ["self"]'
}

ranks()
{
    on 0 2
    tested host host "own process" "self*" 2 verified
    tested host host "same node" "fallback*" 1 verified
    verdict ok
    on 0 3 --json
    in_json 'sorted(t["ranks"] for t in tests(channel="fallback")) == [[0, 1], [0, 2], [1, 2]]'
    in_json 'len(tests(channel="fallback", outcome="verified", default=True)) == 3'
    in_json 'len(tests(channel="self", outcome="verified", between="own process")) == 3'
    in_json 'r["slow"] == [] and r["errors"] == []'
    on 0 3 --all
    says '  0-2  host memory, stream of host, channel fallback\*: [0-9.]+ us, [0-9.]+ GB/s'
    # Five ranks are a ring of five pairs.
    on 0 5 --json
    in_json 'len(tests(channel="fallback", outcome="verified")) == 5'
    # No channel for it.
    MPIXQ_CHANNELS=ipc on 1 2
    says '  host memory, stream of host, same node: no channel serves  \[ranks 0 and 1\]'
    tested host host "same node" fallback 1 "not used: left out by MPIXQ_CHANNELS"
    tested host host "own process" "self*" 2 verified
    verdict FAILED
}

hip()
{
    with_hip
    HIP_DOUBLE_DEVICES=2 on 0 2
    tested HIP HIP "own process" "ipc*" 2 verified
    tested HIP HIP "same node" "ipc*" 1 verified
    tested HIP HIP "same node" fallback 1 verified
    tested host HIP "same node" "fallback*" 1 verified
    tested host host "same node" "fallback*" 1 verified
    verdict ok
    # All three ranks on one GPU; and no rank sees that of another.
    on 0 3
    tested HIP HIP "same GPU" "ipc*" 3 verified
    HIP_DOUBLE_DEVICES=4 HIP_DOUBLE_VISIBLE=own on 0 2
    tested HIP HIP "same node" "ipc*" 1 verified
    # They do not reach each other.
    HIP_DOUBLE_DEVICES=2 HIP_DOUBLE_PEER=no on 3 2 --json
    in_json '[t["channel"] for t in tests(memory="HIP", between="same node", default=True)] ==
        ["fallback"]'
    in_json '"by fallback, not by ipc: the GPU does not reach the peer" in r["slow"][0]["text"]'
    in_json 'len(r["slow"]) == 1 and r["exit"] == 3 and r["errors"] == []'
    # A variable leaves the channel out.
    MPIXQ_CHANNELS=fallback on 3 1
    says '  HIP memory, stream of HIP, own process: by self, not by ipc: left out by .*\[rank 0\]'
    verdict "works, slower than it could"
    on 0 1 --no-gpu --json
    in_json 'tests(stream="HIP") == []'
    # Rank 1 finds no GPU, and is tested on the host. Four ranks: 2 and 3 are neighbours.
    each_rank 'unset LD_LIBRARY_PATH'
    each=$dir/each on 0 4 --json
    in_json 'all(1 not in t["ranks"] for t in tests(stream="HIP"))'
    in_json 'len(tests(stream="HIP", memory="HIP", channel="ipc", outcome="verified")) == 5'
    in_json 'len(tests(stream="host", channel="fallback", outcome="verified")) == 4'
    # Tests for which there is no time.
    HIP_DOUBLE_DELAY_US=30000 look 0 "$program" --seconds 1 --slow 0 --json
    in_json 'r["left_out"] > 0 and r["left_out"] == len(tests(outcome="left out"))'
    in_json 'len(tests(memory="HIP", channel="ipc", outcome="verified")) == 1'
    # Values are no kernels.
    MPIXQ_GPU_OPS=values on 3 1
    says '  streams of HIP start and wait by values, not by kernels: .*  \[rank 0\]'
    # Its GPU is slow; with fewer CPUs than ranks times are not compared.
    each_rank 'export HIP_DOUBLE_DELAY_US=30000'
    each=$dir/each HIP_DOUBLE_DEVICES=2 on 3 2 --slow 3
    grep -q "more ranks than CPUs" "$dir/out" ||
        says '  HIP memory, .*, own process, channel self: rank 1 takes .*, others .*'
}

cxi()
{
    with_cxi
    on 0 2
    tested host host "same node" "cxi*" 1 verified
    tested host host "same node" fallback 1 verified
    says 'NICs' '  cxi0 \(.*\)  \[rank 0, and 1 more\]'
    # Two of three for each rank; of the third all have what is left.
    CXI_DOUBLE_NICS=3 MPIXQ_NICS=2 MPIXQ_CXI_NIC=2 on 0 2 --json
    in_json 'r["nics"][0]["text"].startswith("cxi2 (MPIXQ_CXI_NIC), cxi")'
    in_json 'sum(n["times"] for n in r["nics"]) == 2'
    MPIXQ_CXI_NIC=7 on 0 2
    tested host host "same node" "fallback*" 1 verified
    tested host host "same node" cxi 1 "not used: there is no NIC of the number MPIXQ_CXI_NIC"
    # A NIC of software is no match for memory that processes share.
    on 3 2 --slow 1 --seconds 3
    grep -q "more ranks than CPUs" "$dir/out" ||
        says '  host memory, .*: cxi serves, and fallback takes less than 1/1 of the time.*'
    with_hip
    on 0 2
    tested HIP HIP "same GPU" cxi 1 verified
    tested HIP HIP "same GPU" "ipc*" 1 verified
    tested host HIP "same GPU" "cxi*" 1 verified
    unset FI_PROVIDER_PATH FI_PROVIDER
    MPIXQ_FABRIC=sockets on 0 2 --no-gpu
    tested host host "same node" "cxi*" 1 verified
}

wrong()
{
    with_hip
    HIP_DOUBLE_SKIP=mpixq_wait_plain:2 look 1 "$program" --seconds 0 --json
    in_json '[t["channel"] for t in tests(outcome="wrong data")] == ["ipc"]'
    in_json '"of 8 bytes from rank 0 in step 1 and 64 before and behind, 8 are wrong" in
        tests(outcome="wrong data")[0]["why"]'
    in_json 'r["exit"] == 1 and r["verdict"] == "FAILED" and len(r["errors"]) == 1'
    in_json 'len(tests(memory="HIP", outcome="verified")) == 2'
    # Sends of MPI, of rank 1, that are off by one byte; then such that write before their buffer.
    cat >"$dir/send.c" <<'EOP'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
int PMPI_Send_init(const void *buffer, int count, MPI_Datatype type, int peer, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Send_init");
    return next((const char *)buffer + (count == 1000), count, type, peer, tag, comm, request);
}
EOP
    sed -e 's/Send_init/Recv_init/g' -e 's/buffer + (/buffer - (/' \
        -e 's/(const void \*buffer/(void *buffer/' -e 's/next((const /next((/' \
        -e 's/(const void \*, int/(void *, int/' "$dir/send.c" >"$dir/recv.c"
    for way in send recv; do
        # shellcheck disable=SC2086
        $CC -shared -fPIC -o "$dir/$way.so" "$dir/$way.c" >"$dir/out" 2>&1 ||
            skip "no shared object can be made"
        each_rank "export LD_PRELOAD=$dir/$way.so"
        each=$dir/each on 1 2 --no-gpu --json
        in_json 'len(tests(outcome="wrong data")) == 1 and len(r["errors"]) == 1'
        in_json '[t["channel"] for t in tests(outcome="wrong data")] == ["fallback"]'
        in_json '"of 1000 bytes from rank" in tests(outcome="wrong data")[0]["why"]'
        in_json 'len(tests(channel="self", outcome="verified")) == 2'
    done
    # The shift to the left is seen in the guard, by rank 1.
    in_json '"rank 1: " in r["errors"][0]["text"] and "first number -1" in r["errors"][0]["text"]'
}

# An exit code of some rank, that the launcher makes of it.
hangs()
{
    local rc=0
    timeout 100 "$@" >"$dir/out" 2>"$dir/err" </dev/null || rc=$?
    [ "$rc" -ne 0 ] && [ "$rc" -ne 3 ] && [ "$rc" -ne 124 ] || fail "$*: exit code $rc"
    grep -q 'gave up after the time of --timeout, at: ' "$dir/err" || fail "nobody gives up"
}

hang()
{
    with_hip
    HIP_DOUBLE_SKIP=mpixq_move_plain:1 look 1 "$program" --seconds 0 --timeout 10
    grep -q 'at: ranks 0 and 0, HIP memory on a stream of HIP, channel ipc, 8 bytes: check$' \
        "$dir/err" || fail "where it hangs is not told"
    # Rank 0 waits for rank 1, whose own messages do not come, and leaves it to that to say so.
    each_rank 'export HIP_DOUBLE_SKIP=mpixq_move_plain:1'
    # shellcheck disable=SC2086
    hangs $MPIEXEC $MPIEXEC_FLAGS -n 2 "$dir/each" "$program" --seconds 0 --timeout 15
    grep -q 'at: ranks 1 and 1, HIP memory .*, channel ipc, 8 bytes: check$' "$dir/err" ||
        fail "where it hangs is not told"
    cat >"$dir/init.c" <<'EOP'
#include <unistd.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) { pause(); return 0; }
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) { pause(); return 0; }
EOP
    # shellcheck disable=SC2086
    $CC -w -shared -fPIC -o "$dir/init.so" "$dir/init.c" >"$dir/out" 2>&1 ||
        skip "no shared object can be made"
    look 1 env LD_PRELOAD="$dir/init.so" "$program" --timeout 1
    grep -q 'gave up .* at: MPI_Init$' "$dir/err" || fail "where it hangs is not told"
}

options()
{
    look 2 "$program" --nonsense
    look 2 "$program" nonsense
    look 2 "$program" --seconds soon
    look 2 "$program" --slow -1
    look 0 "$program" --version
    grep -qx 'mpixq_selftest [0-9.]*' "$dir/out" || fail "--version"
    look 0 "$program" --help
    grep -q '^usage: ' "$dir/out" || fail "--help"
}

case ${1-} in
alone | options) "$1" ;;
ranks | hip | cxi | wrong | hang)
    [ "$MPIEXEC" != none ] || skip "there is no mpiexec"
    "$1"
    ;;
*) echo "what is ${1-}?"; exit 99 ;;
esac
exit $failed
