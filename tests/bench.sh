#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# bench.sh [cxi|hip|graphs|cg|cg-hip|jacobi|jacobi-hip] - short runs of the benchmarks: their data
# is right, their CSV has the promised form, and mistakes in the command line are told with exit
# code 2
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
patterns=$top_srcdir/examples/patterns
# Always named: what is installed is not looked for by a test of the build tree.
gun=$patterns/gosper-glider-gun.rle
failed=0
fail()
{
    echo "failed: $*"
    cat "$dir/out" "$dir/err"
    failed=1
}

if [ "$MPIEXEC" = none ]; then
    echo "skip: there is no mpiexec"
    exit 77
fi

# launch RANKS PROGRAM OPTION...: run it; what it printed is in $dir/out and $dir/err.
launch()
{
    local ranks=$1 name=$2
    shift 2
    # shellcheck disable=SC2086 # the flags are words
    timeout $((100 * ${MPIXQ_TEST_TIMEOUT_SCALE:-1})) \
        $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" "$top_builddir/benchmarks/mpixq_$name" "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null
}

# expect_usage TEXT RANKS PROGRAM OPTION...: it ends with exit code 2, and says TEXT once.
expect_usage()
{
    local text=$1 rc=0
    shift
    launch "$@" || rc=$?
    [ "$rc" -eq 2 ] || fail "$* ended with $rc"
    [ "$(grep -cF -- "$text" "$dir/err")" -eq 1 ] || fail "$* does not say '$text' once"
}

# expect_rows NUMBER RANKS PROGRAM OPTION...: right data, and CSV with so many rows.
expect_rows()
{
    local rows=$1
    shift
    launch "$@" --seconds "${seconds:-0.02}" --trials 3 --verify "--csv=$dir/csv" ||
        fail "$* ended with $?"
    grep -q 'data verified' "$dir/out" || fail "$* did not verify"
    if [ "$(head -n 1 "$dir/csv")" != "$header" ] || [ "$(wc -l <"$dir/csv")" -ne $((rows + 1)) ] ||
        ! awk -F, -v ranks="$1" -v device="$device" \
            -v solvers='^(cg|allreduce|barrier|jacobi)$' '
            NR > 1 && (NF != 19 || $19 <= 0 || $4 != device || $5 != ranks || $7 <= 0 ||
            $8 < $7 || $11 <= 0 || $12 <= 0 || ($2 ~ /^mpi-[bp][el]/ && $3 != "mpi") ||
            ($2 ~ /^mpi-aware/ && $3 != "aware") ||
            ($2 == "host" && $3 != "matched") ||
            ($1 ~ solvers || $2 !~ /^stream(-ready)?$/) != ($16 $17 == "") ||
            ($2 ~ /^(peer-|plain-|one-)/ && $3 != "peer") ||
            ($2 ~ /^(mpi-|host|peer-)/) != ($18 == "") || ($18 != "" && $18 < 0) ||
            ($2 ~ /^mpi-put/ && $3 != "rma") || ($2 ~ /^[hsd].*-put/ && $3 != "put") ||
            ($2 ~ /^stream/ && ($3 !~ /^(self|fallback|cxi|ipc|put|fallback\+ipc)$/ || $13 <= 0)) ||
            ($1 !~ solvers && $2 ~ /^stream(-ready)?$/ &&
                ($16 <= 0 || $17 <= 0))) { exit 1 }' \
            "$dir/csv"; then
        cat "$dir/csv"
        fail "$* wrote this CSV"
    fi
}

# expect_conclusion: what the last run says of its times is true of its CSV: a mark at each ratio of
# which an interval is wide, and in the end how many are, or the ratio at the size next to 64 KiB.
expect_conclusion()
{
    local program wide n said
    program=mpixq_$(sed -n '2s/,.*//p' "$dir/csv")
    said=$(sed -n "s/^$program: data verified; //p" "$dir/out")
    read -r wide n < <(awk -F, 'NR > 1 { n++; wide += $9 > 0.1 * $7 } END { print wide + 0, n }' \
        "$dir/csv")
    # By row: the table has the modes of a size in the order of the CSV.
    awk -F, 'NR > 1 { print $2, $6, ($9 > 0.1 * $7) }' "$dir/csv" | awk '
        { mode[NR] = $1; at[NR] = $2; wide[NR] = $3; if ($1 == "mpi-persistent") base[$2] = $3 }
        END { for (i = 1; i <= NR; i++) print mode[i], wide[i] || base[at[i]] }' >"$dir/marks"
    awk '{ for (i = 1; i <= 2; i++) if ($i ~ /^(mpi-|host|stream)/ && $(i + 1) ~ /^[0-9.]+$/)
            print $i, $(i + 4) ~ /^~/ ? 1 : 0 }' "$dir/out" | diff "$dir/marks" - ||
        fail "the marks of $program are not those of its CSV"
    if [ $((3 * wide)) -gt "$n" ]; then
        [ "$said" = "too busy a machine: $wide of $n times are uncertain by more than a tenth" ] ||
            fail "$program has $wide wide intervals of $n, and says '$said'"
        return
    fi
    awk -F, -v said="$said" '
        function far(b) { b += 0; return b > 65536 ? b / 65536 : 65536 / b } # not a string
        NR > 1 { wide[$6, $2] = $9 > 0.1 * $7; ratio[$6, $2] = $10; bytes[$6] = $6 }
        END {
            for (b in bytes) {
                for (m = 1; m <= split("stream stream-ready", modes, " "); m++) {
                    k = b SUBSEP modes[m]
                    if (!(k in ratio) || wide[k] || wide[b, "mpi-persistent"]) continue
                    if (best == "" || far(b) < far(best)) { best = b; mode = modes[m] }
                }
            }
            if (best == "") exit said != ""
            kib = best % 1024 == 0
            want = sprintf("%s takes %.2f of the time of mpi-persistent at %d %s", mode,
                ratio[best, mode], kib ? best / 1024 : best, kib ? "KiB" : "bytes")
            if (said != want) { print "expected: " want; exit 1 }
        }' "$dir/csv" || fail "$program says '$said'"
}
device=host
header=bench,mode,channel,device,ranks,bytes,median_us,p99_us,ci95_us,ratio,starts,waits,launches
header+=,posts,rings,published_launches,published_posts,host_us,cpu_us

