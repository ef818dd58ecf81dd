#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# driver.sh - tests/run_tests tells passed, failed, skipped and hanging programs apart, runs what it
# is told to and says how to run a failed one again; .ci/run and ./run count right
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
program served 'echo "[$MPIXQ_INFO] 4 pairs: 4 cxi (4 not self: there is none)
[$MPIXQ_INFO] collectives: 3 by GPUs, 2 by NICs and GPUs (1 in shares), 0 by NICs, by the host 1 in one round and 0 in several"'
program ranks '[ "$MPIXQ_TEST_RANKS" = 3 ]'
# A launcher that ignores its flags and runs one rank.
program launcher '[ "$1" = -n ] && shift 2 && exec "$@"'

cat >"$dir/list" <<'EOF'
# a comment
profile spoon = env=SPOON=d
profile both = spoon arg=b=c
passes 0 plain full
fails 0 plain full    # with a comment
skips 0 plain full
hard 0 plain full
hangs 0 plain full timeout=1
crashes 0 plain full
reads 0 plain full
arguments 0 plain full arg=a arg=b=c env=SPOON=d
arguments 0 plain full arg=a both
{passes|fails} 0 plain full {|spoon}
absent 0 plain full
passes 0 plain full color=red
passes 0 plain full fork
passes
passes 0 plain slow
passes 0 glass full
passes 0 other:plain full
passes 0 mpich:plain full arg=mpich
passes 0 openmpi:plain full
passes 0 asan full
unit/absent 0 plain full
ranks 3 plain full
served 0 plain full pairs=cxi,gpus,both,shares
served 0 plain full pairs=cxi,self
EOF
env top_srcdir="$dir/source" top_builddir="$dir/build" MPIXQ_TEST_MPI=mpich \
    MPIXQ_TEST_BUILD=plain MPIXQ_TEST_CMOCKA=no MPIXQ_TEST_ONLY= MPIXQ_TEST_SELECT= \
    MPIXQ_TEST_TIER= MPIXQ_TEST_WRAPPER= \
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
PASS	arguments a both	
PASS	passes	
PASS	passes spoon	
FAIL	fails	exit code 1
FAIL	fails spoon	exit code 1
FAIL	absent	DIR/build/tests/absent was not built or cannot be executed
FAIL	passes color=red	color=red is not known
FAIL	passes fork	fork is not known
FAIL	passes	the number of ranks is missing
FAIL	passes	the tier is slow
FAIL	passes	where is glass?
FAIL	passes	where is other:plain?
PASS	passes mpich	
SKIP	unit/absent	cmocka was not found by configure
PASS	ranks, 3 ranks	
PASS	served	
FAIL	served	no pair went by channel self
EOF
diff "$dir/expected" "$dir/found" || failed=1

# What a failing program printed must be seen, and the plan and the counts must be right.
for line in '# row 3 is wrong' '1..25' '# passed 9 failed 14 skipped 2'; do
    grep -qx -- "$line" "$dir/tap" && continue
    echo "failed: no line '$line' in:"
    cat "$dir/tap"
    failed=1
done

# A run whose time is over runs nothing more, and says so.
env top_srcdir="$dir/source" top_builddir="$dir/build" MPIXQ_TEST_MPI=mpich \
    MPIXQ_TEST_BUILD=plain MPIXQ_TEST_ONLY=passes MPIXQ_TEST_SELECT= MPIXQ_TEST_TIER= \
    MPIXQ_TEST_WRAPPER= MPIXQ_TEST_RESULTS="$dir/late" MPIXQ_TEST_UNTIL="$(date +%s)" \
    bash "$top_srcdir/tests/run_tests" --list "$dir/list" >"$dir/tap"
[ $? -eq 0 ] && grep -qx 'ok 1 - passes # SKIP the time for tests was over' "$dir/tap" &&
    ! grep -q '^not ok' "$dir/tap" && ! grep -v SKIP "$dir/tap" | grep -q '^ok' ||
    { echo "failed: when its time was over there ran:"; cat "$dir/tap"; failed=1; }

# What still runs when it is to end is no failure, and what has ended by then is what it was.
env top_srcdir="$dir/source" top_builddir="$dir/build" MPIXQ_TEST_MPI=mpich \
    MPIXQ_TEST_BUILD=plain MPIXQ_TEST_ONLY= MPIXQ_TEST_SELECT= MPIXQ_TEST_TIER= \
    MPIXQ_TEST_WRAPPER= MPIXQ_TEST_RESULTS="$dir/late" MPIXQ_TEST_END="$(($(date +%s) + 2))" \
    bash "$top_srcdir/tests/run_tests" --list <(
        printf '%s 0 plain full\n' passes fails hangs
    ) >"$dir/tap"
