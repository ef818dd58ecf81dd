#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cxx.sh compile|host|rma|partitions|hip|example - mpix_queue.hpp, and those for puts and partitions
#
# compile  each compiles alone and in several files of a program, by g++ and by clang++, by C++17
#          and later, with both forms of errors and without exceptions at all, and no compiler has a
#          warning
# host     the programs in tests/cxx on 2 ranks, on host streams: queues, and in rma and partitions
#          these; hip: all on streams of HIP's double
# example  the examples in C++ give the right numbers
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}"
# shellcheck source=printed.bash
. "$top_srcdir/tests/printed.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
echo 'int main() { return 0; }' >"$dir/empty.cpp"
# $CC may carry options. The C++ bindings that some mpi.h bring along are not ours and not clean.
# shellcheck disable=SC2206,SC2086
cxx=($CC ${SANITIZER_FLAGS-} -std=c++17 -Wall -Wextra -Wpedantic -Wundef -Werror -DOMPI_SKIP_MPICXX
    -DMPICH_SKIP_MPICXX -I"$top_srcdir/include")
if ! "${cxx[@]}" "$dir/empty.cpp" -o "$dir/empty" -lstdc++ 2>/dev/null; then
    echo "skip: $CC has no compiler for C++"
    exit 77
fi

# every_standard COMPILER FORM: all headers, twice, to see that guards work.
every_standard()
{
    local standard
    printf '%s\n' "$2" '#include <mpix_queue_rma.hpp>' '#include <mpix_queue_partitions.hpp>' \
        '#include <mpix_queue.hpp>' '#include <mpix_queue_rma.hpp>' \
        '#include <mpix_queue_partitions.hpp>' >"$dir/every.cpp"
    for standard in c++17 c++20 "c++17 -DMPIX_QUEUE_NO_ALIASES" "c++17 -DMPIX_QUEUE_MPI_NAMES" \
        "c++17 -fno-exceptions -fno-rtti"; do
        [[ $2 = *EXC* && $standard = *-fno* ]] && continue
        # shellcheck disable=SC2086
        "$1" -std=$standard "${cxx[@]:$skip}" $includes -Wshadow -fsyntax-only \
            "$dir/every.cpp" || failed=1
    done
}

# alone COMPILER FORM HEADER: it needs no other, and two files that have it can be linked.
alone()
{
    printf '%s\n' "$2" "#include <$3>" >"$dir/alone.cpp"
    # shellcheck disable=SC2086
    "$1" -std=c++17 "${cxx[@]:$skip}" $includes -c "$dir/alone.cpp" -o "$dir/one.o" &&
        cp "$dir/one.o" "$dir/other.o" &&
        ld -r "$dir/one.o" "$dir/other.o" -o "$dir/both.o" || failed=1
}

# cannot_copy TYPE: functions that copy one do not compile.
cannot_copy()
{
    # shellcheck disable=SC2016
    printf '%s\n' '#include <mpix_queue_rma.hpp>' "mpixq::$1 f(const mpixq::$1 &x) { return x; }" \
        >"$dir/copies.cpp"
    if "${cxx[@]}" -fsyntax-only "$dir/copies.cpp" 2>"$dir/log"; then
        echo "failed: a $1 can be copied"
        failed=1
    fi
    grep -q deleted "$dir/log" || { cat "$dir/log"; failed=1; }
}

compile()
{
    local compiler form header type includes
    # shellcheck disable=SC2086
    includes=$({ $CC -show 2>/dev/null || $CC --showme; } | tr ' ' '\n' | grep '^-I' |
        sed 's/^-I/-isystem/')
    for compiler in g++ clang++; do
        command -v "$compiler" >/dev/null || { echo "there is no $compiler"; continue; }
        for form in '' '#define MPIXQ_EXCEPTIONS'; do
            every_standard "$compiler" "$form"
            for header in mpix_queue.hpp mpix_queue_rma.hpp mpix_queue_partitions.hpp; do
                alone "$compiler" "$form" "$header"
            done
        done
    done
    for type in queue window signal plan; do
        cannot_copy $type
    done
}
# What belongs to $CC and not to any compiler: all before -std.
skip=0
while [[ ${cxx[skip]} != -std=* ]]; do
    skip=$((skip + 1))
done
skip=$((skip + 1))

# run RANKS NAME SOURCE...: built with the library in front of MPI, and run.
run()
{
    local ranks=$1 name=$2
    shift 2
    if [ "$MPIEXEC" = none ]; then
        echo "skip: no launcher was found by configure"
        exit 77
    elif [ ! -f "$top_builddir/.libs/libmpix_queue.so" ]; then
        echo "skip: no shared library in this build"
        exit 77
    fi
    # shellcheck source=../tools/mpi_env.sh
    . "$top_srcdir/tools/mpi_env.sh"
    "${cxx[@]}" -g "$@" -o "$dir/$name" -L"$top_builddir/.libs" -lmpix_queue -lstdc++ -ldl ||
        exit 1
    export LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # shellcheck disable=SC2086
    timeout 100 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" "$dir/$name" </dev/null >"$dir/printed"
    rc=$?
    cat "$dir/printed"
    [ $rc -eq 0 ] || { echo "failed: $name on $ranks ranks ended with $rc"; failed=1; }
}

# program NAME THROWING: the files of these names in tests/cxx, on 2 ranks.
program()
{
    run 2 "$1" "$top_srcdir/tests/cxx/$1.cpp" "$top_srcdir/tests/cxx/$2.cpp"
}

case ${1:?what} in
compile) compile ;;
host) program queue throwing ;;
rma | partitions) program "$1" "$1_throwing" ;;
hip)
    double=$top_builddir/tests/hip_double/.libs
    export LD_LIBRARY_PATH=$double${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} MTEST_STREAM=hip
    export MPIXQ_CHANNELS=fallback MPIXQ_GPU_AWARE=no
    program queue throwing
    program rma rma_throwing
    program partitions partitions_throwing
    ;;
example)
    for ranks in 1 3; do
        for example in ring gather; do
            run $ranks $example "$top_srcdir/examples/$example.cpp"
            each_printed $ranks 'rank [0-2]: 0 of 1000 sums are wrong' <"$dir/printed" || failed=1
        done
        run $ranks parts "$top_srcdir/examples/parts.cpp"
        each_printed $ranks 'rank [0-2]: 0 of 40000 numbers are wrong' <"$dir/printed" || failed=1
    done
    ;;
*) exit 99 ;;
esac
exit $failed
