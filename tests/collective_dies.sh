#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# collective_dies.sh fallback|sockets|double|gpus RANKS - of 3 or 4 processes in a persistent
# collective that is matched one is killed, before it starts or in the midst of starts: what all
# others wait for ends with an error, also at those that do not wait for the one that has died, but
# for one that has failed. Then their requests can be freed. Gpus: in a sum of numbers in memory of
# GPUs, which NICs bring to each other's as if each process was on a node of its own.
#
# The verdict is what the ranks that are left have written, and not what the launcher says. That
# would end all ranks if it learned of the death, whatever it is told; so a shell stands in between,
# which the signals that the launcher sends then do not end, nor by that the other ranks.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
library=$top_builddir/.libs/libmpix_queue.so
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2016
shield=(bash -c 'trap "" USR1 TERM HUP PIPE; "$@"; exit 0' bash)
failed=0
patience=150 # looks of 0.2 s, once the launcher is gone, which has so many seconds
limit=60
ranks=$2

skip()
{
    echo "skip: $*"
    exit 77
}

case ${MPIXQ_TEST_MPI-} in
mpich) keep=(-disable-auto-cleanup) ;;
openmpi) keep=(--mca orte_enable_recovery 1) ;;
*) skip "it is not known how to keep the launcher from ending the other ranks" ;;
esac
[ -f "$library" ] || skip "no shared library in this build"
case $1 in
sockets) export MPIXQ_FABRIC=sockets ;;
double | gpus)
    [ "$(uname -m)" = x86_64 ] || skip "the double has doorbells on x86-64 only"
    export MPIXQ_FABRIC=cxi FI_PROVIDER=cxi
    export FI_PROVIDER_PATH=$top_builddir/tests/cxi_double/.libs
    ;;
esac
if [ "$1" = gpus ]; then
    folder=$top_builddir/tests/hip_double/.libs
    [ -e "$folder/libamdhip64.so.5" ] || exit 99
    export MTEST_STREAM=hip LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export MPIXQ_CHANNELS=ipc,cxi,fallback MPIXQ_GPU_AWARE=no MPIXQ_CXI_GPU=direct
    export MTEST_NODE_RANKS=1 HIP_DOUBLE_HIDDEN=refused MPIXQ_DIRECT_KIB=16
fi
if [ "$1" != fallback ] && [ "${MPIXQ_TEST_LIBFABRIC:-yes}" != yes ]; then
    skip "built without libfabric"
fi

# shellcheck disable=SC2086 # the flags are words
$CC ${SANITIZER_FLAGS-} -O2 -w -I "$top_srcdir/include" -I "$top_builddir" -o "$dir/probe" \
    "$top_srcdir"/tests/{collective_dies_probe,mtest,mtest_gpu,mtest_gpu_kinds}.c "$library" \
    -lpthread \
    -Wl,-rpath,"$top_builddir/.libs" || exit 99

# ended FILE: all ranks but the one that was killed have written all.
ended()
{
    local rank
    for ((rank = 0; rank < ranks; rank++)); do
        [ $rank -eq 1 ] || grep -q '^end: ' "$1.$rank" 2>/dev/null || return 1
    done
}

# run KIND WAY HOW: returns when the ranks that are left have written all, or have had plenty of
# time. A launcher of Open MPI removes the folder of its sessions when it ends, which another may be
# about to use: so each has its own. And each has NICs of its own, whose memory is left by who is
# killed.
run()
{
    local file=$dir/$1-$2-$3 tries
    export OMPI_MCA_orte_tmpdir_base=$file.sessions CXI_DOUBLE_NAME=$$_$1-$2-$3
    mkdir "$OMPI_MCA_orte_tmpdir_base" || exit 99
    # shellcheck disable=SC2086 # the flags are words
    timeout -k 5 "$limit" $MPIEXEC $MPIEXEC_FLAGS "${keep[@]}" -n "$ranks" "${shield[@]}" \
        "$dir/probe" "$1" "$2" "$3" "$file" >"$file.log" 2>&1 </dev/null
    for ((tries = 0; tries < patience; tries++)); do
        ended "$file" && break
        sleep 0.2
    done
    rm -f "/dev/shm/cxi_double_$(id -u)_$CXI_DOUBLE_NAME"
}

# look KIND WAY HOW: at what they have written.
look()
{
    local file=$dir/$1-$2-$3 rank line
    for ((rank = 0; rank < ranks; rank++)); do
        [ $rank -ne 1 ] || continue
        for line in "match: kind 0" "once: kind 0" "failed: kind 9" "again: kind 9" \
            "queue: kind 0" "request: kind 0" "end: 1"; do
            grep -q "^$line" "$file.$rank" 2>/dev/null && continue
            echo "failed: $1 $2 $3: rank $rank: no '$line' in"
            cat "$file.$rank" "$file.log"
            kill -9 "$(sed -n 's/^pid: //p' "$file.$rank")" 2>/dev/null
            failed=1
            break
        done
    done
}

cases=({barrier,small,large}" "{host,queue}" before")
# MPI itself ends a process that moves a large message as its peer dies: UCX by its channel cma.
for how in loop0 loop1 loop3; do
    cases+=("small queue $how" "barrier host $how")
    [ "$1" = fallback ] || cases+=("large host $how")
done
# What the host starts there shows that GPUs do it: else it would be refused.
[ "$1" != gpus ] || cases=({small,large}" "{host,queue}" before" "small queue loop1" \
    "large queue loop3" "large host loop1")
# Most of a run is waiting, so several go at once.
running=0
for which in "${cases[@]}"; do
    [ $((running += 1)) -le 3 ] || wait -n
    # shellcheck disable=SC2086 # three words
    run $which &
done
wait
for which in "${cases[@]}"; do
    # shellcheck disable=SC2086 # three words
    look $which
done
exit $failed