grep '^ok\|^not ok' "$dir/tap" >"$dir/found"
diff - "$dir/found" <<'EOF' || failed=1
ok 1 - passes
not ok 2 - fails
ok 3 - hangs # SKIP the time for tests was over while it ran
EOF

# ---- Selection and tools ------------------------------------------------------------------------

cat >"$dir/list" <<'LIST'
needs script.sh = libs/one.la fortran/two.mod
passes 0 plain,asan quick
unit/passes 0 everywhere full
passes 0 once full arg=once
passes 0 mpich:tsan,plain,asan,tsan quick arg=tsan-first
passes 0 clang,dist full arg=clang
passes 0 asan full arg=asan
passes 0 openmpi:plain full arg=openmpi
ranks 3 tsan full
ranks 3 tsan full mode=static
script.sh 0 plain full
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
        MPIEXEC="$dir/build/tests/launcher" MPIEXEC_FLAGS= MPIXQ_TEST_TIMEOUT_SCALE=1 \
        MPIXQ_TEST_TIER= "$@"
}

# expect_selected MPI TIER WORDS NAME...: these entries are run, and no others.
expect_selected()
{
    local found
    rm -f "$dir/results"
    run_list MPIXQ_TEST_MPI="$1" MPIXQ_TEST_TIER="$2" MPIXQ_TEST_SELECT="$3" MPIXQ_TEST_WRAPPER= \
        bash "$top_srcdir/tests/run_tests" --list "$dir/list" --results "$dir/results" >"$dir/tap"
    found=$(cut -f 2 "$dir/results" 2>/dev/null | tr '\n' ';')
    [ "$found" = "$4" ] && return
    echo "failed: '$1 $2 $3' selects '$found', not '$4'"
    failed=1
}
expect_selected mpich full plain 'passes;unit/passes;passes tsan-first;script.sh;'
expect_selected mpich quick plain 'passes;'
expect_selected mpich rest plain 'unit/passes;passes tsan-first;script.sh;'
expect_selected openmpi full plain 'passes;unit/passes;passes tsan-first;passes openmpi;script.sh;'
expect_selected mpich full 'plain once' \
    'passes;unit/passes;passes once;passes tsan-first;script.sh;'
expect_selected mpich full clang 'unit/passes;passes clang;'
expect_selected mpich full asan 'passes;unit/passes;passes tsan-first;passes asan;'
expect_selected mpich quick asan ''
expect_selected mpich quick tsan 'passes tsan-first;'
expect_selected openmpi quick tsan ''
expect_selected openmpi full tsan \
    'unit/passes;passes tsan-first;ranks, 3 ranks;ranks, 3 ranks static;'
expect_selected mpich full '' 'passes;unit/passes;passes once;passes tsan-first;script.sh;'

# expect_targets SELECT ONLY FORTRAN TARGET...: what has to be made.
expect_targets()
{
    local found
    found=$(run_list MPIXQ_TEST_SELECT="$1" MPIXQ_TEST_ONLY="$2" MPIXQ_TEST_FORTRAN="$3" \
        bash "$top_srcdir/tests/run_tests" --list "$dir/list" --print targets | sort -u | tr '\n' ' ')
    [ "$found" = "$4 " ] && return
    echo "failed: '$1' and '$2' need '$found', not '$4'"
    failed=1
}
expect_targets tsan '' yes 'tests/passes tests/ranks tests/ranks_static tests/unit/passes'
expect_targets plain '' yes 'fortran/two.mod libs/one.la tests/passes tests/unit/passes'
expect_targets plain '' no 'libs/one.la tests/passes tests/unit/passes'
expect_targets plain unit/ yes 'tests/unit/passes'
expect_targets plain script yes 'fortran/two.mod libs/one.la'
expect_targets tsan static yes 'tests/ranks_static'

# A tool in front of the programs: what it reports is a failure, though the program passes.
echo 'unit/passes 0 plain full' >"$dir/list"
for tool in finds:FAIL warns:PASS; do
    rm -f "$dir/results"
    run_list MPIXQ_TEST_SELECT= MPIXQ_TEST_WRAPPER="$dir/build/tests/${tool%:*} FILE" \
        bash "$top_srcdir/tests/run_tests" --list "$dir/list" --results "$dir/results" >"$dir/tap"
    grep -q "^${tool#*:}" "$dir/results" && continue
    echo "failed: ${tool%:*} gives $(cat "$dir/results")"
    failed=1
done

