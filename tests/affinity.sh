#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# affinity.sh openmp|info|launcher - places of the library's threads that tests/affinity.c cannot
# arrange by itself: beside OpenMP, which binds the main thread before main begins; what MPIXQ_INFO
# says of each case; and under a launcher that binds.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}" "${MPIXQ_TEST_MPI:=other}"
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
program=$top_builddir/tests/affinity
out=$(mktemp)
dir=$(mktemp -d)
trap 'rm -rf "$dir" "$out"' EXIT
failed=0

skip()
{
    echo "skip: $*"
    exit 77
}

fail()
{
    echo "failed: $*"
    sed 's/^/    /' "$out"
    failed=1
}

command -v taskset >/dev/null || skip "there is no taskset"
# The first two CPUs that this process has.
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done | head -n 2)
first=$(head -n 1 <<<"$cpus") second=$(tail -n 1 <<<"$cpus")
[ "$first" != "$second" ] || skip "the process has one CPU only"

# says PATTERN COMMAND...: the command passes and prints a line of MPIXQ_INFO with the pattern.
says()
{
    local pattern=$1
    shift
    MPIXQ_INFO=1 MPIXQ_TEST_RANKS=1 timeout 100 taskset -c "$first,$second" "$@" >"$out" 2>&1 \
        </dev/null || fail "$*: exit code $?"
    grep -q -- "$pattern" "$out" || fail "$*: does not say '$pattern'"
}

# In one process without a launcher.
info()
{
    local both="[0-9,-]*"
    says "CPUs $both: the process was started with them" "$program" free
    says "1 ranks for each CPU: waits spin" "$program" free
    says "thread mpixq-stream: CPUs $both of $both: nobody is bound to any of them" "$program" free
    says "thread mpixq-progress: CPUs $both of $both: nobody" "$program" free
    says "thread mpixq-stream: CPUs $second of $both: nobody is bound to the" "$program" bound-after
    says "thread mpixq-stream: CPUs $first of $first: shared, as no others are allowed: waits" \
        "$program" launcher 0
    says "waits yield" "$program" launcher 0
    MPIXQ_AFFINITY=$second \
        says "thread mpixq-stream: CPUs $second of $second (MPIXQ_AFFINITY): nobody" "$program" any
    MPIXQ_AFFINITY=none says "thread mpixq-stream: stays where it was made" "$program" inherit
    MPIXQ_AFFINITY=8000 says "cannot run on CPUs 8000" "$program" bad-list
    # A neighbour: another child of the same parent, bound to the first CPU.
    says "thread mpixq-stream: CPUs $second of $both: nobody is bound to the" sh -c \
        "taskset -c $first sleep 60 & sleep 0.2; '$program' any; rc=\$?; kill \$!; exit \$rc"
}

# OpenMP has the main thread on the first of its places.
openmp()
{
    cat >"$dir/probe.c" <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include "mpix_queue.h"
int main(int argc, char **argv)
{
    MPIX_Queue queue;
    int n = 0;
    MPI_Init(&argc, &argv);
#pragma omp parallel num_threads(1) reduction(+ : n)
    n += omp_get_num_threads();
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL);
    MPIX_Queue_wait(queue);
    MPIX_Queue_free(&queue);
    MPI_Finalize();
    return n != 1;
}
END
    $CC -fopenmp -w -I "$top_srcdir/include" -o "$dir/probe" "$dir/probe.c" \
        -Wl,--no-as-needed -L"$top_builddir/.libs" -lmpix_queue -Wl,-rpath,"$top_builddir/.libs" \
        >"$out" 2>&1 || skip "the compiler has no OpenMP"
    export OMP_PROC_BIND=true OMP_PLACES=threads OMP_NUM_THREADS=1
    says "thread mpixq-stream: CPUs $second of .*: nobody is bound to the" "$dir/probe"
    unset OMP_PROC_BIND OMP_PLACES
    says "thread mpixq-stream: CPUs .*: nobody is bound to any of them" "$dir/probe"
}

# launched N FLAG...: ranks bound by the launcher keep to their core, and all passes.
launched()
{
    local n=$1
    shift
    # shellcheck disable=SC2086
    MPIXQ_INFO=1 MPIXQ_TEST_RANKS=$n timeout 100 $MPIEXEC $MPIEXEC_FLAGS "$@" -n "$n" "$program" \
        launcher >"$out" 2>&1 </dev/null || fail "$* with $n ranks: exit code $?"
}

launcher()
{
    [ "$MPIEXEC" != none ] || skip "no launcher was found by configure"
    case $MPIXQ_TEST_MPI in
    mpich) launched 2 -bind-to core; launched 4 -bind-to core ;;
    openmpi)
        unset OMPI_MCA_hwloc_base_binding_policy
        launched 2 --bind-to core
        launched 4 --bind-to core:overload-allowed
        ;;
    *) skip "how this launcher binds is not known" ;;
    esac
    # Rank 1 is not where rank 0 is: both were bound.
    [ "$(grep -c 'thread mpixq-stream: CPUs [0-9,-]* of [0-9,-]*: ' "$out")" -ge 4 ] ||
        fail "a rank says nothing of its threads"
    # The default of mpiexec with taskset around it.
    MPIEXEC="taskset -c $second $MPIEXEC" launched 2
    grep -q "thread mpixq-stream: CPUs $second of $second: shared" "$out" ||
        fail "taskset: does not say that CPU $second is shared"
}

case ${1-} in
openmp | info | launcher) "$1" ;;
*) echo "what is ${1-}?"; exit 99 ;;
esac
exit $failed
