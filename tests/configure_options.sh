#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# configure_options.sh summary|options
#
# summary  every line of what configure says at its end is true
# options  what is asked for and missing is an error that names it; what is switched off is left
#          out; what is missing by default is left out and the summary says why
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# configure OPTION...: the cache makes the later runs quick, and allows other compilers. It creates
# no files, which takes longest, unless it is told to.
create=--no-create
configure()
{
    [ ! -f cache ] || sed -i -e '/^ac_cv_[a-z]*_\(FC\|GPU_CLANG\|PTXAS\|FATBINARY\)[_=]/d' \
        -e '/^ac_cv_header_ut/d' cache
    "$top_srcdir/configure" "CC=$CC" --cache-file=cache --disable-dependency-tracking \
        ${create:+"$create"} "$@" >log 2>&1 </dev/null
}

must_configure()
{
    configure "$@" || { cat log; exit 1; }
}

# expect TEXT: it must be in the log.
expect()
{
    grep -qF -- "$1" log && return
    fail "there is no '$1' in:"
    tail -n 40 log
}

# ---- The summary --------------------------------------------------------------------------------

# summary LABEL: what it says there.
summary()
{
    sed -n "s/^  $1  *//p" log
}

# says LABEL PATTERN
says()
{
    # shellcheck disable=SC2053
    [[ $(summary "$1") = $2 ]] || fail "the summary says of $1: '$(summary "$1")', not '$2'"
}

# compiles FLAG... <PROGRAM: the checks of configure once more, by other means.
compiles()
{
    # $CC may carry options.
    # shellcheck disable=SC2086
    $CC -x c - -o probe "$@" >/dev/null 2>&1
}

# is_found LABEL COMMAND...: "found" if the command succeeds, else a reason.
is_found()
{
    local label=$1 said
    said=$(summary "$label")
    shift
    if "$@"; then
        [[ $said = found* ]] || fail "$label is there, and the summary says '$said'"
    else
        [[ $said = "not found: no "?* ]] || fail "$label is not there: '$said'"
    fi
}

# Where the compiler finds it, or in a CUDA toolkit.
has_nvtx()
{
    local nvcc
    nvcc=$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")
    compiles -isystem "${nvcc%/bin/nvcc}/include" <<<'#include <nvtx3/nvToolsExt.h>
        int main(void) { return 0; }'
}

has_libfabric()
{
    compiles -lfabric <<<'#include <rdma/fi_trigger.h>
        int main(void) { return 0; }'
}

has_cmocka()
{
    compiles -lcmocka <<<'#if !__has_include(<cmocka.h>)
        #error
        #endif
        int main(void) { return 0; }'
}

# has_toolkit COMPILER FOLDER HEADER: where the compiler is, or in the usual folder.
has_toolkit()
{
    local path
    path=$(command -v "$1") || path=$2/bin/$1
    path=$(readlink -f "$path")
    [ -x "$path" ] && { [ -f "${path%/bin/*}/include/$3" ] || [ -f "/usr/include/$3" ]; }
}

