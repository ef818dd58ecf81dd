#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# python.sh - the package mpix_queue for Python, as installed, with mpi4py: on host streams, on a
# stream of HIP's double, preloaded, and refused with a reason where it comes too late; partitioned
# requests and puts; its examples give the right numbers
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}"
if [ "$MPIEXEC" = none ] || [ ! -f "$top_builddir/.libs/libmpix_queue.so.0" ]; then
    echo "skip: no launcher, or no shared library in this build"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
# shellcheck source=printed.bash
. "$top_srcdir/tests/printed.bash"
# Debian's mpi4py is for Debian's Python, which may not be the first one.
for python in python3 /usr/bin/python3 ''; do
    "${python:-false}" -c 'import mpi4py' 2>/dev/null && break
done
if [ -z "$python" ]; then
    echo "skip: there is no mpi4py"
    exit 77
fi
vendor=$("$python" -c 'from mpi4py import MPI; print(MPI.get_vendor()[0])' 2>/dev/null </dev/null)
case $MPIXQ_TEST_MPI:$vendor in
"mpich:MPICH" | "openmpi:Open MPI") ;;
*) echo "skip: mpi4py is for $vendor, the library for $MPIXQ_TEST_MPI"; exit 77 ;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# launch RANKS ARGUMENT...: of Python.
launch()
{
    local ranks=$1
    shift
    # shellcheck disable=SC2086
    timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" env PYTHONDONTWRITEBYTECODE=1 \
        "$@" </dev/null >"$dir/printed" 2>&1
}

# works TITLE RANKS ARGUMENT...
works()
{
    launch "${@:2}" && return
    echo "failed: $1"
    cat "$dir/printed"
    failed=1
}

# As in an installed tree, and found there by where the module is.
mkdir -p "$dir/inst/share/mpix-queue/python/mpix_queue" "$dir/inst/lib"
cp "$top_srcdir"/src/python/mpix_queue/*.py "$dir/inst/share/mpix-queue/python/mpix_queue"
ln -s "$(cd "$top_builddir" && pwd)/.libs/libmpix_queue.so.0" "$dir/inst/lib"
export PYTHONPATH=$dir/inst/share/mpix-queue/python${PYTHONPATH:+:$PYTHONPATH}
works "on host streams" 2 "$python" "$top_srcdir/tests/python_queue.py" \
    "$top_srcdir/include/mpix_queue.h"
works "on a stream of HIP" 2 LD_LIBRARY_PATH="$top_builddir/tests/hip_double/.libs" \
    MPIXQ_CHANNELS=fallback MPIXQ_GPU_AWARE=no "$python" "$top_srcdir/tests/python_queue.py" hip
for ranks in 1 2 3; do
    works "partitioned requests, $ranks ranks" $ranks "$python" \
        "$top_srcdir/tests/python_partitions.py"
    works "puts, $ranks ranks" $ranks "$python" "$top_srcdir/tests/python_rma.py"
done
works "puts in memory of GPUs" 2 LD_LIBRARY_PATH="$top_builddir/tests/hip_double/.libs" \
    MPIXQ_CHANNELS=ipc,cxi,fallback MPIXQ_GPU_AWARE=no "$python" "$top_srcdir/tests/python_rma.py" \
    hip

# numbers RANKS EXAMPLE PATTERN: each rank prints what it should.
numbers()
{
    works "$2" "$1" "$python" "$top_srcdir/examples/$2"
    each_printed "$1" "$3" <"$dir/printed" ||
        { echo "failed: $2 printed"; cat "$dir/printed"; failed=1; }
}
numbers 2 exchange.py 'rank [01]: 1536'
# Each number has been passed on by ten ranks, and is one more from each.
numbers 1 puts.py 'rank 0: 10'
numbers 3 puts.py 'rank \(0: 12\|1: 10\|2: 11\)'

# Behind mpi4py: preloaded, and not.
{
    echo 'from mpi4py import MPI'
    cat "$top_srcdir/examples/exchange.py"
} >"$dir/late.py"
works "preloaded" 2 LD_PRELOAD="$dir/inst/lib/libmpix_queue.so.0" "$python" "$dir/late.py"
if launch 2 "$python" "$dir/late.py" || ! grep -q 'import mpix_queue first' "$dir/printed"; then
    echo "failed: imported after MPI it does not say so:"
    cat "$dir/printed"
    failed=1
fi
exit $failed