# expect_stream LAUNCHES POSTS RINGS READY_POSTS READY_RINGS PROGRAM: what the CSV of the last run
# says of an iteration in the two modes, in the column channel as well. LAUNCHES may be "any".
expect_stream()
{
    awk -F, -v name="$6" -v channel="$channel" -v launches="$1" -v posts="$2" -v rings="$3" \
        -v ready_posts="$4" -v ready_rings="$5" '
        function differs(p, r) {
            if (r == "batched") { # both are printed with three digits
                r = 1 + ($13 - 2) / 2
                r = $15 - r < 0.0015 && r - $15 < 0.0015 ? $15 : r
            }
            return $3 != channel || (launches != "any" && $13 != launches) || $14 != p || $15 != r
        }
        $2 == "stream" && differs(posts, rings) { bad = 1 }
        $2 == "stream-ready" && differs(ready_posts, ready_rings) { bad = 1 }
        $1 == name { seen++ } END { exit bad || seen != 2 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "$6 takes other operations on $channel"; }
}

# By the channel cxi, over a fabric: the counts of doc/cxi.md, and those published.
# expect_cxi FABRIC EXCHANGE PINGPONG HALO: with so many rings for standard sends.
expect_cxi()
{
    local fabric=$1 seconds=0.05 # these NICs are software, and slow
    channel=cxi
    expect_rows 2 2 exchange --sizes 8 --channel cxi --fabric "$fabric" --modes stream,stream-ready
    expect_stream 2 32 "$2" 24 1 exchange
    awk -F, 'NR == 2 && ($16 != 27 || $17 != 32) { exit 1 }
        NR == 3 && ($16 != 18 || $17 != 24) { exit 1 }' "$dir/csv" || fail "published counts"
    grep -q "^channel: cxi, fabric: $fabric, .*: its times mean" "$dir/out" ||
        fail "the fabric $fabric is not told"
    # Rank 1 has one start and one wait more in each batch; with eager sends it rings for the start
    # of a receive there.
    expect_rows 2 2 pingpong --sizes 1K --channel cxi --fabric "$fabric" \
        --modes stream,stream-ready
    expect_stream any 4 "$3" 3 1 pingpong
    # Two of the eight neighbours are the rank itself. Their starts stand between the others, which
    # the stream therefore executes, and rings for, in two groups.
    expect_rows 2 2 halo --sizes 40 --pattern "$gun" --generations 10 --channel cxi \
        --fabric "$fabric" --modes stream,stream-ready
    expect_stream 2 24 "$4" 18 2 halo
}

if [ "${1-}" = cxi ]; then
    if [ "${MPIXQ_TEST_LIBFABRIC:-yes}" != yes ]; then
        expect_usage "cannot be used on rank 0" 2 pingpong --channel cxi --fabric sockets
        exit $failed
    fi
    expect_cxi sockets 1 batched 3
    MPIXQ_EAGER=0 expect_cxi sockets 9 2 8
    if [ "$(uname -m)" = x86_64 ]; then
        MPIXQ_EAGER=0 expect_cxi cxi 9 2 8
        expect_cxi cxi 1 batched 3
        grep -q 'the double of the build tree' "$dir/out" || fail "the double is not told"
    fi
    FI_PROVIDER_PATH=$dir FI_PROVIDER=cxi \
        expect_usage "cannot be used on rank 0" 2 pingpong --fabric cxi
    exit $failed
fi

# Wide and narrow parts, each with a last word that is not full; and none that is full.
expect_halo_on_device()
{
    local mode skipped
    expect_rows 10 1 halo --device hip --sizes 40,64 --pattern "$gun"
    expect_rows 5 2 halo --device hip --board 37x95 --generations 15 --pattern "$gun"
    HIP_DOUBLE_DEVICES=4 expect_rows 3 4 halo --device hip --board 131x21 --generations 10 \
        --pattern "$gun" --modes mpi-persistent,stream,stream-ready
    [ "$(awk -F, '$2 ~ /^stream/ { print $3 }' "$dir/csv" | sort -u)" = ipc ] ||
        fail "GPUs do not move the borders"
    expect_rows 2 4 halo --device hip --board 5x3 --generations 10 \
        --pattern "$patterns/glider.rle" --modes mpi-blocking,stream
    HIP_DOUBLE_VERSION=6 HIP_DOUBLE_QUEUES=1 \
        expect_rows 2 2 halo --device hip --sizes 40 --pattern "$gun" --modes host,stream \
        --enqueue along
    # What a kernel leaves out is seen: the packing, the unpacking or the computing of a generation.
    for skipped in bench_strips:7 bench_strips:8 bench_life:4; do
        mode=stream-ready
        [ $skipped != bench_strips:8 ] || mode=mpi-persistent
        expect_wrong "HIP_DOUBLE_SKIP=$skipped" 2 halo --device hip --sizes 40 --generations 10 \
            --pattern "$gun" --modes $mode
    done
    HIP_DOUBLE_DEVICES=0 expect_usage "--device hip cannot be used: 2 ranks lack" 2 halo \
        --device hip
}

