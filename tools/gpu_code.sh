#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# gpu_code.sh - the kernels of a folder (src/stream, benchmarks, tests/device) as bytes in a C file
#
#     gpu_code.sh cuda|hip SRCDIR OUTPUT    compile for one vendor; fails if that cannot be done
#     gpu_code.sh cubins SRCDIR OUTPUT      machine code of CUDA in one file; says for what GPUs
#     gpu_code.sh embed SRCDIR FOLDER       write FOLDER/code.c, kernels*.ptx and kernels.co
#     gpu_code.sh source SRCDIR OUTPUT      the kernels for HIP as one text, which includes nothing
#
# GPU_CLANG is a clang, or hipcc; neither needs a toolkit, since the kernels include nothing. What
# it cannot compile comes from the tarball, where "make dist" has put it, or stays out of the
# library, which then uses stream memory operations. PTXAS and FATBINARY are those of a CUDA
# toolkit, which makes machine code of the PTX; without them drivers do. GPU_CODE_CACHE is a folder
# for what "embed" has made, of the same sources by the same compilers: several trees compile once.
set -u
sources=$2
src=$2/src/stream
prefix=mpixq
header=gpu.h
case $1:${3-} in
embed:benchmarks) src=$2/$3 prefix=bench header=bench_device.h ;;
embed:tests/device) src=$2/$3 prefix=device header=device_code.h ;;
esac

# Compilers of HIP leave folders behind, two for each kind of GPU.
TMPDIR=$(mktemp -d) && export TMPDIR || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' HUP INT TERM

# PTX of the lowest version that has what the kernels need: drivers compile it for newer GPUs.
# compile_cuda OUTPUT SOURCE
compile_cuda()
{
    [ -n "${GPU_CLANG-}" ] && "$GPU_CLANG" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 \
        -nocudainc -nocudalib -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx60 \
        -O2 -S -o "$1" "$src/$2" 2>/dev/null && [ -s "$1" ]
}

# What any clang has made, here or elsewhere.
ptx()
{
    compile_cuda "$1" kernels_cuda.c || cp "$src/shipped.ptx" "$1" 2>/dev/null
}

# The second form of the kernels. Its instructions, which the compiler does not know, are of PTX 7.8
# and sm_90; PTX is text, and newer versions read all that older ones do.
ptx90()
{
    if compile_cuda "$1" kernels_cuda90.c; then
        sed 's/^\.version .*/.version 7.8/; s/^\.target .*/.target sm_90/' "$1" >"$1.new" &&
            mv "$1.new" "$1"
    else
        cp "$src/shipped90.ptx" "$1" 2>/dev/null
    fi
}

# Machine code of one kind runs on GPUs with the same major number too, so the first of each that
# ptxas knows, from that of the PTX on, will do. The PTX stays beside it, for other GPUs and for
# drivers that are older than the toolkit.
kinds()
{
    "$PTXAS" --help 2>/dev/null | grep -o "'sm_[0-9]*'" | tr -cd '0-9\n' | sort -nu |
        awk '$1 >= 70 && !seen[int($1 / 10)]++'
}

# fat PTX PTX90 OUTPUT
fat()
{
    images= made=
    [ -n "${PTXAS-}" ] && [ -n "${FATBINARY-}" ] || return 1
    folder=$TMPDIR
    for kind in $(kinds); do
        from=$1
        [ "$kind" -lt 90 ] || [ ! -s "$2" ] || from=$2
        "$PTXAS" -arch=sm_$kind -O3 -o "$folder/$kind" "$from" 2>/dev/null || continue
        images="$images --image3=kind=elf,sm=$kind,file=$folder/$kind"
        made="$made sm_$kind"
    done
    # shellcheck disable=SC2086
    [ -n "$images" ] && "$FATBINARY" -64 --compress-all --create="$3" $images 2>/dev/null &&
        [ -s "$3" ] && echo $made
}

