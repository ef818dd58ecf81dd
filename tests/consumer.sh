#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# consumer.sh - a program finds the installed tree by pkg-config alone, links with the shared and
# with the static library, and has the library in front of MPI even with --as-needed; so does one in
# Fortran, whose module is in the installed tree as well
set -u
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

if ! command -v pkg-config >/dev/null; then
    echo "skip: there is no pkg-config"
    exit 77
fi
# The jobs of the make that runs the tests are not ours.
unset MAKEFLAGS MFLAGS MAKELEVEL
$MAKE -C "$top_builddir" install DESTDIR="$dir/root" >"$dir/install.log" 2>&1 ||
    { cat "$dir/install.log"; exit 1; }
pc=$(find "$dir/root" -name mpix_queue.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$dir/root
libdir=$dir/root$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --variable=libdir mpix_queue)
read -r -a flags < <(pkg-config --cflags --libs mpix_queue)

# readme_line WITH: the command of that row of the README's table.
readme_line()
{
    sed -n "s/^| $1 | \`\(.*\)\` |\$/\1/p" "$top_srcdir/README.md"
}

# In what the README and doc/install.md say to type, the compilers that these tests are for. They
# may carry options.
# shellcheck disable=SC2086
mpicc()
{
    $CC ${SANITIZER_FLAGS-} "$@"
}
mpicxx()
{
    mpicc -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX "$@" -lstdc++
}
# shellcheck disable=SC2086
mpifort()
{
    $FC $FCFLAGS ${SANITIZER_FLAGS-} "$@"
}

# said_lines: the commands for C and Fortran and the lines for make are right as they stand there.
said_lines()
{
    local lines
    cp "$top_srcdir/examples/exchange.c" "$dir/prog.c"
    lines=$(readme_line C)
    (cd "$dir" && [ -n "$lines" ] && eval "$lines") || fail "the README's line for C: $lines"
    mv "$dir/prog" "$dir/prog_c" && check_number prog_c
    cp "$top_srcdir/examples/ring.cpp" "$dir/prog.cpp"
    lines=$(readme_line C++)
    (cd "$dir" && [ -n "$lines" ] && eval "$lines") || fail "the README's line for C++: $lines"
    mv "$dir/prog" "$dir/prog_cxx" && check_ranks prog_cxx 2 'rank [01]: 0 of 1000 sums are wrong'
    awk '/^```make$/ { on = 1; next } /^```$/ { on = 0 } on' "$top_srcdir/doc/install.md" |
        grep -v '^CC' >"$dir/Makefile"
    lines=$(readme_line make)
    for line in "${lines%%\` and*}" "${lines##*and \`}"; do
        grep -qxF "$line" "$dir/Makefile" || fail "doc/install.md does not have '$line'"
    done
    $MAKE -s -C "$dir" CC="$CC ${SANITIZER_FLAGS-}" prog || fail "make as in doc/install.md"
    mv "$dir/prog" "$dir/prog_make" && check_number prog_make
    [ "${MPIXQ_TEST_FORTRAN-no}" = yes ] || return
    cp "$top_srcdir/examples/exchange_fortran.f90" "$dir/prog.f90"
    lines=$(readme_line Fortran)
    (cd "$dir" && [ -n "$lines" ] && eval "$lines") || fail "the README's line for Fortran: $lines"
    mv "$dir/prog" "$dir/prog_fortran" && check_number prog_fortran
}

# check_number NAME: two ranks of it exchange numbers as they should.
check_number()
{
    check_ranks "$1" 2 'rank [01]: 1536'
}

# check_ranks NAME RANKS PATTERN: each rank prints that, and with it its number.
check_ranks()
{
    local printed
    if [ "${MPIEXEC:-none}" = none ]; then
        return
    fi
    # shellcheck source=../tools/mpi_env.sh
    . "$top_srcdir/tools/mpi_env.sh"
    # shellcheck disable=SC2086
    printed=$(LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        timeout 60 $MPIEXEC ${MPIEXEC_FLAGS-} -n "$2" "$dir/$1" </dev/null) ||
        fail "$1 ended with an error"
    each_printed "$2" "$3" <<<"$printed" || fail "$1 printed: $printed"
}

