#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# vendors.sh cuda|hip|kernels|device|cubins|compiled - what the library says of the vendors of GPUs
#
# cuda, hip  its declarations of their interfaces are those of their headers, where these are found,
#            and tests/cuda_check.c or hip_check.c checks every function that is looked up
# kernels    what makes words visible between GPU and host is in the compiled kernels
# device     kernels of programs that use all of mpix_queue_device.h, and ranges, compile, without
#            mpi.h and without headers of a vendor, and for CUDA by nvcc too
# cubins     the fat binary of the build has machine code for the kinds of GPUs that ptxas knows,
#            and in it what makes words visible, where there is a disassembler
# compiled   hiprtc compiles the source that the library brings along, where it is found
set -u
failed=0

fail()
{
    echo "failed: $*"
    failed=1
}

skip()
{
    echo "skip: $*"
    exit 77
}

# kernel_names: of those that the library looks up.
kernel_names()
{
    grep -oE '\bKERNEL\([a-z_]+\)' "$top_srcdir/src/stream/gpu_words.c" |
        sed 's/KERNEL(\(.*\))/mpixq_\1/' | grep -vx mpixq_name
}

# interface VENDOR HEADER FOLDER...: where it is found first.
interface()
{
    local vendor=$1 header=$2 folder check
    check=$top_srcdir/tests/$1_check.c
    shift 2
    # Names and fields of the table in the source, and those that are checked.
    cat "$top_srcdir/src/stream/$vendor"*.c |
        tr '\n' ' ' |
        grep -oE '(NEEDED|OPTIONAL)\([a-z_.]*, *"[A-Za-z0-9_]*"' |
        sed 's/.*(\([a-z_.]*\), *"\(.*\)"/\1 \2/' | sort >"$out.table"
    grep -oE 'CHECK\([a-z_.]*, [A-Za-z0-9_]*, *' "$check" | grep -v 'CHECK(field' |
        sed 's/CHECK(\([a-z_.]*\), \([A-Za-z0-9_]*\),.*/\1 \2/' | sort >"$out.checked"
    [ "$(wc -l <"$out.table")" -gt 15 ] || fail "too few functions found in $vendor.c"
    diff "$out.table" "$out.checked" || fail "$check does not check what $vendor.c looks up"
    for folder; do
        [ -f "$folder/$header" ] || continue
        # $CC may carry options. Vendors' headers have warnings of their own.
        # shellcheck disable=SC2086
        ${CC:-cc} -std=gnu11 -w -DMPIXQ_LOCK_CHECKS=0 -I"$folder" -I"$top_srcdir/src" \
            -fsyntax-only "$check" 2>"$out" ||
            fail "$folder/$header declares other things: $(head -20 "$out")"
        return
    done
    [ $failed = 0 ] || exit 1
    skip "there is no $header"
}

# has FILE PATTERN...: each is found in it.
has()
{
    local file=$1 pattern
    shift
    for pattern; do
        grep -q -- "$pattern" "$file" || fail "the kernels have no '$pattern'"
    done
}

# assembly ARGUMENT...: of the kernels, by clang, into $out.
assembly()
{
    TMPDIR=$out.left "${GPU_CLANG:-clang}" "$@" --cuda-device-only -O2 -S -o "$out" 2>/dev/null &&
        [ -s "$out" ]
}

cuda_options=(--cuda-gpu-arch=sm_70 -nocudainc -nocudalib -Wno-unknown-cuda-version
    -Xclang -target-feature -Xclang +ptx60)
hip_options=(--offload-arch=gfx90a -nogpulib -nogpuinc)

