#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cmake.sh host - a project of CMake finds the installed tree by find_package alone, and MPI with
#                 it; its programs link MPI in front of the library, directly and by a library of
#                 the project, and work, with the static library as well; so do those of projects in
#                 C++ and in Fortran
# cmake.sh cuda - a project in C++ and CUDA is linked as the others are; it is not run, where there
#                 may be no GPU
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${MAKE:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}"
if ! command -v cmake >/dev/null; then
    echo "skip: there is no cmake"
    exit 77
elif [ "$MPIEXEC" = none ]; then
    echo "skip: no launcher was found by configure"
    exit 77
fi
if [ "${1:?host or cuda}" = cuda ]; then
    CUDACXX=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) ||
        { echo "skip: there is no nvcc"; exit 77; }
    export CUDACXX
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
# shellcheck source=printed.bash
. "$top_srcdir/tests/printed.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# The jobs of the make that runs the tests are not ours; nor is the MPI compiler, which the package
# is to find by itself.
unset MAKEFLAGS MFLAGS MAKELEVEL CC
$MAKE -C "$top_builddir" install DESTDIR="$dir/root" >"$dir/install.log" 2>&1 ||
    { cat "$dir/install.log"; exit 1; }
config=$(find "$dir/root" -name mpix_queueConfig.cmake)
[ -f "$config" ] || { echo "failed: there is no mpix_queueConfig.cmake"; exit 1; }

# show COMMAND...: what it printed, if it fails.
show()
{
    "$@" >"$dir/log" 2>&1 || { cat "$dir/log"; return 1; }
}

# said N LANGUAGES: the Nth project of doc/install.md, in these languages, in the folder said.
said()
{
    mkdir "$dir/said"
    awk -v n="$1" '/^```cmake$/ { on = ++found == n; next } /^```$/ { on = 0 } on' \
        "$top_srcdir/doc/install.md" >"$dir/said/CMakeLists.txt"
    grep -q "^project(prog $2)\$" "$dir/said/CMakeLists.txt" ||
        fail "project $1 of doc/install.md is not in $2"
}

# needed PROGRAM: what it needs of MPI and the library, in that order.
needed()
{
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(lib\(mpi\|mpich\|mpix_queue\)[._].*\)\]$/\1/p'
}

if [ "$1" = cuda ]; then
    said 2 'LANGUAGES CXX CUDA'
    cp "$top_srcdir/examples/exchange_gpu.cu" "$dir/said/prog.cu"
    # With device code of several files CMake links it by nvcc first.
    for separable in OFF ON; do
        made=$dir/made-$separable
        show cmake -S "$dir/said" -B "$made" -Dmpix_queue_DIR="${config%/*}" \
            -DCMAKE_CUDA_SEPARABLE_COMPILATION=$separable \
            -DMPI_CXX_LINK_FLAGS="-Wl,-z,now -Wl,-rpath,/none" &&
            show cmake --build "$made" --verbose ||
            { fail "the project in CUDA, separable $separable"; continue; }
        needed "$made/prog" | head -n 1 | grep -q mpix_queue || fail "not the library first:" \
            "$(needed "$made/prog" | paste -s)"
        nm -D --defined-only "$made/prog" | grep -qw MPI_Send_init ||
            fail "mpixq_first.o is not in the program in CUDA"
    done
    exit $failed
fi
version=$(awk '/^#define MPIXQ_VERSION_M(AJ|IN)OR / { print $3 }' \
    "$top_srcdir/include/mpix_queue.h" | paste -s -d .)
mkdir "$dir/project"
cp "$top_srcdir/tests/interpose_probe.c" "$top_srcdir/tests/collective_names.h" "$dir/project"
cat >"$dir/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(mpix_queue $version REQUIRED)
set(CMAKE_C_STANDARD 11)
link_libraries(\${CMAKE_DL_LIBS})

add_executable(alone interpose_probe.c)
target_link_libraries(alone mpix_queue::mpix_queue)

add_executable(behind interpose_probe.c)
target_link_libraries(behind MPI::MPI_C mpix_queue::mpix_queue)

if(TARGET mpix_queue::static)
    add_executable(static_alone interpose_probe.c)
    target_link_libraries(static_alone mpix_queue::static)
    add_executable(static_behind interpose_probe.c)
    target_link_libraries(static_behind MPI::MPI_C mpix_queue::static)