# compile_hip_for OUTPUT ARCH...
compile_hip_for()
{
    output=$1
    shift
    # shellcheck disable=SC2046
    [ $# -gt 0 ] && "$GPU_CLANG" -x hip --cuda-device-only -nogpulib -nogpuinc -O2 \
        $(printf ' --offload-arch=%s' "$@") -o "$output" "$src/kernels_hip.c" 2>/dev/null &&
        [ -s "$output" ]
}

# Code objects for what the compiler knows of this list: there is nothing common to all. An empty
# file tells that soon; one whose kernels fail for one kind of GPU alone is tried kind by kind.
compile_hip()
{
    [ -n "${GPU_CLANG-}" ] || return 1
    known= good=
    for arch in gfx906 gfx908 gfx90a gfx942; do
        "$GPU_CLANG" -x hip --cuda-device-only --offload-arch=$arch -nogpulib -nogpuinc -S \
            -o /dev/null /dev/null 2>/dev/null && known="$known $arch"
    done
    # shellcheck disable=SC2086
    compile_hip_for "$1" $known && return
    for arch in $known; do
        compile_hip_for "$1" "$arch" && good="$good $arch"
    done
    # shellcheck disable=SC2086
    compile_hip_for "$1" $good
}

# Of the library's only: what the compiler at build time does not know, one at run time may.
source_hip()
{
    awk -v folder="$src" '
        function put(file,   line, parts) {
            while ((getline line <file) > 0) {
                if (line ~ /^#include "/) {
                    split(line, parts, "\"")
                    put(folder "/" parts[2])
                } else {
                    print line
                }
            }
            close(file)
        }
        BEGIN { put(folder "/kernels_hip.c") }' >"$1" && [ -s "$1" ]
}

# bytes NAME FILE: as a C array, with a 0 at the end, which texts need.
bytes()
{
    echo "const unsigned char $1[] __attribute__((aligned(4096))) = {"
    od -An -v -t u1 "$2" | sed 's/\([0-9][0-9]*\)/\1,/g'
    echo "0};"
    echo "const size_t $1_bytes = $(($(wc -c <"$2")));"
}

# archs NAME WORDS: for which GPUs the code is, of the library's only.
archs()
{
    [ "$prefix" != mpixq ] || echo "const char $1_archs[] = \"$2\";"
}

# What PTX, and code objects, say of that themselves, wherever they are from.
ptx_archs()
{
    sed -n 's/^\.target \([a-z0-9_]*\).*/\1 and newer/p' "$1" | head -n 1
}

hip_archs()
{
    grep -ao 'amdhsa--gfx[0-9a-f]*' "$1" | sed 's/.*--//' | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# made_from: what stands for all that the files are made from.
made_from()
{
    {
        cat "$0" "$sources"/include/*.h "$src"/* 2>/dev/null
        for tool in "${GPU_CLANG-}" "${PTXAS-}" "${FATBINARY-}"; do
            echo "$tool" && "$tool" --version
        done
    } 2>/dev/null | sha256sum | cut -c1-64
}

# Take what was kept of the same, into folder $1.
take_kept()
{
    kept=
    [ -n "${GPU_CODE_CACHE-}" ] && command -v sha256sum >/dev/null || return 1
    kept=$GPU_CODE_CACHE/$prefix-$(made_from)
    [ -s "$kept/code.c" ] && cp "$kept"/* "$1"
}

# Keep what is there, unless a compiler has failed: it may do better next time.
keep()
{
    [ -s "$1/kernels.ptx" ] && [ -s "$1/kernels.co" ] &&
        mkdir -p "$GPU_CODE_CACHE" && mkdir "$kept.$$" &&
        cp "$1/code.c" "$1"/kernels*.ptx "$1/kernels.co" "$1/kernels.fatbin" "$kept.$$" &&
        { [ ! -f "$1/kernels.hip" ] || cp "$1/kernels.hip" "$kept.$$"; } &&
        { [ -d "$kept" ] || mv "$kept.$$" "$kept"; }
    rm -rf "$kept.$$"
}

case $1 in
cuda) compile_cuda "$3" kernels_cuda.c ;;
hip) compile_hip "$3" ;;
cubins)
    ptx "$3.ptx" && ptx90 "$3.90" && fat "$3.ptx" "$3.90" "$3"
    set -- $? "$3"
    rm -f "$2.ptx" "$2.90"
    exit "$1"
    ;;
source) source_hip "$3" ;;
embed)
    take_kept "$3" && exit 0
    ptx "$3/kernels.ptx" || : >"$3/kernels.ptx"
    compile_hip "$3/kernels.co" || cp "$src/shipped.co" "$3/kernels.co" 2>/dev/null ||
        : >"$3/kernels.co"
    {
        echo "/* Made by tools/gpu_code.sh. */"
        echo "#include \"$header\""
        bytes ${prefix}_code_cuda "$3/kernels.ptx"
        bytes ${prefix}_code_hip "$3/kernels.co"
        ptx90 "$3/kernels90.ptx" || : >"$3/kernels90.ptx"
        bytes ${prefix}_code_cuda90 "$3/kernels90.ptx"
        made_for=$(fat "$3/kernels.ptx" "$3/kernels90.ptx" "$3/kernels.fatbin") ||
            { : >"$3/kernels.fatbin"; made_for=; }
        archs ${prefix}_cubins "$made_for"
        archs ${prefix}_code_cuda "$(ptx_archs "$3/kernels.ptx")"
        archs ${prefix}_code_cuda90 "$(ptx_archs "$3/kernels90.ptx")"
        archs ${prefix}_code_hip "$(hip_archs "$3/kernels.co")"
        bytes ${prefix}_cubins "$3/kernels.fatbin"
        if [ $prefix = mpixq ]; then
            source_hip "$3/kernels.hip" && bytes mpixq_source_hip "$3/kernels.hip" || exit 1
        fi
    } >"$3/code.c.new" && mv "$3/code.c.new" "$3/code.c" || exit 1
    [ -z "$kept" ] || keep "$3"
    ;;
esac