# What the library is compared with on a device, as far as the double has it.
expect_baselines()
{
    local all=mpi-persistent,stream-ready,peer-copy
    expect_rows 6 2 pingpong --device hip --sizes 24,64K --modes $all
    grep -q '^  peer-copy  *a copy to the peer each; ' "$dir/out" || fail "the calls are not told"
    [ "$(grep -c 'best of peer: peer-copy .*; stream-ready to it' "$dir/out")" -eq 2 ] ||
        fail "the best form is not told"
    # Without work between the messages; what each sends is then always the same.
    expect_rows 12 2 pingpong --device hip --bare --sizes 24,64K \
        --modes mpi-blocking,$all,plain-copy,one-kernel
    [ "$(grep -c 'GB/s: .*one-kernel [0-9.]* ([0-9.]*)' "$dir/out")" -eq 2 ] ||
        fail "the bandwidth is not told"
    expect_rows 4 2 pingpong --device hip --bare --sizes 16,8K --modes device-loop,put-loop
    # Not among all, as messages may be too large for it.
    launch 2 pingpong --device hip --bare --sizes 64K --seconds 0.5 --trials 2 --modes all ||
        fail "--modes all ended with $?"
    grep -q '^ *put-loop  *[0-9]' "$dir/out" || fail "put-loop is not among all modes"
    # To itself, to one neighbour, to two; a message for each, or one for each neighbour.
    expect_rows 4 1 exchange --device hip --sizes 8,4K --modes peer-copy,peer-copy-one
    expect_rows 4 2 exchange --device hip --sizes 8,4K --modes peer-copy,peer-copy-one
    awk -F, '$2 == "peer-copy" && ($13 != 8 || $14 != 16) { bad = 1 }
        $2 == "peer-copy-one" && ($13 != 1 || $14 != 2) { bad = 1 } END { exit bad }' \
        "$dir/csv" || { cat "$dir/csv"; fail "a baseline takes other operations"; }
    expect_rows 2 3 exchange --device hip --sizes 40 --messages 3 --modes peer-copy,peer-copy-one
    # On a grid of 2 x 2 three of the ranks are eight neighbours.
    expect_rows 2 2 exchange --device hip --sizes 40 --grid --modes peer-copy,peer-copy-one
    expect_rows 2 4 exchange --device hip --sizes 40 --grid --messages 2 \
        --modes peer-copy,peer-copy-one
    awk -F, '$2 == "peer-copy" && ($13 != 16 || $14 != 32) { bad = 1 }
        $2 == "peer-copy-one" && ($13 != 3 || $14 != 6) { bad = 1 } END { exit bad }' \
        "$dir/csv" || { cat "$dir/csv"; fail "a baseline takes other operations on a grid"; }
    expect_rows 4 2 exchange --device hip --sizes 40 --modes $all,peer-copy-one --skew 50
    expect_rows 2 2 exchange --device hip --sizes 40 --modes stream,stream-ready --beside 32
    grep -q 'a product of 32 x 32 .* beside stream .*; alone .* beside stream-ready ' "$dir/out" ||
        fail "the product is not told"
    expect_rows 2 4 halo --device hip --board 37x95 --generations 15 --pattern "$gun" \
        --modes stream,peer-copy
    # Any MPI takes the memory of a double that lets the host reach it.
    expect_usage "mode mpi-aware cannot be used: 2 ranks lack something (this one: an MPI" 2 \
        pingpong --device hip --modes mpi-aware
    export MPIXQ_GPU_AWARE=yes HIP_DOUBLE_ACCESS=bar
    expect_rows 2 2 pingpong --device hip --sizes 24,64K --modes mpi-aware
    expect_rows 2 2 pingpong --device hip --bare --sizes 24,64K --modes mpi-aware
    expect_rows 2 1 exchange --device hip --sizes 40 --modes mpi-aware,mpi-aware-one
    expect_rows 2 2 exchange --device hip --sizes 4K --modes mpi-aware,mpi-aware-one
    awk -F, '$2 == "mpi-aware" && $14 != 16 || $2 == "mpi-aware-one" && $14 != 2 { bad = 1 }
        END { exit bad }' "$dir/csv" || { cat "$dir/csv"; fail "mpi-aware takes other operations"; }
    expect_rows 2 3 exchange --device hip --sizes 40 --messages 3 --modes mpi-aware,mpi-aware-one
    expect_rows 1 4 halo --device hip --board 37x95 --generations 15 --pattern "$gun" \
        --modes mpi-aware
    expect_wrong HIP_DOUBLE_SKIP=bench_strips:7 2 halo --device hip --sizes 40 --generations 10 \
        --pattern "$gun" --modes mpi-aware
    unset MPIXQ_GPU_AWARE HIP_DOUBLE_ACCESS
    # What is not done is seen.
    expect_wrong HIP_DOUBLE_SKIP=bench_strips:7 2 halo --device hip --sizes 40 --generations 10 \
        --pattern "$gun" --modes peer-copy
    expect_wrong HIP_DOUBLE_SKIP=bench_product:1 2 exchange --device hip --sizes 40 \
        --modes stream --beside 32
    expect_missing
}

# What is not there is an error if it was asked for by its name, and otherwise left out.
expect_missing()
{
    local there=librccl.so.1
    expect_rows 1 2 halo --device hip --sizes 40 --generations 10 --pattern "$gun" \
        --modes baselines
    grep -qF "mode nvshmem is left out: 2 ranks lack something (this one: CUDA)" "$dir/err" ||
        fail "what is left out is not told"
    expect_usage "mode nvshmem cannot be used: 2 ranks lack" 2 pingpong --device hip --modes nvshmem
    expect_usage "mode host-put cannot be used: 2 ranks lack something (this one: windows in" 2 \
        pingpong --device hip --modes stream,host-put
    MPIXQ_GPU_OPS=values expect_usage "mode stream-put cannot be used: 2 ranks lack something" 2 \
        pingpong --device hip --modes stream,stream-put
    HIP_DOUBLE_DEVICES=2 HIP_DOUBLE_PEER=no expect_usage "mode device-put cannot be used: 2 ranks" \
        2 exchange --device hip --modes device-put
    expect_usage "mode nvshmem-device cannot be used: 2 ranks lack" 2 exchange --device hip \
        --nvshmem "$dir/none" --modes nvshmem-device
    expect_usage "mode nvshmem-graph cannot be used: 2 ranks lack something (this one: CUDA)" 2 \
        exchange --device hip --modes nvshmem-graph
    expect_usage "there is no mode nvshmem-graph here" 2 halo --device hip --modes nvshmem-graph
    expect_usage "there is no mode nvshmem-dev-one here" 2 pingpong --device hip \
        --modes nvshmem-dev-one
    expect_usage "there is no mode nccl-one here" 2 halo --device hip --modes nccl-one
    if ! ldconfig -p 2>/dev/null | grep -qF "$there"; then
        expect_usage "mode nccl cannot be used: 2 ranks lack something (this one: $there)" \
            2 exchange --device hip --modes stream,nccl
    fi
}

