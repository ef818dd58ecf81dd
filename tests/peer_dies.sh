#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# peer_dies.sh fallback|sockets|double|ipc [apart|hip|nics] - a process is killed while its peer
# waits for it: the wait ends with an error that names the request and the peer, and the stream goes
# on. With cxi also where the message is small: it may lie in a slot when its sender dies.
# With ipc, and with fallback on streams of HIP, also when start and wait are captured in a graph
# that is launched then, and when a kernel starts and waits, unless MPIXQ_GPU_OPS=unshared: then it
# depends on who else uses a GPU whether captures and handles for kernels are possible.
# And with partitioned requests.
# On the double of the cxi provider it also ends by itself, as that cannot close a region. Apart is
# for that double only, and so is nics: there each message goes in shares by two NICs, and a process
# is killed while they are under way as well. Hip: on a stream of HIP, of the double of its runtime.
# By hand MTEST_STREAM says which streams (tests/gpu/run). Ipc needs one, and has all buffers on
# GPUs.
#
# Apart, the processes have different clocks, as in containers, so that they do not take what they
# see of each other for the same: only the fabric can tell that the other one has ended.
#
# The verdict is what the rank that is left has written, and not what the launcher says. That would
# end all ranks if it learned of the death, whatever it is told; so a shell stands in between.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
library=$top_builddir/.libs/libmpix_queue.so
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
apart=()
# shellcheck disable=SC2016
shield=(bash -c '"$@"; exit 0' bash)
failed=0
patience=100 # looks of 0.2 s, once the launcher is gone, which has so many seconds
limit=60

skip()
{
    echo "skip: $*"
    exit 77
}

case ${MPIXQ_TEST_MPI-} in
mpich) keep=(-disable-auto-cleanup) ;;
openmpi) keep=(--mca orte_enable_recovery 1) ;;
*) skip "it is not known how to keep the launcher from ending the other rank" ;;
esac
[ -f "$library" ] || skip "no shared library in this build"
channel=cxi
case $1 in
fallback) channel=fallback ;;
ipc)
    channel=ipc
    export MPIXQ_CHANNELS=ipc,cxi,fallback MTEST_BUFFER=device MPIXQ_GPU_AWARE=no
    # Who was killed in the midst of moving data is waited for until that can no longer be: on the
    # double ten seconds, more where others use the cores as well.
    patience=1200
    limit=240
    ;;
sockets) export MPIXQ_FABRIC=sockets ;;
double)
    [ "$(uname -m)" = x86_64 ] || skip "the double has doorbells on x86-64 only"
    export MPIXQ_FABRIC=cxi FI_PROVIDER=cxi
    export FI_PROVIDER_PATH=$top_builddir/tests/cxi_double/.libs
    ;;
esac
if [ $channel = cxi ] && [ "${MPIXQ_TEST_LIBFABRIC:-yes}" != yes ]; then
    skip "built without libfabric"
fi
if [ "${2-}" = hip ]; then
    folder=$top_builddir/tests/hip_double/.libs
    [ -e "$folder/libamdhip64.so.5" ] || exit 99
    export MTEST_STREAM=hip LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
shares=1
if [ "${2-}" = nics ]; then
    # A message of 8 MiB takes some 20 ms.
    export CXI_DOUBLE_NICS=2 CXI_DOUBLE_MBPS=200 MPIXQ_NICS=2 MPIXQ_STRIPE_KIB=64
    shares=2
fi
if [ "${2-}" = apart ]; then
    apart=(unshare --time --fork)
    "${apart[@]}" true 2>/dev/null || skip "a clock of one's own is not permitted here"
fi

# shellcheck disable=SC2086 # the flags are words
$CC ${SANITIZER_FLAGS-} -O2 -w -I "$top_srcdir/include" -o "$dir/probe" \
    "$top_srcdir"/tests/{peer_dies_probe,gpu_graph,mtest,mtest_gpu,mtest_gpu_kinds}.c \
    "$top_srcdir/tests/device/launch.c" \
    -I "$top_srcdir/tests/device" "$top_builddir/tests/device/code.c" "$library" \
    -Wl,-rpath,"$top_builddir/.libs" || exit 99