kernels()
{
    local seen=0
    if assembly -x cuda "${cuda_options[@]}" "$top_srcdir/src/stream/kernels_cuda.c"; then
        has "$out" 'st\.release\.sys\.u64' 'ld\.acquire\.sys\.u64' 'bar\.sync' \
            'ld\.global\.v2\.u64' 'st\.global\.v2\.u64'
        seen=1
    fi
    # Caches of the GPU are written back for the host to see, and emptied to see what it wrote.
    if assembly -x hip "${hip_options[@]}" "$top_srcdir/src/stream/kernels_hip.c"; then
        has "$out" buffer_wbl2 buffer_invl2 's_waitcnt .*vmcnt(0)' \
            global_load_dwordx4 global_store_dwordx4
        # Each wavefront's stores have left before the wavefronts meet.
        awk '/^mpixq_/ {back = 0} /buffer_wbl2/ {back = NR} /s_waitcnt .*vmcnt\(0\)/ {waited = NR}
            /s_barrier/ {met = 1; if (back == 0 || waited <= back) bad = 1}
            END {exit !met || bad}' "$out" || fail "a barrier comes before the stores"
        seen=1
    fi
    [ $seen = 1 ] || skip "there is no clang that compiles the kernels"
    # What makes them for the library leaves nothing in the folder for temporary files.
    mkdir "$out.temporary" || exit 99
    GPU_CLANG=${GPU_CLANG:-clang} TMPDIR=$out.temporary \
        sh "$top_srcdir/tools/gpu_code.sh" hip "$top_srcdir" "$out.co" &&
        [ -z "$(ls -A "$out.temporary")" ] || fail "left behind: $(ls -A "$out.temporary")"
}

# A kernel that calls each function for kernels.
device_source()
{
    cat <<'END'
#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device_ranges.h"
#ifndef __global__
#define __global__ __attribute__((global))
#endif
struct two { int a, b; };
extern "C" __global__ void use(const MPIX_Device_request *r, unsigned *to, int n)
{
    MPIX_Device_access out, in;
    int index, flag;
    two pair = {1, 2};
    double *row = (double *)(to + 16);
    const MPIXQ_Device_scope scopes[] = {MPIX_DEVICE_THREAD, MPIX_DEVICE_WARP, MPIX_DEVICE_BLOCK};

    for (MPIXQ_Device_scope scope : scopes) {
        to[0] |= MPIX_Device_start(&r[0], scope) | MPIX_Device_startall(n, r, scope) |
                 MPIX_Device_wait(&r[0], 1000, scope) |
                 MPIX_Device_waitall(n, r, MPIX_DEVICE_FOREVER, scope) |
                 MPIX_Device_waitany(n, r, MPIX_DEVICE_FOREVER, scope, &index) |
                 MPIX_Device_test(&r[0], &flag, scope);
        to[1] |= MPIX_Device_begin(&out, &r[1], 1, MPIX_DEVICE_FOREVER, scope) |
                 MPIX_Device_begin(&in, &r[2], 1, MPIX_DEVICE_FOREVER, scope);
        MPIX_Device_put(&out, 0, MPIX_Device_get(&in, 0));
        MPIX_Device_put64(&out, 1, MPIX_Device_get64(&in, 1));
        MPIX_Device_put_as(&out, 2, MPIX_Device_get_as<float>(&in, 2));
        MPIX_Device_put_as(&out, 3, MPIX_Device_get_as<double>(&in, 3));
        MPIX_Device_put_as(&out, 4, pair);
        to[2] |= MPIX_Device_end(&out, scope) | MPIX_Device_end(&in, scope) |
                 MPIX_Device_begin_direct(&out, &r[1], 1, 1000, scope);
        to[4] |= MPIX_Device_get_range(&in, 5, &to[6], 3, scope) |
                 MPIX_Device_put_range(&out, 5, &to[6], 3, scope) |
                 MPIX_Device_get_range_as(&in, 1, row, 4, scope) |
                 MPIX_Device_put_range_as(&out, 1, row, 4, scope);
        *(unsigned *)MPIX_Device_buffer(&r[1]) = 1;
        to[3] |= MPIX_Device_end(&out, scope) | (unsigned)flag | (unsigned)index;
    }
}
extern "C" __global__ void copy(const MPIX_Device_request *r, MPIX_Device_access *access, int *to)
{
    to[0] = MPIX_Device_start(&r[0], MPIX_DEVICE_BLOCK);
    to[1] = MPIX_Device_put_range(&access[0], 0, to + 4, 100, MPIX_DEVICE_BLOCK);
    to[2] = MPIX_Device_get_range(&access[1], 0, to + 4, 100, MPIX_DEVICE_BLOCK);
}
END
}