# expect_wrong SETTING RANKS PROGRAM OPTION...: with this in the environment its data is wrong.
expect_wrong()
{
    local setting=$1 rc=0
    shift
    export "${setting?}"
    launch "$@" --seconds "${brief:-0.05}" --trials 3 --verify || rc=$?
    unset "${setting%%=*}"
    if [ "$rc" -ne 1 ] || ! grep -q 'items had wrong data' "$dir/err"; then
        fail "$setting $* ended with $rc"
    fi
}

# expect_launches NUMBER: so many of an iteration in the last run, whose modes are of graphs.
expect_launches()
{
    awk -F, -v launches="$1" '
        NR > 1 && ($2 !~ /^stream.*-graph$/ || $3 != "ipc" || $13 != launches || $14 != 0 ||
            $15 != 0) { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "an iteration has not $1 launches of graphs"; }
}

# What is captured and replayed. A batch of 40 iterations is two launches, whose graph is the same;
# a shorter one, or what is left of a trial, is a graph of two iterations, and one or two of the
# rest.
expect_graphs()
{
    local modes=stream-graph,stream-ready-graph skipped lack
    expect_rows 4 2 pingpong --device hip --sizes 24,64K --modes $modes
    expect_launches 0.050
    grep -q '^  stream-graph  *stream, replayed as a graph of 20 iterations; ' "$dir/out" ||
        fail "the calls are not told"
    expect_rows 4 2 pingpong --device hip --bare --sizes 24,64K --modes $modes
    expect_rows 4 2 exchange --device hip --sizes 8,4K --modes $modes
    expect_launches 0.050
    expect_rows 2 3 exchange --device hip --sizes 40 --messages 3 --skew 1 --modes $modes
    # Beside the same iterations that are enqueued, and those of MPI.
    expect_rows 5 2 exchange --device hip --sizes 40 --modes $modes,mpi-persistent,stream,host
    expect_rows 2 2 pingpong --device hip --sizes 24 --modes $modes --enqueue each
    expect_launches 0.050
    # Each rank is a neighbour of itself.
    expect_rows 2 2 halo --device hip --sizes 40 --pattern "$gun" --modes $modes
    expect_launches 0.050
    # Of 47 these are twice 20, 2 and 5; of 39 they are 2, 20 and 17.
    HIP_DOUBLE_DEVICES=4 expect_rows 2 4 halo --device hip --sizes 40 --pattern "$gun" \
        --modes $modes --generations 47
    expect_launches 0.085
    expect_rows 2 4 halo --device hip --sizes 40 --pattern "$gun" --modes $modes --generations 39
    expect_launches 0.077
    for skipped in bench_strips:80 bench_life:4; do
        expect_wrong "HIP_DOUBLE_SKIP=$skipped" 2 halo --device hip --sizes 40 --generations 10 \
            --pattern "$gun" --modes stream-ready-graph
    done
    # What the library does not capture.
    lack="2 ranks lack something (this one: MPIX_Enqueue_startall: "
    MPIXQ_GPU_OPS=values expect_usage "mode stream-ready-graph cannot be used: $lack" 2 exchange \
        --device hip --modes stream-ready-graph
    expect_rows 8 2 pingpong --device hip --channel fallback --sizes 24 --modes all
    awk -F, '$2 ~ /^stream/ && $3 != "fallback" { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "the channel of a graph is not told"; }
    expect_rows 2 2 pingpong --device hip --channel cxi --fabric sockets --sizes 24 \
        --modes stream,stream-graph
    awk -F, '$2 ~ /^stream/ && $3 != "cxi" { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "the channel of a graph is not told"; }
    # In one kernel, a launch each, or 20 as a graph.
    expect_rows 4 2 exchange --device hip --sizes 8,8K --modes stream-fused,stream-fused-graph
    awk -F, 'NR > 1 && ($3 != "ipc" || $13 != ($2 == "stream-fused" ? "1.000" : "0.050")) {
        exit 1 }' "$dir/csv" || { cat "$dir/csv"; fail "not one launch"; }
    expect_rows 2 3 exchange --device hip --sizes 40 --messages 3 \
        --modes stream-fused,stream-fused-graph
    expect_halo_fused
    expect_puts
    lack="2 ranks lack something (this one: slots for messages in kernels)"
    expect_usage "mode stream-fused cannot be used: $lack" 2 exchange --device hip \
        --channel fallback --modes stream-fused
    expect_usage "mode stream-fused-graph cannot be used: $lack" 2 halo --device hip \
        --channel fallback --modes stream-fused-graph
    expect_usage "the modes stream-fused take at most 4 messages" 2 exchange --device hip \
        --messages 5 --modes stream-fused
}