# Which MPI mpi.h is.
mpi_by_header()
{
    # shellcheck disable=SC2086
    echo '#include <mpi.h>' | $CC -E -dM -x c - | awk '
        $2 == "MPICH_VERSION" { gsub(/"/, "", $3); name = "MPICH " $3 }
        $2 ~ /^OMPI_(MAJOR|MINOR|RELEASE)_VERSION$/ { part[$2] = $3 }
        $2 == "MPI_VERSION" { major = $3 }
        $2 == "MPI_SUBVERSION" { minor = $3 }
        END {
            if (name == "") {
                name = "Open MPI " part["OMPI_MAJOR_VERSION"] "." part["OMPI_MINOR_VERSION"] "." \
                    part["OMPI_RELEASE_VERSION"]
            }
            print name " (MPI " major "." minor ")"
        }'
}

# The channels and streams of the arrays behind the seams, in their order: "self, fallback".
built_in()
{
    # shellcheck disable=SC2086
    $CC -E -P -I. -include config.h -I"$top_srcdir/src" -I"$top_srcdir/include" \
        -I"$top_srcdir/src/${1%/*}" "$top_srcdir/src/$1" | tr '\n' ' ' |
        grep -o "$2\[\] = {[^}]*}" | grep -o '&[a-z_]*' |
        sed -e 's/&mpixq_\(channel_\)\{0,1\}//' -e 's/_stream_kind//' | tr '\n' ',' |
        sed -e 's/,$//' -e 's/,/, /g'
}

# without_notes TEXT: "a (why), b" as "a, b".
without_notes()
{
    sed 's/ ([^)]*)//g' <<<"$1"
}

check_summary()
{
    says compiler "$CC -O1"
    says 'install in' /nowhere
    says assertions yes
    says sanitizers no
    says 'shared, static' 'yes, no'
    [[ $(./libtool --config) = *build_old_libs=no* ]] || fail "libtool builds a static library"
    grep -qx 'DEBUG_CPPFLAGS = *' Makefile || fail "assertions: $(grep ^DEBUG_CPPFLAGS Makefile)"
    grep -qx 'LOCK_CPPFLAGS = -DMPIXQ_LOCK_CHECKS=1' Makefile ||
        fail "order of locks: $(grep ^LOCK_CPPFLAGS Makefile)"
    [ "${MPIXQ_TEST_MPI:-other}" = other ] || says MPI "$(mpi_by_header)"
    if compiles <<<'#include <mpi.h>
        int main(void) { return MPI_Send_init_c != 0; }'; then
        says 'large counts' yes
    else
        says 'large counts' 'no: *'
    fi
    if compiles <<<'#include <mpi.h>
        int main(void) { return MPI_Allreduce_init != 0; }'; then
        says collectives yes
    elif compiles <<<'#include <mpi.h>
        #include <mpi-ext.h>
        int main(void) { return MPIX_Allreduce_init != 0; }'; then
        says collectives 'yes, by names of MPIX_ *'
    else
        says collectives 'no: *'
    fi
    if compiles <<<'#include <mpi.h>
        int main(void) { return MPI_T_pvar_get_index != 0; }'; then
        says MPI_T yes
    else
        says MPI_T 'no: *'
    fi
    says launcher "$MPIEXEC*"
    if compiles <<<'#include <uthash.h>
        #include <utlist.h>
        int main(void) { return 0; }'; then
        says uthash found
    else
        says uthash 'not found: the copy in the tarball is used'
    fi
    is_found cmocka has_cmocka
    is_found libfabric has_libfabric
    ! has_libfabric || if compiles <<<'#include <rdma/fi_cxi_ext.h>
        int main(void) { return 0; }'; then
        says libfabric '*, with rdma/fi_cxi_ext.h'
    else
        says libfabric '*, without rdma/fi_cxi_ext.h: our own is used'
    fi
    is_found 'CUDA toolkit' has_toolkit nvcc /usr/local/cuda cuda.h
    if [ -n "$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas)" ]; then
        says 'CUDA cubins' 'sm_[1-9]*by */ptxas'
    else
        says 'CUDA cubins' 'none (no ptxas and fatbinary)*'
    fi
    is_found NVTX has_nvtx
    is_found 'HIP toolkit' has_toolkit hipcc /opt/rocm hip/hip_runtime_api.h
    [ "$(without_notes "$(summary channels)")" = "$(built_in core/channels.c mpixq_channels)" ] ||
        fail "channels: $(summary channels), but built: $(built_in core/channels.c mpixq_channels)"
    [ "$(without_notes "$(summary streams)" | sed 's/ and /, /' | tr '[:upper:]' '[:lower:]')" = \
        "$(built_in stream/stream.c kinds)" ] ||
        fail "streams: $(summary streams), but built: $(built_in stream/stream.c kinds)"
}

if [ "${1-}" = summary ]; then
    create=
    must_configure "CFLAGS=-O1" "MPIEXEC=$MPIEXEC" --prefix=/nowhere --enable-debug \
        --disable-static
    check_summary
    exit $failed
fi

# ---- Options ------------------------------------------------------------------------------------

must_configure --without-libfabric --with-cuda=no --without-nvtx --without-hip --without-cmocka \
    --without-fortran
expect "switched off by --without-libfabric (without the channel cxi"
expect "switched off by --without-cuda"
says 'CUDA cubins' "switched off by --without-cuda"
says NVTX "switched off by --without-nvtx"
expect "switched off by --without-hip"
expect "switched off by --without-fortran (without the module mpix_queue and its tests)"
expect "the unit tests are skipped"
for option in --with-libfabric --with-cuda --with-nvtx --with-hip --with-cmocka --with-fortran; do
    configure "$option=/nonexistent" && fail "$option=/nonexistent is accepted"
    expect "error: $option=/nonexistent was given, but folder /nonexistent is missing"
done
FC=false configure --with-fortran && fail "a compiler that fails is accepted"
expect "error: --with-fortran=yes was given, but module mpi_f08 that false can use is missing"
FC=false configure || fail "a compiler that fails ends a configure that did not ask for one"
expect "not found: no module mpi_f08 that false can use (without the module"
configure --with-cuda=maybe && fail "--with-cuda=maybe is accepted"
expect "not 'maybe'"
configure --enable-sanitizers=address,thread && fail "address,thread is accepted"
expect "--enable-sanitizers takes"

# Without uthash the copy in the tarball is used. A checkout has none: the error says what helps.
if [ -d "$top_srcdir/third_party/uthash" ]; then
    must_configure ac_cv_header_uthash_h=no
    says uthash 'not found: the copy in the tarball is used'
else
    configure ac_cv_header_uthash_h=no && fail "a checkout is accepted without uthash"
    expect "error: uthash.h or utlist.h is missing: install uthash (Debian: uthash-dev,"
fi

# No compiler for GPUs: the summary says what that means.
must_configure GPU_CLANG=/bin/false
for vendor in CUDA HIP; do
    [ -f "$top_srcdir/src/stream/shipped.ptx" ] || says $vendor 'no kernels (no clang*'
done

# The header of provider cxi's extensions is used where it is there.
if has_libfabric; then
    mkdir -p with/rdma
    echo '/* found */' >with/rdma/fi_cxi_ext.h
    create=
    C_INCLUDE_PATH=$dir/with configure || fail "a header more ends configure"
    create=--no-create
    says libfabric '*, with rdma/fi_cxi_ext.h'
    grep -q '^LIBFABRIC_CPPFLAGS = .*-DHAVE_RDMA_FI_CXI_EXT_H=1' Makefile ||
        fail "$(grep ^LIBFABRIC_CPPFLAGS Makefile), though the header is there"
fi

# Kernels as machine code of CUDA: two tools do, and may fail.
mkdir -p tools
printf '#!/bin/sh\necho "  '\''sm_90'\''"\n' >tools/ptxas
printf '#!/bin/sh\nexit 1\n' >tools/fatbinary
chmod +x tools/*
configure PTXAS="$dir/tools/ptxas" FATBINARY="$dir/tools/fatbinary" ||
    fail "tools that fail end configure"
says 'CUDA cubins' "none ($dir/tools/ptxas makes none of the PTX): drivers compile it"

# A libfabric that is too old, and no GPU toolkit in the folders that were named: by default that is
# said, and it is an error only for who asks for it.
mkdir -p old/rdma empty
echo '#error too old' >old/rdma/fi_trigger.h
export C_INCLUDE_PATH=$dir/old
must_configure
expect "not found: no header rdma/fi_trigger.h"
configure --with-libfabric && fail "--with-libfabric is accepted without libfabric"
expect "error: --with-libfabric=yes was given, but header rdma/fi_trigger.h is missing"
unset C_INCLUDE_PATH
for option in --with-libfabric --with-cuda --with-hip; do
    configure "$option=$dir/empty" && fail "$option=$dir/empty is accepted, and empty"
    expect "error: $option=$dir/empty was given, but $dir/empty/"
done
configure --enable-sanitizers=address,undefined || fail "address,undefined is not accepted"
says sanitizers address,undefined
exit $failed