device()
{
    local seen=0 name nvcc include=$top_srcdir/include warnings=(-Wall -Wextra -Werror)
    device_source >"$out.cu"
    # None is forgotten above.
    for name in $(sed -n 's/^MPIXQ_DEV .*\bMPIXQ_\(Device_[a-z_0-9]*\)(.*/\1/p' \
        "$include/mpix_queue_device.h" "$include/mpix_queue_device_ranges.h"); do
        grep -q "MPIX_$name[(<]" "$out.cu" || fail "MPIX_$name is not tried"
    done
    # Whether there is a compiler at all is seen by a kernel without the header.
    echo '__attribute__((global)) void nothing(void) {}' >"$out.empty.cu"
    if assembly -x cuda "${cuda_options[@]}" "$out.empty.cu"; then
        device_by cuda "${cuda_options[@]}" && has "$out" 'ld\.acquire\.sys\.u64' \
            'st\.relaxed\.sys' 'fence\.acq_rel\.sys' 'ld\.v2\.u64' 'st\.v2\.u64'
        # What is copied is in registers meanwhile.
        ! awk '/^\.visible \.entry copy/ {on = 1} on && /\.local/ {bad = 1} on && /^}/ {on = 0}
            END {exit !bad}' "$out" || fail "what is copied is in local memory"
        seen=1
    fi
    if assembly -x hip "${hip_options[@]}" "$out.empty.cu"; then
        device_by hip "${hip_options[@]}" && has "$out" buffer_wbl2 buffer_invl2
        seen=1
    fi
    if nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc); then
        for name in -std=c++14 -std=c++17; do
            "$nvcc" -Werror all-warnings $name -I"$include" -ptx -o "$out.ptx" "$out.cu" \
                >"$out.log" 2>&1 || fail "nvcc $name: $(head -20 "$out.log")"
        done
        seen=1
    fi
    [ $seen = 1 ] || skip "there is no compiler for kernels"
}

# device_by LANGUAGE OPTION...: the assembly in $out.
device_by()
{
    TMPDIR=$out.left "${GPU_CLANG:-clang}" -x "$@" -std=c++11 "${warnings[@]}" -I"$include" \
        --cuda-device-only -O2 -S -o "$out" "$out.cu" >"$out.log" 2>&1 && return
    fail "clang for $1: $(head -20 "$out.log")"
    return 1
}

# tool VARIABLE NAME: of the build, else where CUDA's are.
tool()
{
    local path
    path=$(sed -n "s/^$1 = //p" "$top_builddir/Makefile")
    [ -n "$path" ] || path=$(PATH=$PATH:/usr/local/cuda/bin command -v "$2")
    echo "$path"
}

# images FILE: a line for each image of a fat binary: what it is, 2 for machine code; the number of
# the GPUs; and its bytes. A header of 16 bytes says how many there are in all; one of each image
# begins with its kind, its own length and that of what follows, and has the number at 28.
images()
{
    od -An -v -t u1 "$1" | awk '
        function number(at, n) { return n == 0 ? 0 : byte[at] + 256 * number(at + 1, n - 1) }
        { for (i = 1; i <= NF; i++) byte[n++] = $i }
        END {
            if (number(0, 4) != 3126193488 || number(6, 2) != 16 || number(8, 8) + 16 != n) exit 1
            for (at = 16; at < n; at += number(at + 4, 4) + number(at + 8, 8)) {
                print number(at, 2), number(at + 28, 4), number(at + 8, 8)
            }
        }'
}