# A generation in one kernel: of a rank that is its own neighbour on two sides, or on all, without
# messages then; of parts whose borders have other numbers of cells than a kernel puts at once, of
# one or two cells a side, and beside the same by several kernels.
expect_halo_fused()
{
    local modes=stream-fused,stream-fused-graph
    expect_rows 4 2 halo --device hip --sizes 40,51 --pattern "$gun" --modes $modes
    awk -F, 'NR > 1 && ($3 != "ipc" || $11 != 12 || $14 != 0 ||
        $13 != ($2 == "stream-fused" ? "1.000" : "0.050")) { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "not one launch and twelve messages"; }
    HIP_DOUBLE_DEVICES=4 expect_rows 4 4 halo --device hip --board 131x41 --generations 47 \
        --pattern "$gun" --modes $modes,stream,stream-graph
    expect_rows 2 4 halo --device hip --board 5x3 --generations 11 \
        --pattern "$patterns/glider.rle" --modes $modes
    expect_rows 2 3 halo --device hip --board 37x95 --generations 15 --pattern "$gun" \
        --modes $modes --enqueue each
    launch 1 halo --device hip --board 37x95 --generations 15 --pattern "$gun" --verify \
        --trials 3 --modes $modes || fail "one rank ended with $?"
    expect_wrong HIP_DOUBLE_SKIP=bench_halo:4 2 halo --device hip --sizes 40 --generations 10 \
        --pattern "$gun" --modes stream-fused-graph
    # The neighbours of a grid, of whom some are the rank itself.
    expect_rows 1 2 exchange --device hip --grid --sizes 40 --modes stream-fused
    expect_rows 1 4 exchange --device hip --grid --sizes 40 --modes stream-fused-graph
    expect_usage "the modes stream-fused take at most 1 messages" 2 exchange --device hip \
        --grid --messages 2 --modes stream-fused
}

# Puts in memory of the device: two launches for all messages, a graph for 20 iterations, or one
# kernel. In the ping-pong a rank begins with a kernel that only waits.
expect_puts()
{
    local modes=stream-put,stream-put-graph,device-put
    for program in "2 pingpong --sizes 24,200K" "2 exchange --sizes 8,70008 --messages 5" \
        "1 exchange --sizes 40" "4 exchange --sizes 40 --grid" \
        "2 halo --sizes 40 --pattern $gun" "2 pingpong --sizes 40 --enqueue each"; do
        # shellcheck disable=SC2086
        set -- $program
        expect_rows "$(($(tr -cd , <<<"$4" | wc -c) * 3 + 3))" "$@" --device hip --modes $modes
        awk -F, 'NR > 1 && ($2 == "stream-put" && $13 != 2 || $2 ~ /graph/ && $13 != 0.05 ||
            $2 == "device-put" && ($13 < 1 || $13 > 1.5)) { exit 1 }' "$dir/csv" ||
            { cat "$dir/csv"; fail "$program: wrong numbers of launches"; }
    done
    expect_rows 2 2 pingpong --device hip --sizes 24 --bare --modes stream-put,device-put
}

# needs_collectives: skip where MPI has none.
needs_collectives()
{
    launch 1 cg --help || fail "--help ended with $?"
    if grep -q 'has no persistent collectives' "$dir/err"; then
        echo "skip: this MPI has no persistent collectives"
        exit 77
    fi
}

# expect_refused TEXT MATRIX: a file that begins like this is told to be wrong.
expect_refused()
{
    printf '%%%%MatrixMarket matrix coordinate %b' "$2" >"$dir/bad.mtx"
    expect_usage "--matrix: $dir/bad.mtx$1" 2 cg --matrix "$dir/bad.mtx"
}

# Sums of vectors.
expect_allreduce()
{
    expect_rows 8 2 allreduce --sizes 8,40K
    expect_rows 4 3 allreduce --sizes 1000
    expect_rows 4 1 allreduce --sizes 64
    expect_rows 2 2 allreduce --sizes 1M --modes mpi-persistent,stream --enqueue each
    awk -F, '$2 == "stream" && ($11 != 1 || $12 != 1 || $13 != 2) { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "a sum takes other operations"; }
    expect_rows 4 2 allreduce --barrier
    expect_rows 4 3 allreduce --barrier
    expect_usage "--sizes: 12 bytes are no vector" 2 allreduce --sizes 12
    expect_usage "there is no mode stream-ready here" 2 allreduce --modes stream-ready
    expect_usage "mode stream-graph cannot be used: 2 ranks lack something (this one: a device" \
        2 allreduce --modes stream-graph
}

# By GPUs, and what they leave to the host: three ranks with more than 64 KiB.
expect_allreduce_on_device()
{
    expect_rows 10 2 allreduce --device hip --sizes 8,200K --modes all
    awk -F, '$2 ~ /graph$/ && $13 != 0.05 { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "a sum has not 0.05 launches of graphs"; }
    grep -q '^allreduce,stream,ipc,' "$dir/csv" || fail "GPUs do not reduce"
    awk -F, '$2 == "stream" && $13 != ($6 == 8 ? 1 : 2) { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "a short sum is not one launch"; }
    expect_rows 4 3 allreduce --device hip --sizes 8,200K --modes stream,stream-graph
    expect_rows 2 2 allreduce --device hip --channel fallback --sizes 1K --modes stream,stream-graph
    expect_rows 2 2 allreduce --device hip --barrier --modes stream,stream-graph
    grep -q '^barrier,stream,ipc,' "$dir/csv" || fail "GPUs do not move a barrier"
    awk -F, '$2 == "stream" && $13 != 1 { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "a barrier is not one launch"; }
    # The 30th is one of the first trial, behind 1, 1 and 11 that warm up.
    local brief=0.0001
    expect_wrong HIP_DOUBLE_SKIP=bench_words:30 2 allreduce --device hip --sizes 8 \
        --modes stream
    # From 4 MiB on by another kernel.
    MPIXQ_DIRECT_KIB=8192 expect_rows 2 2 allreduce --device hip --sizes 4M,5000000 --modes stream
    [ "$(grep -c '^allreduce,stream,ipc,' "$dir/csv")" -eq 2 ] || fail "GPUs do not reduce 4 MiB"
}