cat >"$dir/uses.c" <<'EOF'
#include <mpix_queue.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Request request;
    int major, minor, patch, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Send_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPIXQ_Get_version(&major, &minor, &patch);
    printf("version %d.%d.%d\n", major, minor, patch);
    return MPI_Finalize();
}
EOF
cat >"$dir/fortran.f90" <<'EOF'
program fortran
    use mpi_f08
    use mpix_queue
    implicit none
    integer :: major, minor, patch
    type(MPI_Request) :: request
    call MPI_Init()
    call MPI_Send_init(major, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request)
    call MPIX_Match(request)
    call MPI_Request_free(request)
    call MPIXQ_Get_version(major, minor, patch)
    print '("version ",i0,".",i0,".",i0)', major, minor, patch
    call MPI_Finalize()
end program
EOF
echo 'int main(void) { return 0; }' >"$dir/refers_to_nothing.c"

# check_run NAME: the program runs and reports the version that pkg-config tells.
check_run()
{
    local printed
    # shellcheck source=../tools/mpi_env.sh
    . "$top_srcdir/tools/mpi_env.sh"
    printed=$(LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        timeout 60 "$dir/$1" </dev/null) || fail "$1 ended with an error"
    # MPI libraries print complaints of their own beside it.
    grep -qx "version $(pkg-config --modversion mpix_queue)" <<<"$printed" ||
        fail "$1 printed: $printed"
}

# first_library PROGRAM: what the dynamic linker searches first.
first_library()
{
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | head -n 1
}

if [ -f "$libdir/libmpix_queue.so" ]; then
    $CC "$dir/uses.c" "${flags[@]}" -o "$dir/shared" && check_run shared || fail "shared"
    for program in uses refers_to_nothing; do
        $CC -Wl,--as-needed "$dir/$program.c" "${flags[@]}" -o "$dir/needed" || fail "$program"
        [[ $(first_library "$dir/needed") = libmpix_queue.so.* ]] ||
            fail "$program: $(first_library "$dir/needed") comes first"
    done
    said_lines
fi
# Behind MPI, with the object for programs.
if [ -f "$libdir/mpixq_first.o" ]; then
    # Not every pkg-config puts the root in front of a file that is no option.
    read -r -a flags < <(pkg-config --cflags --libs mpix_queue_first |
        sed "s|[^ ]*/mpixq_first.o|$libdir/mpixq_first.o|")
    # shellcheck disable=SC2046
    $CC "$dir/uses.c" $({ $CC -show 2>/dev/null || $CC --showme; } | tr ' ' '\n' | grep '^-[lL]') \
        "${flags[@]}" -o "$dir/behind" && check_run behind || fail "behind"
    nm "$dir/behind" | grep -q ' [TW] MPI_Send_init$' ||
        fail "mpix_queue_first brings no MPI_Send_init"
fi
if [ -f "$libdir/libmpix_queue.a" ]; then
    read -r -a flags < <(pkg-config --static --libs mpix_queue |
        sed 's/-lmpix_queue/-l:libmpix_queue.a/')
    $CC "$dir/uses.c" $(pkg-config --cflags mpix_queue) "${flags[@]}" -o "$dir/static" &&
        check_run static || fail "static"
    [[ $(readelf -d "$dir/static") != *libmpix_queue.so* ]] ||
        fail "static needs the shared library"
fi
if [ "${MPIXQ_TEST_FORTRAN:-no}" = yes ] && [ -f "$libdir/libmpix_queue.so" ]; then
    read -r -a flags < <(pkg-config --cflags --libs mpix_queue)
    # The module that was installed, and one made from the source that was.
    $FC "$dir/fortran.f90" "${flags[@]}" -o "$dir/module" && check_run module || fail "module"
    mkdir "$dir/own"
    (cd "$dir/own" && $FC -c "$(find "$dir/root" -name mpix_queue.f90)" &&
        $FC "$dir/fortran.f90" -L"$libdir" -lmpix_queue -o ../source) && check_run source ||
        fail "source of the module"
fi
exit $failed