endif()

add_library(between SHARED interpose_probe.c)
target_compile_definitions(between PRIVATE PROBE_LIBRARY)
target_link_libraries(between MPI::MPI_C mpix_queue::mpix_queue)
add_executable(by_library interpose_probe.c)
target_compile_definitions(by_library PRIVATE PROBE_MAIN)
target_link_libraries(by_library MPI::MPI_C between)
END


show cmake -S "$dir/project" -B "$dir/made" -Dmpix_queue_DIR="${config%/*}" || exit 1
show cmake --build "$dir/made" --verbose || exit 1
for program in alone behind by_library static_alone static_behind; do
    # shellcheck disable=SC2086
    MPIXQ_TEST_RANKS=2 timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n 2 "$dir/made/$program" works \
        </dev/null || fail "$program"
done
for program in static_alone static_behind; do
    if needed "$dir/made/$program" | grep mpix_queue; then
        fail "$program needs the shared library"
    fi
done
if nm -D --defined-only "$dir/made/libbetween.so" | grep -w MPI_Send_init; then
    fail "a library of the project defines functions of MPI"
fi
# The project of doc/install.md, with the program of the README.
said 1 C
cp "$top_srcdir/examples/exchange.c" "$dir/said/prog.c"
show cmake -S "$dir/said" -B "$dir/said/made" -Dmpix_queue_DIR="${config%/*}" || exit 1
show cmake --build "$dir/said/made" || exit 1
# shellcheck disable=SC2086
printed=$(timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n 2 "$dir/said/made/prog" </dev/null) ||
    fail "the project of doc/install.md"
each_printed 2 'rank [01]: 1536' <<<"$printed" || fail "the project printed: $printed"
for line in $(sed -n 's/^| CMake | `\(.*\)` and `\(.*\)` |$/\1\n\2/p' "$top_srcdir/README.md" |
    tr ' ' '^'); do
    grep -qxF "${line//^/ }" "$dir/said/CMakeLists.txt" || fail "the project has no ${line//^/ }"
done
# The same project, where the static library only is installed.
mkdir "$dir/shared"
mv "${config%/cmake/*}"/libmpix_queue.so* "$dir/shared"
show cmake -S "$dir/said" -B "$dir/said/static" -Dmpix_queue_DIR="${config%/*}" &&
    show cmake --build "$dir/said/static" || exit 1
# shellcheck disable=SC2086
printed=$(timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n 2 "$dir/said/static/prog" </dev/null) ||
    fail "the project of doc/install.md, static"
each_printed 2 'rank [01]: 1536' <<<"$printed" || fail "the static project printed: $printed"
mv "$dir"/shared/* "${config%/cmake/*}"
# Projects that have no C, whose MPI is that of the library as well, and which ask for an older
# version: what they print is right.
# other LANGUAGE RANKS SOURCE PATTERN
other()
{
    local project=$dir/$1
    mkdir -p "$project"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' "project(other $1)" \
        'find_package(mpix_queue 0.1 REQUIRED)' "add_executable(prog $3)" \
        'set_property(TARGET prog PROPERTY CXX_STANDARD 17)' \
        'target_link_libraries(prog mpix_queue::mpix_queue)' >"$project/CMakeLists.txt"
    show cmake -S "$project" -B "$project/made" -Dmpix_queue_DIR="${config%/*}" &&
        show cmake --build "$project/made" || { fail "the project in $1"; return; }
    # shellcheck disable=SC2086
    printed=$(timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n "$2" "$project/made/prog" </dev/null) ||
        fail "the program in $1"
    each_printed "$2" "$4" <<<"$printed" || fail "the program in $1 printed: $printed"
}
other CXX 3 "$top_srcdir/examples/ring.cpp" 'rank [0-2]: 0 of 1000 sums are wrong'
[ "${MPIXQ_TEST_FORTRAN:-no}" != yes ] ||
    other Fortran 2 "$top_srcdir/examples/exchange_fortran.f90" 'rank [01]: 1536'
# A newer version is asked for than there is.
sed -i "s/mpix_queue $version/mpix_queue 99.0/" "$dir/project/CMakeLists.txt"
if cmake -S "$dir/project" -B "$dir/newer" -Dmpix_queue_DIR="${config%/*}" >"$dir/log" 2>&1; then
    fail "version 99.0 was found"
fi
exit $failed
