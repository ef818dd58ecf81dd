# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# tool.bash - sourced by the tests of programs for users, which set $program: what that prints is in
# $dir/out and $dir/err
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}" "${MPIXQ_TEST_MPI:=other}" "${MPIXQ_TEST_LIBFABRIC:=yes}"
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
nic=cxi_double_$(id -u)_tool_$$
trap 'rm -rf "$dir" "/dev/shm/$nic"' EXIT
failed=0

skip()
{
    echo "skip: $*"
    exit 77
}

fail()
{
    echo "failed: $*"
    sed 's/^/    /' "$dir/out" "$dir/err"
    failed=1
}

# look RC COMMAND...: what it printed is in $dir/out and $dir/err.
look()
{
    local expected=$1 rc=0
    shift
    timeout 100 "$@" >"$dir/out" 2>"$dir/err" </dev/null || rc=$?
    [ "$rc" -eq "$expected" ] || fail "$*: exit code $rc, not $expected"
}

# each_rank COMMAND: $dir/each runs what it is given, on rank 1 after the command.
each_rank()
{
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-}}" != 1 ] || %s\nexec "$@"\n' \
        "$1" >"$dir/each"
    chmod +x "$dir/each"
}

# with_hip, with_cxi: from now on there are GPUs; there is a NIC.
with_hip()
{
    export LD_LIBRARY_PATH=$top_builddir/tests/hip_double/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

with_cxi()
{
    [ "$MPIXQ_TEST_LIBFABRIC" = yes ] || skip "built without libfabric"
    [ "$(uname -m)" = x86_64 ] || skip "the double has doorbells on x86-64 only"
    export FI_PROVIDER_PATH=$top_builddir/tests/cxi_double/.libs FI_PROVIDER=cxi MPIXQ_FABRIC=cxi
    export CXI_DOUBLE_NAME=tool_$$ CXI_DOUBLE_CLOSE_MS=100
}