# run HOW: returns when rank 0 has written all, or has had plenty of time. The launcher may be gone
# long before. One of Open MPI removes the folder of its sessions when it ends, which another may be
# about to use: so each has its own. And each has NICs of its own, whose memory is left by who is
# killed.
run()
{
    local tries pid
    export OMPI_MCA_orte_tmpdir_base=$dir/$1.sessions CXI_DOUBLE_NAME=$$_$1
    mkdir "$OMPI_MCA_orte_tmpdir_base" || exit 99
    # shellcheck disable=SC2086 # the flags are words
    timeout "$limit" $MPIEXEC $MPIEXEC_FLAGS "${keep[@]}" -n 2 ${apart[@]+"${apart[@]}"} \
        "${shield[@]}" "$dir/probe" "$1" "$dir/$1" >"$dir/$1.log" 2>&1 </dev/null
    for ((tries = 0; tries < patience; tries++)); do
        grep -q '^channel: ' "$dir/$1" 2>/dev/null && break
        sleep 0.2
    done
    pid=$(sed -n 's/^pid: //p' "$dir/$1")
    if [ $tries -eq $patience ] && [ -n "$pid" ] && [ ${#apart[@]} -eq 0 ]; then
        kill -9 "$pid" 2>/dev/null
    fi
    rm -f "/dev/shm/cxi_double_$(id -u)_$CXI_DOUBLE_NAME"
}

# dies HOW LINE...: what rank 0 is to write in such a run has lines that match, in this order.
hows=()
dies()
{
    hows+=("$1")
    printf '%s\n' "${@:2}" >"$dir/$1.lines"
}

# look HOW: at what it has written.
look()
{
    local line file=$dir/$1
    grep "^[a-z]*: " "$file" >"$dir/left"
    while IFS= read -r line; do
        # What comes behind it.
        awk -v line="$line" 'found { print } $0 ~ "^" line { found = 1 } END { exit !found }' \
            "$dir/left" >"$dir/rest" || {
            echo "failed: $1: no '$line' in"
            cat "$file" "$file.log"
            failed=1
            return
        }
        mv "$dir/rest" "$dir/left"
    done <"$file.lines"
    if [[ $shares -gt 1 && $1 = @(receive|send) ]] &&
        ! grep -q "^posts: $((2 * shares))$" "$file"; then
        echo "failed: $1: the message was not divided"
        failed=1
    fi
    if [[ $1 = close-* ]] && ! grep -q 'forget a region cannot be queued' "$file.log"; then
        echo "failed: $1: rank 1 has ended for another reason"
        failed=1
    fi
}

# Most of a run is waiting, so several go at once.
run_all()
{
    local at_once=3 how pid active=() left
    # Which of these is killed while it moves data is a matter of chance. There the one that is
    # left waits for a minute, in which the others run.
    for how in "${hows[@]}"; do
        if [[ $channel = ipc && $how = *loop* ]]; then
            run "$how" &
        fi
    done
    for how in "${hows[@]}"; do
        [[ $channel != ipc || $how != *loop* ]] || continue
        while [ ${#active[@]} -ge $at_once ]; do
            wait -n "${active[@]}"
            left=()
            for pid in "${active[@]}"; do
                ! kill -0 "$pid" 2>/dev/null || left+=("$pid")
            done
            active=(${left[@]+"${left[@]}"})
        done
        run "$how" &
        active+=($!)
    done
    wait
    for how in "${hows[@]}"; do
        look "$how"
    done
}

# MPIXQ_DEVICE_ERR_FAILED, of the wait
kernel_failed=("kernel: 0 3$" "handles: kind 0")
kinds=("")
if [ "$1" = double ] && [ "${2-}" = "" ]; then
    kinds+=(close-)
fi
if [ $channel = ipc ] || [ "$channel ${2-}" = "fallback hip" ]; then
    [ "${MPIXQ_GPU_OPS-}" = unshared ] || kinds+=(replay- kernel-)
fi

# A fabric may tell by an operation that fails, before anybody has looked at the process.
if [ $channel = cxi ]; then
    for how in eager-{,first-}{receive,send}; do
        dies "$how" "queue: kind 9: .* .rank 1 of MPI_COMM_WORLD" "again: kind 9" "test: kind 9" \
            "synchronize: kind 0" "drained: 1" "free: kind 0" "stream: kind 0" \
            "request: kind 0" "channel: $channel$"
    done
fi
for kind in "${kinds[@]}"; do
    for how in receive send; do
        name=$([ $how = send ] && echo 'send to' || echo 'receive from')
        tells=()
        [ "$kind" != kernel- ] || tells=("${kernel_failed[@]}")
        dies "$kind$how" ${tells[@]+"${tells[@]}"} \
            "queue: kind 9: MPIX_Queue_wait: queue failed at $name 1 tag 7 on\
 MPI_COMM_WORLD, .* bytes: .*.rank 1 of MPI_COMM_WORLD" "again: kind 9" "test: kind 9" \
            "synchronize: kind 0" "drained: 1" "free: kind 0" "stream: kind 0" \
            "request: kind 0" "channel: $channel$"
    done
done
if [ $shares -gt 1 ]; then
    for how in first-receive first-send loop0 loop1 loop3; do
        others=()
        [[ $how = first* ]] || others=("other: kind 0"{,,,,,})
        dies "$how" "queue: kind 9: .* .rank 1 of MPI_COMM_WORLD" "again: kind 9" \
            "test: kind 9" "synchronize: kind 0" "drained: 1" "free: kind 0" \
            "stream: kind 0" ${others[@]+"${others[@]}"} "request: kind 0" \
            "channel: $channel$"
    done
fi
if [ $channel = ipc ]; then
    # Whoever comes second moves the data, be the other one alive or not; then nobody comes.
    for kind in "${kinds[@]}"; do
        for how in first-receive first-send loop0 loop1 loop3; do
            others=()
            [[ $how = first* ]] || others=("other: kind 0"{,,,,,})
            tells=()
            [ "$kind" != kernel- ] || tells=("${kernel_failed[@]}")
            dies "$kind$how" ${tells[@]+"${tells[@]}"} \
                "queue: kind 9: .* .rank 1 of MPI_COMM_WORLD" "again: kind 9" \
                "test: kind 9" "synchronize: kind 0" "drained: 1" "free: kind 0" \
                "stream: kind 0" ${others[@]+"${others[@]}"} "request: kind 0" \
                "channel: $channel$"
        done
    done
fi
if [ $channel = ipc ] && [ "${2-}" = hip ]; then
    for how in open-receive open-send; do
        dies "$how" "match: kind 9: .*the peer has ended" "request: kind 0" "channel: $channel$"
    done
fi
dies host "host: kind 9: MPI_Wait: request .send to 1 tag 7 on MPI_COMM_WORLD, .*.rank 1 of" \
    "request: kind 0" "channel: $channel$"
dies partitions "parts: kind 0" "once: kind 0" "start: kind 0" "prepare: kind 9" \
    "receive: kind 9: MPI_Wait: request .receive from 1 tag 7 on MPI_COMM_WORLD, .*" \
    "send: kind 9" "free: kind 0" "request: kind 0" "request: kind 0" "channel: $channel$"
if [ $channel != ipc ]; then # which queues refuse
    dies partitions-queue "once: kind 0" "start: kind 0" "wait: kind 0" "queue: kind 9: .*" \
        "free: kind 0" "request: kind 0" "request: kind 0" "channel: $channel$"
fi
gone=("signal: kind 9: MPIX_Signal_wait: window 1: " "put: kind 9: MPIX_Put: window 1: "
    "window: kind 9: MPIX_Window_free: window 1: " "gone: 1" "free: kind 0" "channel: ")
if [ $channel = ipc ]; then
    dies signal-mapped "first: kind 0" "flush: kind 0" "${gone[@]:0:2}" \
        "end: kind 9: MPIX_Window_flush: window 1: " "${gone[@]:2}"
    # MPIXQ_DEVICE_ERR_FAILED
    dies signal-mapped-kernel "first: kind 0" "flush: kind 0" "kernel: 3" \
        "${gone[@]}"
fi
if [ $channel = fallback ] || [ $channel = cxi ]; then
    dies signal "first: kind 0" "flush: kind 0" "${gone[@]}"
    dies signal-queue "flush: kind 0" "enqueue: kind 0" \
        "queue: kind 9: MPIX_Queue_wait: window 1: " "synchronize: kind 0" "drained: 1" "${gone[@]}"
    if [ "$channel ${2-}" = "fallback hip" ]; then
        dies replay-signal-queue "flush: kind 0" "enqueue: kind 0" \
            "queue: kind 9: MPIX_Queue_wait: window 1: " "synchronize: kind 0" "drained: 1" \
            "${gone[@]}"
    fi
    if [ $channel = cxi ]; then # what NICs hold
        dies signal-held "flush: kind 0" "enqueue: kind 0" "${gone[0]}" \
            "queue: kind 9: MPIX_Queue_wait: window 1: " "${gone[@]:1}"
        dies signal-rung "flush: kind 0" "enqueue: kind 0" "ring: kind 0" "${gone[@]}"
    fi
    dies signal-get "flush: kind 0" "wrong: 0" "got: kind 9: MPIX_Signal_wait: " "${gone[@]}"
    dies signal-flush "flush: kind 0" "late: kind 9: MPIX_Window_flush: window 1: " "${gone[@]}"
fi
if [ "${2-}" != apart ]; then
    dies match "match: kind 9: .*the peer has ended" "request: kind 0"
fi
run_all
exit $failed