# Conjugate gradients: generated matrices, of which a rank may have one row, and one from a file; to
# the end, and a number of iterations that no look ends; in what counts, an iteration.
expect_cg()
{
    local plate=$top_srcdir/examples/matrices/plate.mtx
    local some=mpi-persistent,mpi-pipelined,stream,stream-pipelined
    expect_rows 14 1 cg --sizes 1,300
    expect_rows 14 2 cg --sizes 1,2K
    awk -F, '$2 ~ /^stream(-ready)?$/ && ($11 != 4 || $12 != 4 || $13 != 6) { exit 1 }
        $2 == "stream-pipelined" && ($11 != 3 || $12 != 3 || $13 != 4) { exit 1 }
        NR > 1 && $6 != 1 && $6 != 2048 { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "an iteration takes other operations"; }
    expect_rows 7 2 cg --matrix "$plate"
    expect_rows 7 2 cg --sizes 300 --every 7 --iterations 30 --tolerance 0 --enqueue each
    # On and on, when nothing but rounding is left, and then nothing at all.
    expect_rows 4 2 cg --sizes 20 --iterations 400 --tolerance 0 --modes $some
    expect_rows 1 2 cg --matrix "$plate" --iterations 5000 --every 1000 --tolerance 0 --modes stream
    expect_rows 4 3 cg --matrix "$plate" --modes $some
    expect_rows 4 3 cg --sizes 40 --stencil 7 --modes $some --every 1
    # A rank without rows.
    printf '%%%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 4\n' >"$dir/one.mtx"
    expect_rows 7 2 cg --matrix "$dir/one.mtx"
    expect_usage "--matrix: cannot open $dir/none.mtx" 2 cg --matrix "$dir/none.mtx"
    expect_refused ":2: the matrix is not square" 'real general\n2 3 1\n1 1 1\n'
    expect_refused ":4: fewer entries" 'real general\n2 2 2\n1 1 1\n'
    expect_refused ": the matrix is not symmetric" 'real general\n2 2 3\n1 1 1\n2 2 1\n1 2 1\n'
    expect_refused ": the matrix is not positive definite, as iteration 2 of a solve shows" \
        'real symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 3\n'
    expect_usage "--stencil: '6'" 1 cg --stencil 6
    expect_usage "--every: '0'" 1 cg --every 0
    expect_usage "--iterations: '0'" 1 cg --iterations 0
    expect_usage "--tolerance: '1'" 1 cg --tolerance 1
    expect_usage "--sizes: 2147483648 rows for each of 2 ranks" 2 cg --sizes 2G
    expect_usage "there is no mode peer-copy here" 2 cg --modes peer-copy
    expect_usage "mode stream-pipe-graph cannot be used: 2 ranks lack something (this one: a dev" \
        2 cg --modes stream-pipe-graph
}

# The same by kernels, and in graphs of as many iterations as are between two looks.
expect_cg_on_device()
{
    local kernel
    # Each kernel is work for threads of the host here, so only one size goes through all modes.
    expect_rows 10 2 cg --device hip --sizes 700 --modes all
    awk -F, '$2 ~ /graph$/ && $13 != 0.05 { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "an iteration has not 0.05 launches of graphs"; }
    expect_rows 3 2 cg --device hip --sizes 50 --modes mpi-blocking,stream,stream-pipe-graph
    HIP_DOUBLE_DEVICES=4 expect_rows 4 3 cg --device hip --sizes 300 --stencil 7 --every 8 \
        --modes mpi-pipelined,stream-ready,stream-pipelined,stream-graph
    expect_rows 3 2 cg --device hip --matrix "$top_srcdir/examples/matrices/plate.mtx" \
        --modes mpi-blocking,stream,stream-pipe-graph
    expect_rows 2 2 cg --device hip --channel fallback --sizes 300 --modes stream,stream-graph
    # What a kernel leaves out is seen. In so short a time the first trial is iterations 14 to 53,
    # behind one and one to choose their number and 11 to warm up: of one solve, not at its end.
    local brief=0.0001
    for kernel in pack:30 multiply:30 step:30 turn:30 sum:60 sum:61; do
        expect_wrong "HIP_DOUBLE_SKIP=bench_cg_$kernel" 2 cg --device hip --sizes 700 \
            --iterations 40 --tolerance 0 --modes stream
    done
    for kernel in pipe:30 sum:30; do
        expect_wrong "HIP_DOUBLE_SKIP=bench_cg_$kernel" 2 cg --device hip --sizes 700 \
            --iterations 40 --tolerance 0 --modes stream-pipelined
    done
}

# Jacobi's method: rows that divide evenly or not, two for a rank, of which none is inside; an odd
# number of columns; and norms that do not come out even with a trial.
expect_jacobi()
{
    expect_rows 10 1 jacobi --sizes 5,64
    expect_rows 10 2 jacobi --sizes 4,65
    awk -F, '$2 ~ /^stream/ && ($11 != 5 || $12 != 5 || $13 != 3) { exit 1 }
        NR > 1 && $6 != 4 && $6 != 65 { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "a step takes other operations"; }
    expect_rows 5 3 jacobi --sizes 50 --norm-every 7
    expect_rows 2 3 jacobi --sizes 11 --norm-every 100 --modes mpi-blocking,stream-ready \
        --enqueue each
    awk -F, 'NR > 1 && ($11 < 4 || $11 > 4.02) { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "there are other numbers of norms"; }
    expect_usage "--norm-every: '0'" 1 jacobi --norm-every 0
    expect_usage "--norm-every: '1001'" 1 jacobi --norm-every 1001
    expect_usage "--sizes: 3 rows are fewer than 2 for each of 2 ranks" 2 jacobi --sizes 64,3
    expect_usage "--sizes: 65537 rows are" 1 jacobi --sizes 65537
    expect_usage "there is no mode peer-copy here" 2 jacobi --modes peer-copy
    expect_usage "mode stream-fused cannot be used: 2 ranks lack something (this one: a device" \
        2 jacobi --modes stream-fused
}

