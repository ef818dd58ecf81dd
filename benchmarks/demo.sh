#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# demo.sh - runs the benchmarks, shows the tables, plots them and tells whether all data was right
#
#     demo.sh [--out DIR] [--seconds S] mpich=TREE openmpi=TREE
#
# TREE is an installed tree (TREE/bin/mpixq_halo) or a build tree (TREE/benchmarks/mpixq_halo) that
# was made with this MPI; one of the two is enough. --out: where CSV and pictures go (demo).
# --seconds: time for each of the runs (4). MPIEXEC_MPICH and MPIEXEC_OPENMPI name the launchers.
#
# The last line is "demo: verified", with exit code 0, if and only if every run checked its data and
# found it right.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

out=demo
seconds=4
declare -A trees=()

die()
{
    echo "demo: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --out | --seconds)
        [ $# -ge 2 ] || die "$1 wants a value"
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
    mpich=?* | openmpi=?*) trees[${1%%=*}]=${1#*=} ;;
    *) die "what is $1? usage: demo.sh [--out DIR] [--seconds S] mpich=TREE openmpi=TREE" ;;
    esac
    shift
done
[ ${#trees[@]} -gt 0 ] || die "no tree given"
# Wrong data is found by what a run writes, so nothing old may lie there.
mkdir -p "$out"
rm -f "$out"/{pingpong,exchange,halo,transpose,cg}*.{csv,txt,svg,png}

# shellcheck source=../tools/mpi_env.sh
. "$here/../tools/mpi_env.sh"

# launch MPI RANKS PROGRAM OPTION...
#
# Flags of Open MPI: --bind-to none, because of two ranks it binds each to one core, and then the
# thread of a stream shares that core with the thread that enqueues: the stream modes would be
# measured with half of the machine. --oversubscribe, because it refuses more ranks than cores, and
# so told also makes ranks yield the core while they wait. mpi_env.sh says both as well, and lets
# root launch; here they count even if the user's environment says otherwise.
launch()
{
    local mpi=$1 words
    shift
    if [ "$mpi" = mpich ]; then
        read -r -a words <<<"${MPIEXEC_MPICH:-mpiexec.mpich}"
    else
        read -r -a words <<<"${MPIEXEC_OPENMPI:-mpiexec.openmpi} --oversubscribe --bind-to none"
    fi
    timeout 300 "${words[@]}" -n "$@" </dev/null
}

program()
{
    local path
    for path in "${trees[$1]}/bin/mpixq_$2" "${trees[$1]}/benchmarks/mpixq_$2"; do
        if [ -x "$path" ]; then
            echo "$path"
            return
        fi
    done
    die "there is no mpixq_$2 in ${trees[$1]}"
}

failures=0
runs=0 of=$((5 * ${#trees[@]}))
[ -z "${trees[openmpi]-}" ] || of=$((of + 1))
showed=()

# bench MPI NAME RANKS: run one benchmark; its CSV is added to the list csvs.
bench()
{
    local mpi=$1 name=$2 ranks=$3 path options rc=0
    local csv=$out/$2-$1-$3.csv log=$out/$2-$1-$3.txt
    path=$(program "$mpi" "$name")
    runs=$((runs + 1))
    printf '\n==== %s: %s (run %s of %s, %s s) ====\n\n' \
        "$name" "$(title_of "$csv")" "$runs" "$of" "$seconds"
    options=(--verify "--csv=$csv" --seconds "$seconds")
    # Named, because a program in a build tree does not find what is not installed yet.
    [ "$name" != halo ] || options+=(--pattern "$here/../examples/patterns/gosper-glider-gun.rle")
    launch "$mpi" "$ranks" "$path" "${options[@]}" | tee "$log" || rc=$?
    if [ "$rc" -ne 0 ]; then
        echo "demo: $name on $ranks ranks of $mpi failed with exit code $rc" >&2
        failures=$((failures + 1))
        return 0
    fi
    [ "$(wc -l <"$csv")" -gt 1 ] || die "$csv holds no measurement"
    csvs+=("$csv")
    showed+=("$(printf '%-9s %-18s %s' "$name" "$(title_of "$csv")" \
        "$(sed -n "s/^mpixq_$name: //p" "$log" | tail -n 1)")")
}

# plot NAME HEADING XNAME YNAME CSV...: with what $settings sets for plot.gp
settings=
plot()
{
    local name=$1 heading=$2 xname=$3 yname=$4 csv titles=
    shift 4
    [ $# -gt 0 ] || return 0
    for csv in "$@"; do
        titles+="\"$(title_of "$csv")\" "
    done
    gnuplot -e "files='$*'; titles='$titles'; heading=\"$heading\"; xname='$xname';
                yname='$yname'; out='$out/$name'; $settings" "$here/plot.gp"
    if [ ! -s "$out/$name.svg" ] || [ ! -s "$out/$name.png" ]; then
        die "gnuplot made no picture of $name"
    fi
}

# demo/halo-openmpi-4.csv: Open MPI, 4 ranks
title_of()
{
    local parts mpi
    IFS=- read -r -a parts <<<"$(basename "$1" .csv)"
    mpi=MPICH
    [ "${parts[1]}" = mpich ] || mpi="Open MPI"
    echo "$mpi, ${parts[2]} ranks"
}

machine()
{
    local model
    model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    echo "${model:-$(uname -m)}, $(nproc) cores, $(uname -s) $(uname -r | cut -d- -f1)," \
        "$(date +%F); median of the trials with 95 % interval"
}

facts=$(machine)

csvs=()
for mpi in mpich openmpi; do
    [ -z "${trees[$mpi]-}" ] || bench "$mpi" pingpong 2
done
plot pingpong "Ping-pong: pack, send, receive, unpack\n$facts" "message size, bytes" \
    "one-way time, us" ${csvs[@]+"${csvs[@]}"}

csvs=()
for mpi in mpich openmpi; do
    [ -z "${trees[$mpi]-}" ] || bench "$mpi" exchange 2
done
plot exchange "Exchange: 4 messages each way with both neighbours of a ring\n$facts" \
    "message size, bytes" "time per exchange, us" ${csvs[@]+"${csvs[@]}"}

csvs=()
for mpi in mpich openmpi; do
    [ -z "${trees[$mpi]-}" ] || bench "$mpi" halo 2
done
# Only Open MPI: MPICH does not yield, so with more ranks than cores it measures the scheduler.
[ -z "${trees[openmpi]-}" ] || bench openmpi halo 4
plot halo "Game of Life, 8-point halo on a periodic grid\n$facts" \
    "bytes that a rank sends per generation" "time per generation, us" ${csvs[@]+"${csvs[@]}"}

csvs=()
for mpi in mpich openmpi; do
    [ -z "${trees[$mpi]-}" ] || bench "$mpi" transpose 2
done
plot transpose "Transposition of a matrix; put: plans of puts with signals\n$facts" \
    "bytes that a rank sends" "time, us" ${csvs[@]+"${csvs[@]}"}

csvs=()
for mpi in mpich openmpi; do
    [ -z "${trees[$mpi]-}" ] || bench "$mpi" cg 2
done
settings="unit=''; modes='mpi-blocking mpi-persistent host stream stream-ready mpi-pipelined"
settings+=" stream-pipelined'"
plot cg "Conjugate gradients; pipelined: with one sum in place of two\n$facts" \
    "rows of a rank" "time per iteration, us" ${csvs[@]+"${csvs[@]}"}

printf '\n==== What it showed ====\n\n'
[ ${#showed[@]} -eq 0 ] || printf '%s\n' "${showed[@]}"
cat <<'EOF'

An exchange is one launch for all starts and one for all waits here. The published implementation,
P. G. Bridges and others, "Co-Design and Evaluation of a CPU-Free MPI GPU Communication Abstraction
and Implementation", takes 27, and 18 with ready sends. On a host stream a thread stands for the
GPU, so times near those of mpi-persistent are what can be had here; doc/performance.md has GPUs.
EOF
printf '\nTables, CSV and pictures are in %s\n' "$out"
[ "$failures" -eq 0 ] || die "$failures runs failed"
echo "demo: verified"
