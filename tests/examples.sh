#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# examples.sh - the examples, which "make check" has built, give the right numbers
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
if [ "$MPIEXEC" = none ]; then
    echo "skip: no launcher was found by configure"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
failed=0

# launch RANKS PROGRAM: what it prints, in the order of ranks. MPI may add lines of its own.
launch()
{
    # shellcheck disable=SC2086
    timeout 100 $MPIEXEC $MPIEXEC_FLAGS -n "$1" "$top_builddir/examples/$2" </dev/null | sort
    return "${PIPESTATUS[0]}"
}

# expect RANKS PROGRAM LINE...: the program ends well and prints these lines among others.
expect()
{
    local ranks=$1 program=$2 printed
    shift 2
    if ! printed=$(launch "$ranks" "$program"); then
        echo "failed: $program on $ranks ranks ended with an error"
        failed=1
    fi
    for line in "$@"; do
        if ! grep -qx "$line" <<<"$printed"; then
            echo "failed: $program on $ranks ranks did not print '$line' but: $printed"
            failed=1
        fi
    done
}

expect 2 exchange 'rank 0: 1536' 'rank 1: 1536'
expect 3 exchange 'rank 0: 1536' 'rank 1: 1536' 'rank 2: 3' # MPI_PROC_NULL
for ranks in 1 2 4; do
    expect "$ranks" halo 'heat before 1000.000000, after 100 steps 1000.000000'
done
exit $failed