# The same by kernels, of several blocks for a row, in graphs, and in one kernel for each step.
expect_jacobi_on_device()
{
    local modes=stream-ready,stream-graph,stream-fused,stream-fused-graph skipped
    expect_rows 9 2 jacobi --device hip --sizes 17 --modes all
    awk -F, '$2 ~ /graph$/ && $13 != 0.05 || $2 == "stream-fused" && $13 != 1 { exit 1 }
        $2 ~ /^stream/ && $3 != "ipc" { exit 1 }' "$dir/csv" ||
        { cat "$dir/csv"; fail "a step has other numbers of launches"; }
    expect_rows 4 2 jacobi --device hip --sizes 600 --modes host,stream,stream-graph,stream-fused
    expect_rows 4 3 jacobi --device hip --sizes 20 --norm-every 7 --modes $modes
    HIP_DOUBLE_DEVICES=4 expect_rows 2 3 jacobi --device hip --sizes 7 --norm-every 3 \
        --modes stream-ready-graph,stream-fused-graph
    expect_rows 4 2 jacobi --device hip --sizes 12 --norm-every 100 --modes $modes
    expect_rows 2 2 jacobi --device hip --channel fallback --sizes 30 --modes stream,stream-graph
    # A row of more than MPIXQ_EAGER bytes leaves a mode out; the next size has it.
    expect_rows 3 2 jacobi --device hip --sizes 1100,40 --modes mpi-persistent,stream-fused
    grep -qF "mode stream-fused is left out at 1100: no slots for rows of 8800 bytes" "$dir/err" ||
        fail "what is left out is not told"
    MPIXQ_EAGER=65536 expect_rows 1 2 jacobi --device hip --sizes 1100 --modes stream-fused
    expect_usage "mode stream-fused cannot be used: 2 ranks lack something (this one: slots" 2 \
        jacobi --device hip --channel fallback --modes stream-fused
    # What a kernel leaves out is seen: the edges or the rest, a whole step, or a new beginning. In
    # so short a time the first trial is steps 14 to 53, behind one and one to choose their number
    # and 11 to warm up.
    local brief=0.0001
    for skipped in step:40 step:41 start:4; do
        expect_wrong "HIP_DOUBLE_SKIP=bench_jacobi_$skipped" 2 jacobi --device hip --sizes 20 \
            --modes stream
    done
    expect_wrong HIP_DOUBLE_SKIP=bench_jacobi_fused:30 2 jacobi --device hip --sizes 20 \
        --modes stream-fused
}

# On a device, the double of HIP's runtime.
if [[ ${1-} =~ ^(hip|graphs|cg-hip|jacobi-hip)$ ]]; then
    export LD_LIBRARY_PATH=$top_builddir/tests/hip_double/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    [ -e "$top_builddir/tests/hip_double/.libs/libamdhip64.so.5" ] || exit 99
    launch 2 pingpong --device hip --sizes 8 --seconds 0.1 --modes mpi-blocking
    if grep -q 'there was no compiler for them' "$dir/err"; then
        echo "skip: no kernels in this build"
        exit 77
    fi
    device=hip seconds=0.05
    case $1 in
    graphs)
        expect_graphs
        exit $failed
        ;;
    cg-hip)
        needs_collectives
        expect_allreduce_on_device
        expect_cg_on_device
        exit $failed
        ;;
    jacobi-hip)
        needs_collectives
        expect_jacobi_on_device
        exit $failed
        ;;
    esac
    expect_rows 10 2 pingpong --device hip --sizes 24,64K
    grep -q '^device: hip;' "$dir/out" || fail "the device is not told"
    # Odd numbers of words, and several messages in one kernel.
    expect_rows 10 2 exchange --device hip --sizes 8,4K
    expect_rows 2 1 exchange --device hip --sizes 40 --messages 3 --modes stream,stream-ready
    expect_rows 1 2 pingpong --device hip --sizes 8 --modes stream --blocking-sync
    HIP_DOUBLE_VERSION=6 HIP_DOUBLE_QUEUES=1 \
        expect_rows 1 2 pingpong --device hip --sizes 8 --modes stream --enqueue along
    HIP_DOUBLE_DEVICES=0 expect_usage "--device hip cannot be used: 2 ranks lack" 2 pingpong \
        --device hip
    expect_usage "--device: 'fast' is not valid" 2 pingpong --device fast
    expect_halo_on_device
    expect_baselines
    expect_usage "--device: matrices are in memory of the host only" 1 transpose --device hip \
        --modes stream
    exit $failed
fi

if [ "${1-}" = cg ]; then
    needs_collectives
    expect_allreduce
    expect_cg
    exit $failed
fi

if [ "${1-}" = jacobi ]; then
    needs_collectives
    expect_jacobi
    exit $failed
fi

expect_rows 15 2 pingpong --sizes 8,8K,256K
expect_conclusion
expect_rows 3 2 pingpong --sizes 8 --modes stream,mpi-blocking,host
expect_rows 10 1 halo --sizes 40,50 --pattern "$gun"
expect_rows 10 2 halo --sizes 40,50 --pattern "$gun"
expect_conclusion
# A ring of one rank, of two that are each other's neighbours on both sides, and a real one.
expect_rows 10 1 exchange --sizes 8,4K
expect_rows 10 2 exchange --sizes 8,64K
# An exchange is one startall and one waitall, and each of its 4 n requests is one operation of MPI.
awk -F, '$2 ~ /^stream/ && ($11 != 16 || $12 != 16 || $13 != 2 || $14 != 16) { exit 1 }' \
    "$dir/csv" || { cat "$dir/csv"; fail "an exchange takes other operations"; }
expect_rows 5 3 exchange --sizes 1K --messages 7
# A grid: of one rank, of two that are their own neighbours, and with neighbours that differ.
expect_rows 5 1 exchange --grid --sizes 8
expect_rows 10 2 exchange --grid --sizes 8,4K --messages 3
expect_rows 4 4 exchange --grid --sizes 1K --modes mpi-persistent,stream,stream-ready,stream-put
grep -q '1 messages each way between neighbours of a grid of 2 x 2' "$dir/out" ||
    fail "the grid is not told"
awk -F, '$2 == "stream" && ($11 != 16 || $13 != 2 || $14 != 16) { exit 1 }' "$dir/csv" ||
    { cat "$dir/csv"; fail "an exchange on a grid takes other operations"; }
