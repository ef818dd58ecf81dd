#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# driver.sh - tests/run_tests tells passed, failed, skipped and hanging programs apart
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/build/tests" "$dir/source/tests" "$dir/source/tools"
cp "$top_srcdir/tools/mpi_env.sh" "$dir/source/tools"
failed=0

# program NAME BODY: a shell script in the place of a test program.
program()
{
    printf '#!/bin/sh\n%s\n' "$2" >"$dir/build/tests/$1"
    chmod +x "$dir/build/tests/$1"
}
program passes 'exit 0'
program fails 'echo "row 3 is wrong"; exit 1'
program skips 'echo "skip: no such hardware"; exit 77'
program hard 'exit 99'
program hangs 'sleep 60'
program crashes 'kill -SEGV $$'
program reads '[ -z "$(cat)" ]'
program arguments '[ "$1 $2 $SPOON" = "a b=c d" ]'
program served 'echo "[$MPIXQ_INFO] channel cxi: 4 ends of pairs"; echo "channel self: 0 ends of pairs"'
program ranks '[ "$MPIXQ_TEST_RANKS" = 3 ]'
# A launcher that ignores its flags and runs one rank.
program launcher '[ "$1" = -n ] && shift 2 && exec "$@"'

cat >"$dir/list" <<'EOF'
# a comment
passes 0
fails 0     # with a comment
skips 0
hard 0
hangs 0 timeout=1
crashes 0
reads 0
arguments 0 arg=a arg=b=c env=SPOON=d
absent 0
passes 0 color=red
passes
passes 0 mpi=mpich
passes 0 mpi=openmpi
passes 0 build=asan
unit/absent 0
ranks 3
served 0 pairs=cxi
served 0 pairs=cxi,self
EOF
env top_srcdir="$dir/source" top_builddir="$dir/build" MPIXQ_TEST_MPI=mpich \
    MPIXQ_TEST_BUILD=plain MPIXQ_TEST_CMOCKA=no MPIXQ_TEST_ONLY= MPIXQ_TEST_SELECT= \
    MPIXQ_TEST_WRAPPER= \
    MPIEXEC="$dir/build/tests/launcher" MPIEXEC_FLAGS= MPIXQ_TEST_RESULTS="$dir/results" \
    MPIXQ_TEST_TIMEOUT_SCALE=1 \
    bash "$top_srcdir/tests/run_tests" --list "$dir/list" >"$dir/tap"
[ $? -eq 1 ] || { echo "failed: no exit code 1 though tests failed"; failed=1; }

cut -f 1-3 "$dir/results" >"$dir/found"
sed "s|DIR|$dir|" >"$dir/expected" <<'EOF'
PASS	passes	
FAIL	fails	exit code 1
SKIP	skips	skip: no such hardware
FAIL	hard	hard error: the test could not be run
FAIL	hangs	no end after 1 s (exit code 124)
FAIL	crashes	exit code 139
PASS	reads	
PASS	arguments a b=c SPOON=d	
FAIL	absent	DIR/build/tests/absent was not built or cannot be executed
FAIL	passes	color=red is not known
FAIL	passes	the number of ranks is missing
PASS	passes	
SKIP	passes	only for openmpi
SKIP	passes	only for asan builds
SKIP	unit/absent	cmocka was not found by configure
PASS	ranks, 3 ranks	
PASS	served	
FAIL	served	no pair went by channel self
EOF
diff "$dir/expected" "$dir/found" || failed=1

# What a failing program printed must be seen, and the plan and the counts must be right.
for line in '# row 3 is wrong' '1..18' '# passed 6 failed 8 skipped 4'; do
    grep -qx -- "$line" "$dir/tap" && continue
    echo "failed: no line '$line' in:"
    cat "$dir/tap"
    failed=1
done

# ---- Selection and tools ------------------------------------------------------------------------

cat >"$dir/list" <<'LIST'
passes 0
unit/passes 0
passes 0 arg=once in=once
passes 0 arg=also also=tsan
passes 0 arg=in in=clang,dist
passes 0 arg=asan build=asan
ranks 3 arg=tsan in=tsan
ranks 3 mode=static in=tsan
LIST
mkdir "$dir/build/tests/unit"
cp "$dir/build/tests/passes" "$dir/build/tests/unit"
program finds 'echo "==1== Conditional jump" >"$1"; shift; exec "$@"'
program warns 'echo "==1== WARNING: valgrind ignores it" >"$1"; shift; exec "$@"'

# run_list ARGUMENT...
run_list()
{
    env top_srcdir="$dir/source" top_builddir="$dir/build" MPIXQ_TEST_MPI=mpich \
        MPIXQ_TEST_BUILD=plain MPIXQ_TEST_CMOCKA=yes MPIXQ_TEST_ONLY= MPIXQ_TEST_RESULTS= \
        MPIEXEC="$dir/build/tests/launcher" MPIEXEC_FLAGS= MPIXQ_TEST_TIMEOUT_SCALE=1 "$@"
}

# expect_selected WORDS NAME...: these entries are run, and no others.
expect_selected()
{
    local found
    rm -f "$dir/results"
    run_list MPIXQ_TEST_SELECT="$1" MPIXQ_TEST_WRAPPER= bash "$top_srcdir/tests/run_tests" \
        --list "$dir/list" --results "$dir/results" >"$dir/tap"
    found=$(cut -f 2 "$dir/results" 2>/dev/null | tr '\n' ';')
    [ "$found" = "$2" ] && return
    echo "failed: '$1' selects '$found', not '$2'"
    failed=1
}
expect_selected plain 'passes;unit/passes;passes also;'
expect_selected 'plain once' 'passes;unit/passes;passes once;passes also;'
expect_selected clang 'unit/passes;passes in;'
expect_selected tsan 'unit/passes;passes also;ranks, 3 ranks tsan;ranks, 3 ranks static;'
found=$(run_list MPIXQ_TEST_SELECT=tsan bash "$top_srcdir/tests/run_tests" --list "$dir/list" \
    --programs | tr '\n' ' ')
if [ "$found" != 'tests/unit/passes tests/passes tests/ranks tests/ranks_static ' ]; then
    echo "failed: --programs prints '$found'"
    failed=1
fi

# A tool in front of the programs: what it reports is a failure, though the program passes.
echo 'unit/passes 0' >"$dir/list"
for tool in finds:FAIL warns:PASS; do
    rm -f "$dir/results"
    run_list MPIXQ_TEST_SELECT= MPIXQ_TEST_WRAPPER="$dir/build/tests/${tool%:*} FILE" \
        bash "$top_srcdir/tests/run_tests" --list "$dir/list" --results "$dir/results" >"$dir/tap"
    grep -q "^${tool#*:}" "$dir/results" && continue
    echo "failed: ${tool%:*} gives $(cat "$dir/results")"
    failed=1
done
exit $failed