# What fails can be run again by the command that is printed, from anywhere and with nothing set.
program tells 'printf "%s|" "$@" "$SPOON" "$FORK" "$MPIXQ_TEST_RANKS" "$top_builddir"; exit 3'
cat >"$dir/list" <<'LIST'
tells {0|2} plain full arg=$b arg=x;'y' env=SPOON="it's" env=FORK=*
LIST
rm -f "$dir/results"
run_list MPIXQ_TEST_SELECT= bash "$top_srcdir/tests/run_tests" --list "$dir/list" \
    --results "$dir/results" >"$dir/tap"
again=0
while IFS=$'\t' read -r _ name _ output _ command; do
    printed=$(cd / && env -i PATH="$PATH" sh -c "$command")
    [ $? -eq 3 ] && [ -n "$printed" ] && [ "$printed" = "$(cat "$output")" ] &&
        grep -qxF "# again: $command" "$dir/tap" && again=$((again + 1)) && continue
    echo "failed: $name printed $(cat "$output"), and $command: $printed"
    failed=1
done <"$dir/results"
[ $again -eq 2 ] || { echo "failed: $again of 2 can be run again"; failed=1; }

# ---- The whole list, and who counts -------------------------------------------------------------

# Each entry of a tree is in the quick check or in the rest, and none is in both.
for tree in mpich:plain:once openmpi:asan: mpich:tsan: openmpi:plain:; do
    IFS=: read -r mpi kind once <<<"$tree"
    for tier in full quick rest; do
        run_list MPIXQ_TEST_MPI="$mpi" MPIXQ_TEST_SELECT="$kind $once" \
            bash "$top_srcdir/tests/run_tests" --list "$top_srcdir/tests/testlist" \
            --tier $tier --print entries >"$dir/entries.$tier"
    done
    [ -s "$dir/entries.quick" ] && [ -s "$dir/entries.rest" ] &&
        sort "$dir/entries.quick" "$dir/entries.rest" | diff - <(sort "$dir/entries.full") ||
        { echo "failed: quick and rest are not all of $tree"; failed=1; }
done

# expect_count QUICK REST LAST: with these verdicts of the two parts, .ci/run ends with this line.
mkdir -p "$dir/ci/.ci" "$dir/ci/build"
cp "$top_srcdir/.ci/run" "$dir/ci/.ci"
cat >"$dir/ci/run" <<'RUN'
#!/bin/sh
[ "$2" = --rest ] && set -- rest $REST || set -- quick $QUICK
tier=$1
shift
[ $# -eq 0 ] || printf '%s\tname\n' "$@" >build/results.$tier
case $* in '' | *FAIL*) exit 1 ;; esac
RUN
chmod +x "$dir/ci/run"
expect_count()
{
    local rc want=0
    [[ $3 = *" 0 failed"* ]] || want=1
    QUICK=$1 REST=$2 bash "$dir/ci/.ci/run" >"$dir/out"
    rc=$?
    [ "$rc" -eq "$want" ] && [ "$(tail -n 1 "$dir/out")" = "$3" ] && return
    echo "failed: $1 and $2 give exit code $rc and $(tail -n 1 "$dir/out")"
    failed=1
}
expect_count 'PASS PASS SKIP' 'PASS SKIP PASS PASS' '5 passed, 0 failed, 2 skipped'
expect_count 'PASS FAIL' 'PASS' '2 passed, 1 failed, 0 skipped'
expect_count 'PASS' 'FAIL FAIL' '1 passed, 2 failed, 0 skipped'
# What the last run left does not count.
expect_count 'PASS' '' '1 passed, 1 failed, 0 skipped'

# What ./run shows of a failure: checks that failed, the rest, or both.
printf 'row 1\n' >"$dir/rest"
printf 'x.c:3: rank 0: not true\n' >"$dir/checks"
cat "$dir/checks" "$dir/rest" >"$dir/both"
for kind in rest checks both; do
    (set -euo pipefail
        eval "$(sed -n '/^excerpt()/,/^}/p' "$top_srcdir/run")"
        excerpt "$dir/$kind" | sed 's/^/ /'
        echo end) >"$dir/shown"
    { sed 's/^/ /' "$dir/$kind"; echo end; } | diff - "$dir/shown" || failed=1
done

# refused OPTION... TEXT: ./run check ends with an error that says so, and builds nothing.
refused()
{
    local text=${*: -1} printed
    printed=$("$top_srcdir/run" check "${@:1:$#-1}" 2>&1) ||
        { [[ $printed = *"$text"* ]] && return; }
    echo "failed: ./run check ${*:1:$#-1} printed $printed"
    failed=1
}
refused --only 'no such name' 'no test is called so'
refused --kind clang 'the quick check has none of these tests: --full has'
refused --full=yes 'what is --full=yes'
refused --rest --only driver.sh 'the quick check has all of these tests'
refused --kind 'needs' 'cannot be needs'
exit $failed