expect_rows 2 6 exchange --messages 2 --grid --sizes 8 --modes mpi-persistent,stream
channel=fallback
expect_rows 2 2 exchange --sizes 8 --channel fallback --modes stream,stream-ready
expect_stream 2 16 0 16 0 exchange
grep -qx 'channel: fallback, fabric: auto' "$dir/out" || fail "the channel is not told"
# More requests than a stream can hold at a time.
MPIXQ_HOST_STREAM_DEPTH=64 expect_rows 5 2 exchange --sizes 8 --messages 40
# Eight neighbours of which none is the rank itself need 9 ranks; 4 have each neighbour four times
# or twice.
expect_rows 5 4 halo --board 45x40 --generations 40 --pattern "$gun"
# Boards are larger than patterns may be.
expect_rows 1 2 halo --board 20000x40 --generations 2 --pattern "$gun" --modes stream
# The other modes move the same cells, see above.
for pattern in "$patterns"/*.rle; do
    expect_rows 1 2 halo --pattern "$pattern" --board 37x53 --generations 100 --modes stream
done

# Puts: to itself, to one neighbour, and to more of them, whose parts of the board differ in size;
# short ones, and one that goes in parts. An iteration is one plan.
expect_rows 18 2 pingpong --sizes 8,24,5M --modes put
expect_rows 7 2 pingpong --bare --sizes 64K --modes mpi-persistent,put --enqueue along
expect_rows 2 2 pingpong --sizes 40 --modes host-put,stream-put --enqueue each
expect_rows 6 1 halo --sizes 40,51 --pattern "$gun" --modes mpi-persistent,host-put,stream-put
expect_rows 14 2 halo --sizes 40,51 --pattern "$gun" --modes mpi-persistent,put
expect_conclusion
expect_rows 6 3 halo --board 37x95 --generations 15 --pattern "$gun" --modes put
expect_rows 3 4 halo --board 5x3 --generations 11 --pattern "$patterns/glider.rle" \
    --modes mpi-blocking,host-put,stream-put
awk -F, '$2 == "stream-put" && ($13 != 5 || $14 != 1) || $2 == "host-put" && $14 != 8 { exit 1 }' \
    "$dir/csv" || { cat "$dir/csv"; fail "a generation takes other operations"; }
expect_rows 4 1 exchange --sizes 8,4K --modes host-put,stream-put
expect_rows 6 3 exchange --sizes 1K --messages 7 --modes put
# Blocks of unequal size, and of none: for some ranks, and for all but one.
expect_rows 14 1 transpose --sizes 1,40
expect_rows 7 2 transpose --matrix 7x40
expect_rows 11 3 transpose --matrix 10x7 --modes all
expect_usage "there is no mode device-put here" 2 transpose --modes device-put
expect_usage "mode stream-put-graph cannot be used: 2 ranks lack something (this one: a device" 2 \
    pingpong --modes stream-put-graph
expect_rows 7 4 transpose --matrix 3x70
expect_rows 3 4 transpose --matrix 1x1 --modes mpi-blocking,host-put,stream-put
awk -F, '$2 == "mpi-blocking" && $14 != 1 || $2 == "host-put" && $14 != 4 { bad = 1 }
    $2 == "stream-put" && ($13 != 5 || $14 != 1) { bad = 1 } END { exit bad }' "$dir/csv" ||
    { cat "$dir/csv"; fail "a transposition takes other operations"; }
expect_usage "matrix 70000 x 2 is too large" 1 transpose --matrix 70000x2
expect_usage "--matrix: '7'" 1 transpose --matrix 7
# A stream that is too short for what two iterations enqueue.
MPIXQ_HOST_STREAM_DEPTH=64 expect_rows 1 2 exchange --sizes 8 --messages 40 --modes stream

launch 2 pingpong --sizes 8 --seconds 0.2 --trials 2 --csv || fail "--csv ended with $?"
[ "$(head -n 1 "$dir/out")" = "$header" ] || fail "--csv does not write CSV to stdout"
launch 1 halo --help || fail "--help ended with $?"
grep -q -- --generations "$dir/out" || fail "--help does not help"

expect_rows 2 2 pingpong --bare --sizes 8 --modes mpi-persistent,stream
expect_rows 11 2 pingpong --sizes 8 --modes all
expect_usage "mode peer-copy cannot be used: 2 ranks lack something (this one: a device" 2 \
    exchange --modes stream,peer-copy
expect_usage "mode stream-graph cannot be used: 2 ranks lack something (this one: a device" 2 \
    exchange --modes stream-graph
expect_usage "no mode is left" 2 exchange --modes baselines
expect_usage "there is no mode one-kernel here" 2 pingpong --modes one-kernel
expect_usage "--skew and --beside need --device" 2 exchange --skew 5
expect_usage "--beside: '30'" 2 exchange --beside 30
expect_usage "needs 2 ranks" 1 pingpong
expect_usage "contradict each other" 2 pingpong --channel fallback --fabric sockets
expect_usage "contradict each other" 2 pingpong --channel cxi --fabric none
expect_usage "--channel: 'fast' is not valid" 2 halo --channel fast
expect_usage "--fabric: 'tcp' is not valid" 2 halo --fabric tcp
expect_usage "'--nonsense'" 2 pingpong --nonsense
expect_usage "--sizes: '8,x'" 2 pingpong --sizes 8,x
expect_usage "size 12 is not" 2 pingpong --sizes 12
expect_usage "size 12 is not" 2 exchange --sizes 12
expect_usage "100 messages exceed" 2 exchange --sizes 4M --messages 100
expect_usage "--messages: '0'" 1 exchange --messages 0
expect_usage "--grid takes at most 256 messages" 2 exchange --messages 257 --grid
expect_usage "--modes: 'fast'" 2 halo --modes fast
expect_usage "--seconds: '0'" 2 halo --seconds 0
expect_usage "cannot write" 2 pingpong --csv="$dir/no/such"
expect_usage "cannot open pattern" 2 halo --pattern "$dir/none.rle"
expect_usage "smaller than the pattern" 2 halo --board 10x10 \
    --pattern "$gun"
printf 'x = 2, y = 2\n3o!\n' >"$dir/bad.rle"
expect_usage "bad.rle:2: more cells than the header says" 2 halo --pattern "$dir/bad.rle"
exit $failed
