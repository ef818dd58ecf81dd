#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# baselines.sh - the benchmarks between GPUs of one node beside what else moves the same messages:
# peer copies and an MPI that takes memory of GPUs, both driven by the CPU; NCCL (RCCL); NVSHMEM,
# from within kernels too where nvcc and its device library are. Their tables, and how the library
# compares with the best form of each
#
#     benchmarks/baselines.sh cuda|hip BUILD [FOLDER] [PART...]
#
# BUILD is a build tree, FOLDER (./baselines if not given) gets the tables and CSV of the runs, and
# all.csv with the rows of all, each behind the name of its run, of which plot_baselines.gp makes
# pictures. MPIEXEC and MPIEXEC_FLAGS start the programs, RANKS (2) of them, but of the ping-pong
# two; with 4, a GPU for each, the exchanges are those of a grid with eight neighbours. Libraries
# are found by LD_LIBRARY_PATH, or among the packages of python3; what is not found is left out,
# which the tables say. The parts are the functions below; all of them take some four minutes, and
# those for four ranks, which are fewer unless they are named, one and a half. Multicast by NVLink
# stays off, since a failing program can leave it unusable for others.
parts="exchange hop large bare wide puts halo reduce cg jacobi skew beside shared"
grid=
[ "${RANKS:-2}" != 4 ] || { parts="exchange halo reduce cg" grid=--grid; }
set -u
device=${1:?cuda or hip} build=$(cd "${2:?a build tree}" && pwd) folder=${3:-baselines}
shift $(($# < 3 ? $# : 3))
top=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
mkdir -p "$folder"
failed=0
export NCCL_NVLS_ENABLE=0 NVSHMEM_DISABLE_NVLS=1
packages=$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)
for library in nccl nvshmem; do
    [ -z "$packages" ] ||
        export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$packages/$library/lib"
done
# What is shown of a table: what the modes do, and their rows, with what is below them.
shown='^ *[0-9]* *(mpi-|host|stream|peer-|plain-|nccl|nvshmem|one-|device-|a product|GB/s'
shown+='|bytes)|^(board|grid)|left out|verified|WRONG'

# bench NAME PROGRAM OPTION...: run it, and show the table and the comparison.
bench()
{
    local name=$1 program=$2 start=$SECONDS rc=0 ranks=${RANKS:-2}
    shift 2
    [ "$program" != pingpong ] || ranks=2
    [ "$program" != exchange ] || set -- "$@" ${grid:+"$grid"}
    # shellcheck disable=SC2086 # the flags are words
    timeout "${limit:-60}" ${MPIEXEC:-mpiexec} ${MPIEXEC_FLAGS-} -n "$ranks" \
        "$build/benchmarks/mpixq_$program" --device "$device" "--csv=$folder/$name.csv" \
        ${nvshmem:+"$nvshmem"} "$@" \
        >"$folder/$name.txt" 2>&1 || rc=$?
    echo "== $name: mpixq_$program $* ($((SECONDS - start)) s)"
    grep -E "$shown" "$folder/$name.txt"
    if [ $rc -ne 0 ]; then
        echo "FAILED with exit code $rc:"
        tail -5 "$folder/$name.txt"
        failed=1
    fi
    compare "$folder/$name.csv"
    keep "$name"
}

# keep NAME: its rows among those of all runs.
keep()
{
    local all=$folder/all.csv csv=$folder/$1.csv
    [ -s "$csv" ] || return
    [ -s "$all" ] || sed -n '1s/^/run,/p' "$csv" >"$all"
    awk -F, -v run="$1" '$1 != run' "$all" >"$all.new"
    awk -v run="$1" 'NR > 1 { print run "," $0 }' "$csv" >>"$all.new"
    mv "$all.new" "$all"
}

# each_size NAME PROGRAM SIZES OPTION...: a run for each of the sizes. With several in one, and
# NVSHMEM in the process, CUDA 13 refused the library the buffers of a later one ("resource already
# mapped").
each_size()
{
    local name=$1 program=$2 sizes=$3 size
    shift 3
    for size in $sizes; do
        bench "$name-$size" "$program" --sizes "$size" "$@"
    done
}

# Medians of stream and stream-ready (S, R), of their graphs, and of steps in one kernel, plain and
# in a graph, over the best form of each baseline, for each size.
compare()
{
    [ -s "$1" ] && awk -F, '
        NR == 1 { next }
        !($6 in seen) { seen[$6] = 1; sizes[++n] = $6 }
        { time[$6, $2] = $7 }
        $3 ~ /^(aware|peer|nccl|nvshmem)$/ && $2 !~ /^(plain-copy|one-kernel|.*-loop)$/ {
            if (!(($6, $3) in best) || $7 < best[$6, $3]) { best[$6, $3] = $7; form[$6, $3] = $2 }
        }
        function ratio(size, mode, by) {
            return (size, mode) in time ? sprintf("%.2f", time[size, mode] / best[size, by]) : "-"
        }
        END {
            split("aware peer nccl nvshmem", by, " ")
            for (i = 1; i <= n; i++) {
                for (k = 1; k <= 4; k++) {
                    if ((sizes[i], by[k]) in best) {
                        printf "ratio %9s to %-15s %8.2f us: S %s, R %s, graphs: %s, %s, " \
                            "fused: %s, %s\n",
                            sizes[i], form[sizes[i], by[k]], best[sizes[i], by[k]],
                            ratio(sizes[i], "stream", by[k]),
                            ratio(sizes[i], "stream-ready", by[k]),
                            ratio(sizes[i], "stream-graph", by[k]),
                            ratio(sizes[i], "stream-ready-graph", by[k]),
                            ratio(sizes[i], "stream-fused", by[k]),
                            ratio(sizes[i], "stream-fused-graph", by[k])
                    }
                }
            }
        }' "$1"
}

# NVSHMEM's kernels, where they can be made. They are tried, since what fails there would take the
# other modes of a run along.
nvshmem=
PATH=$PATH:/usr/local/cuda/bin
if [ "$device" = cuda ] && [ -n "$packages" ] && command -v nvcc >/dev/null; then
    start=$SECONDS
    if sh "$top/benchmarks/nvshmem.sh" "$packages/nvshmem" "$folder/nvshmem.cubin" \
        >"$folder/kernels.txt" 2>&1 &&
        nvshmem=--nvshmem=$folder/nvshmem.cubin limit=30 bench kernels exchange --sizes 16 \
            --modes nvshmem-device --seconds 0.5 --verify >>"$folder/kernels.log" 2>&1 &&
        grep -q 'data verified' "$folder/kernels.txt"; then
        nvshmem=--nvshmem=$folder/nvshmem.cubin
        echo "kernels by NVSHMEM made and tried ($((SECONDS - start)) s)"
    else
        echo "no kernels by NVSHMEM ($((SECONDS - start)) s):"
        tail -n 5 "$folder/kernels.txt"
    fi
    failed=0
fi

ours=stream,stream-ready
graphs=stream-graph,stream-ready-graph
fused=stream-fused,stream-fused-graph
forms=nccl,nccl-one,nccl-graph,nccl-one-graph
[ "$device" = cuda ] || forms=

exchange()
{
    each_size exchange exchange "16 1K 8K" --modes $ours,$graphs,$fused,mpi-persistent,baselines \
        --seconds 3 --trials 100 --verify
    each_size exchange exchange 64K --modes $ours,$graphs,mpi-persistent,baselines \
        --seconds 3 --trials 100 --verify
    # With slots for larger messages than by default.
    MPIXQ_EAGER=65536 each_size exchange-slots exchange "16K 64K" --seconds 1 --trials 100 \
        --modes $fused${forms:+,nvshmem-fused} --verify
}

hop()
{
    each_size hop pingpong "16 1K 8K 64K" --modes $ours,$graphs,mpi-persistent,baselines \
        --seconds 2.5 --trials 100 --verify
}

large()
{
    bench large pingpong --sizes 256K,1M,8M,64M --seconds 10 --trials 40 --verify \
        --modes $ours,$graphs,peer-copy${forms:+,$forms}
}

bare()
{
    each_size bare pingpong "16 1K 8K" --bare --modes $ours,$graphs,baselines --seconds 2.5 \
        --trials 100 --verify
}

# Bandwidth. One block of a kernel would take its time.
wide()
{
    bench wide pingpong --bare --sizes 8M,64M --seconds 6 --trials 40 --verify \
        --modes $ours,$graphs,peer-copy,plain-copy${forms:+,nccl,nccl-one-graph}
}

# Puts with signals beside NVSHMEM's, on the stream and in a kernel, and beside requests.
puts()
{
    local modes=stream,stream-graph,stream-put,stream-put-graph,device-put
    modes+=${forms:+,nvshmem}${nvshmem:+,nvshmem-device}
    each_size puts-exchange exchange "16 8K 64K" --modes $modes --seconds 2 --trials 100 --verify
    each_size puts-hop pingpong "16 8K 64K 1M" --modes $modes --seconds 2 --trials 100 --verify
}

# So many cells a side for each of two ranks; for four, of a board with two of these each way. Every
# rank computes the whole board to verify it, so the large ones are not. In one kernel the largest
# needs slots for larger messages than by default.
halo()
{
    local side verify=--verify modes=$ours,$graphs,$fused,mpi-persistent,peer-copy
    for side in 256 1024 4096 16384; do
        [ $side -lt 4096 ] || verify=--no-verify
        [ $side -le 8192 ] || modes=$ours,$graphs,mpi-persistent,peer-copy
        halo_of "halo-$side" $side $verify --seconds 3 --modes $modes
    done
    MPIXQ_EAGER=$side halo_of "halo-slots-$side" $side $verify --seconds 1 --modes $fused
}

# halo_of NAME SIDE OPTION...
halo_of()
{
    local name=$1 side=$2
    shift 2
    bench "$name" halo --board $((side * (${RANKS:-2} / 2)))x$((2 * side)) \
        --pattern "$top/examples/patterns/gosper-glider-gun.rle" "$@"
}

# Sums over all ranks, and a barrier.
reduce()
{
    local modes=mpi-blocking,stream,stream-graph${forms:+,nccl,nccl-graph}
    bench reduce allreduce --sizes 8,1K,8K,64K,1M,16M --seconds 12 --trials 60 --verify \
        --modes $modes
    bench barrier allreduce --barrier --seconds 2 --trials 100 --verify --modes $modes
}

# Rank 0 solves it alone to verify it, so the large one is not.
cg()
{
    local modes=mpi-persistent,mpi-pipelined,$ours,$graphs,stream-pipelined,stream-pipe-graph
    bench cg cg --sizes 4K,64K --modes $modes --seconds 4 --verify
    bench cg-large cg --sizes 1M --modes $modes --seconds 3 --no-verify
}

# With slots for rows of 8K. Every rank computes the whole grid to verify it, so the large one is
# not.
jacobi()
{
    local every modes=mpi-persistent,$ours,$graphs,$fused
    modes+=${forms:+,$forms,nvshmem}${nvshmem:+,nvshmem-fused}
    for every in 1 100; do
        MPIXQ_EAGER=65536 each_size "jacobi-$every" jacobi "1K 2K" --norm-every $every \
            --modes "$modes" --seconds 3 --trials 60 --verify
        MPIXQ_EAGER=65536 each_size "jacobi-$every" jacobi 8K --norm-every $every \
            --modes "$modes" --seconds 3 --trials 20 --no-verify
    done
}

# A ping-pong does not see whether a receiver is late.
skew()
{
    local us
    for us in 0 5 20 100; do
        bench skew-$us exchange --sizes 16,8K --skew $us --seconds 2 --verify \
            --modes $ours,peer-copy-one${forms:+,nccl-one}
    done
}

beside()
{
    bench beside exchange --sizes 8K --beside 2048 --seconds 1 --verify \
        --modes $ours${forms:+,nccl,nvshmem}
}

# Two ranks on one GPU: neither NCCL nor NVSHMEM has that.
shared()
{
    CUDA_VISIBLE_DEVICES=0 HIP_VISIBLE_DEVICES=0 bench shared exchange --sizes 16,8K,64K \
        --seconds 3 --modes $ours,mpi-persistent,peer-copy,peer-copy-one --verify
}

# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $parts
for part; do
    "$part"
done
exit $failed