cubins()
{
    local ptxas fatbinary objdump built=$top_builddir/src/stream/kernels.fatbin kind name want has
    ptxas=$(tool PTXAS ptxas) fatbinary=$(tool FATBINARY fatbinary)
    if ! grep -q '^PTXAS = .' "$top_builddir/Makefile"; then
        [ ! -s "$built" ] || fail "machine code is built in, without ptxas"
    fi
    [ -n "$ptxas" ] && [ -n "$fatbinary" ] || skip "there is no ptxas with fatbinary"
    # shellcheck disable=SC2046
    want=$(echo $(GPU_CLANG=$(tool GPU_CLANG clang) PTXAS=$ptxas FATBINARY=$fatbinary \
        sh "$top_srcdir/tools/gpu_code.sh" cubins "$top_srcdir" "$out.made"))
    [ -n "$want" ] || fail "there is no fat binary"
    # One for each major number that it knows, from 7 on.
    for kind in $("$ptxas" --help | grep -o "'sm_[0-9]*'" | tr -cd '0-9\n'); do
        [ "$kind" -lt 70 ] || [[ " $want" = *" sm_${kind%?}"[0-9]* ]] || fail "no sm_$kind in $want"
    done
    # What is built in is the same, if the build has the tools.
    cmp -s "$built" "$out.made" || ! grep -q '^PTXAS = .' "$top_builddir/Makefile" ||
        fail "$built is not what $ptxas makes"
    # The kernels of the benchmarks are built in too, for the same kinds.
    if [ -s "$built" ]; then
        has=$(images "$top_builddir/benchmarks/kernels.fatbin" |
            awk '$1 == 2 && $3 > 1000 { printf "%ssm_%d", sep, $2; sep = " " }')
        [ "$has" = "$want" ] || fail "the benchmarks have '$has', not '$want'"
    fi
    has=$(images "$out.made") || fail "that is no fat binary: $(od -An -t x1 "$out.made" | head -2)"
    has=$(awk '$1 == 2 && $3 > 1000 { printf "%ssm_%d", sep, $2; sep = " " }' <<<"$has")
    [ "$has" = "$want" ] || fail "it has '$has', not '$want'"
    objdump=$(PATH=$PATH:/usr/local/cuda/bin command -v cuobjdump) || {
        echo "the code was not looked at: there is no cuobjdump"
        return
    }
    names=$(kernel_names)
    for kind in $want; do
        "$objdump" -sass -arch "$kind" "$out.made" >"$out" 2>&1 || fail "cuobjdump: $(head "$out")"
        has "$out" 'ST\.E\.64\.STRONG\.SYS' 'LD\.E\.64\.STRONG\.SYS' 'MEMBAR\.[A-Z]*\.SYS' \
            'BAR\.SYNC' 'CCTL\.IVALL'
        for name in $names; do
            has "$out" "Function : $name"
        done
    done
}

# For one kind that is built in, and one that is not.
compiled()
{
    local kind name names rc folders=${LD_LIBRARY_PATH-}
    local libraries=(libhiprtc.so.7 libhiprtc.so.6 libamdhip64.so.6 libamdhip64.so.5
        /opt/rocm/lib/libhiprtc.so /opt/rocm/lib/libamdhip64.so)
    if [ -n "${HIP_PATH-}" ]; then
        libraries=("$HIP_PATH"/lib{,/*-linux-gnu}/lib{hiprtc,amdhip64}.so "${libraries[@]}")
        # For what they need.
        for name in "$HIP_PATH"/lib{,/*-linux-gnu} "${HIP_PATH%/usr}"/lib/*-linux-gnu; do
            folders+=:$name
        done
    fi
    names=$(kernel_names)
    [ "$(wc -w <<<"$names")" -ge 5 ] || fail "too few kernels found: $names"
    sh "$top_srcdir/tools/gpu_code.sh" source "$top_srcdir" "$out.hip" || fail "there is no source"
    ! grep -q '#include' "$out.hip" || fail "the source includes files"
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -w -DMPIXQ_LOCK_CHECKS=0 -I"$top_srcdir/src" -o "$out.check" \
        "$top_srcdir/tests/hiprtc_check.c" -ldl || exit 99
    for kind in gfx90a:sramecc+:xnack- gfx1030; do
        LD_LIBRARY_PATH=$folders \
            "$out.check" "$out.hip" $kind "$out" "${libraries[@]}" >"$out.log" 2>&1
        rc=$?
        [ $rc != 77 ] || [ $failed = 1 ] || skip "there is no hiprtc"
        [ $rc = 0 ] || fail "not for $kind, exit code $rc: $(head -20 "$out.log")"
        # As the library looks them up.
        for name in $names; do
            grep -qaF "$name.kd" "$out" || fail "the code for $kind lacks $name"
        done
    done
}

out=$(mktemp) && mkdir "$out.left" || exit 99
trap 'rm -rf "$out" "$out".*' EXIT
cuda_dir=$(command -v nvcc)
cuda_dir=${cuda_dir:+$(dirname "$(dirname "$(readlink -f "$cuda_dir")")")}
case ${1-} in
cuda) interface cuda cuda.h ${cuda_dir:+"$cuda_dir/include"} /usr/local/cuda/include /usr/include ;;
hip) interface hip hip/hip_runtime_api.h ${HIP_PATH:+"$HIP_PATH/include"} \
    ${ROCM_PATH:+"$ROCM_PATH/include"} /opt/rocm/include /usr/include ;;
kernels | device | cubins | compiled) "$1" ;;
*) echo "usage: vendors.sh cuda|hip|kernels|device|cubins|compiled"; exit 99 ;;
esac
exit $failed
