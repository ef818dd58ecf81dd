#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# info.sh alone|ranks|hip|cxi|broken|options - what mpixq_info says is so, as text and as JSON
#
# alone     of one process without a launcher, with nothing but MPI; and without MPI
# ranks     of two ranks, merged, also where they differ
# hip       of GPUs, on the double of HIP's runtime
# cxi       of a NIC and its budget, on the double of libfabric's cxi provider
# broken    of variables that are set wrongly, by an alias, and that do not exist
# options   wrong ones, and an MPI_Init that hangs, or ends the program
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
program=$top_builddir/tools/info/mpixq_info
# shellcheck source=tool.bash
. "$top_srcdir/tests/tool.bash"

# on RANKS OPTION...
on()
{
    local ranks=$1
    shift
    # shellcheck disable=SC2086 # the flags are words
    look 0 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" "$program" "$@"
}

# says SECTION NAME PATTERN: a line of the text does, once.
says()
{
    local n
    n=$(awk -v section="$1" -v name="  $2  " -v pattern="^ *$3\$" '
        /^[a-z]/ { here = $0 == section; next }
        here && index($0, name) == 1 && substr($0, length(name) + 1) ~ pattern { n++ }
        END { print n + 0 }' "$dir/out")
    [ "$n" -eq 1 ] || fail "section $1 says '$2' as '$3' $n times"
}

# says_nothing SECTION NAME
says_nothing()
{
    awk -v section="$1" -v name="  $2  " '/^[a-z]/ { here = $0 == section; next }
        here && index($0, name) == 1 { found = 1 } END { exit !found }' "$dir/out" &&
        fail "section $1 says something of '$2'"
}

# The variables of the table, with their defaults and help: NAME^DEFAULT^HELP.
table()
{
    {
        echo '#define MPIXQ_ENV_CHOICE(field, name, def, choices, help) ROW name "^" def "^" help'
        echo '#define MPIXQ_ENV_CPUS MPIXQ_ENV_CHOICE'
        echo '#define MPIXQ_ENV_CHANNELS MPIXQ_ENV_CHOICE'
        echo '#define MPIXQ_ENV_TEXT MPIXQ_ENV_CHOICE'
        echo '#define MPIXQ_ENV_INT(field, name, def, low, high, help) ROW name "^" #def "^" help'
        echo '#include "env_defs.h"'
    } >"$dir/env.c"
    # $CC may carry options.
    # shellcheck disable=SC2086
    $CC -E -P -I"$top_srcdir/src/util" "$dir/env.c" | tr -s '\n ' '  ' |
        sed -e 's/" *"//g' -e 's/ROW "\([^"]*\)"/\n\1\n/g' | grep '^MPIXQ_'
}

# The facts of the text that --all gives, one in a line: section^name^all of the rest.
facts_of_text()
{
    awk '/^[a-z]/ { section = $0; next }
        /^      default / { sub(/^ */, ""); print section "^" name "^" $0; next }
        /^  / { sub(/^  /, ""); at = match($0, /  +/); name = substr($0, 1, at - 1)
            print section "^" name "^" substr($0, at + RLENGTH) }' "$1"
}

# The same of the JSON, by another reader of it than ours.
facts_of_json()
{
    python3 - "$1" <<'EOF'
import json, sys
report = json.load(open(sys.argv[1]))
everyone = "0" if report["ranks"] == 1 else "0-%d" % (report["ranks"] - 1)
for section, facts in report.items():
    if not isinstance(facts, dict):
        continue
    for name, values in facts.items():
        for fact in values:
            line = fact["value"]
            if "source" in fact:
                note = ": " + fact["note"] if "note" in fact else ""
                line += "  (" + fact["source"] + note + ")"
            if fact["ranks"] != everyone:
                several = "-" in fact["ranks"] or "," in fact["ranks"]
                line += "  [rank%s %s]" % ("s" if several else "", fact["ranks"])
            print(section, name, line, sep="^")
            if "help" in fact:
                print(section, name, "default %s: %s" % (fact["default"], fact["help"]), sep="^")
EOF
}

# same_json COMMAND...: JSON that others can read says what the text says.
same_json()
{
    command -v python3 >/dev/null || skip "there is no python3 to read JSON with"
    look 0 "$@" --all
    cp "$dir/out" "$dir/text"
    look 0 "$@" --json
    python3 -m json.tool "$dir/out" >/dev/null || fail "the JSON is not valid"
    facts_of_text "$dir/text" >"$dir/facts.text"
    facts_of_json "$dir/out" >"$dir/facts.json"
    [ "$(wc -l <"$dir/facts.text")" -gt 60 ] || fail "the text has too few facts"
    diff "$dir/facts.text" "$dir/facts.json" || fail "text and JSON say different things"
}

alone()
{
    local name usual help
    look 0 "$program"
    [ ! -s "$dir/err" ] || fail "something stands in standard error"
    says build version "[0-9]+\\.[0-9]+\\.[0-9]+"
    case $MPIXQ_TEST_MPI in
    mpich) says build "built for" "MPICH .*"; says run MPI "MPICH .*" ;;
    openmpi) says build "built for" "Open MPI .*"; says run MPI "Open MPI .*" ;;
    esac
    says build configure ".*'CC=.*'.*"
    says build streams "mpix_host_stream, cudaStream_t, hipStream_t"
    says build "kernels for CUDA" "(.*PTX \\(sm_70 and newer\\)|none in this build)"
    says build "kernels for HIP" "(code objects \\(gfx.*\\)|none in this build)"
    says run ranks 1
    says run "thread level" multiple
    says channels fallback available
    says serves "host memory, own process" self
    says serves "host memory, same node" fallback
    says serves "host memory, same node, not ipc" "the buffer is not in memory of a GPU"
    says serves "host memory, other node" fallback
    says_nothing serves "host memory, other node, not ipc"
    if [ "$MPIXQ_TEST_LIBFABRIC" = yes ]; then
        says build channels "ipc, self, cxi, fallback"
        says fabric libfabric "[0-9.]*"
        says fabric providers ".*tcp.*"
        [ -e /sys/class/cxi ] || says serves "host memory, other node, not cxi" \
            "there is no cxi device in /sys/class/cxi \\(MPIXQ_FABRIC\\)"
    else
        says build channels "ipc, self, fallback"
        says fabric libfabric "not in this build"
        says serves "host memory, other node, not cxi" "the library was built without libfabric"
    fi
    table >"$dir/table"
    [ "$(wc -l <"$dir/table")" -gt 20 ] || fail "the table of variables cannot be read"
    while IFS=^ read -r name usual help; do
        says variables "$name" "${usual}  \\(default\\)"
    done <"$dir/table"
    same_json "$program"
    while IFS=^ read -r name usual help; do
        grep -A1 "^  $name " "$dir/text" | grep -qxF "      default $usual: $help" ||
            fail "the help of $name is not told"
    done <"$dir/table"
    look 0 "$program" --no-mpi variables build
    [ "$(grep '^[a-z]' "$dir/out" | tr '\n' ' ')" = "build variables " ] ||
        fail "other sections than those that were asked for are told"
    look 0 "$program" --no-mpi --no-gpu
    says run MPI "not started \\(--no-mpi\\)"
    says gpus GPUs "not looked for .*"
    says channels fallback available
    says variables MPIXQ_LOG "warn  \\(default\\)"
}

ranks()
{
    on 2
    says run ranks 2
    says run nodes 1
    says run "ranks of the node" 2
    says serves "host memory, next rank, on the same node" fallback
    says serves "host memory, next rank, on the same node, not ipc" \
        "the buffer is not in memory of a GPU"
    [ "$(grep -c '\[rank' "$dir/out")" -eq 0 ] || fail "what all say is not merged"
    [ "$(grep -c '^  MPIXQ_LOG ' "$dir/out")" -eq 1 ] || fail "MPIXQ_LOG is not told once"
    same_json "$MPIEXEC" $MPIEXEC_FLAGS -n 3 "$program"
    # They differ.
    each_rank 'export MPIXQ_SPIN_US=77'
    # shellcheck disable=SC2086
    look 0 $MPIEXEC $MPIEXEC_FLAGS -n 3 "$dir/each" "$program" variables
    says variables MPIXQ_SPIN_US "1000  \\(default\\)  \\[ranks 0,2\\]"
    says variables MPIXQ_SPIN_US "77  \\(environment\\)  \\[rank 1\\]"
    says variables MPIXQ_LOG "warn  \\(default\\)"
    # shellcheck disable=SC2086
    same_json $MPIEXEC $MPIEXEC_FLAGS -n 3 "$dir/each" "$program"
}

hip()
{
    with_hip
    HIP_DOUBLE_DEVICES=2 on 2
    says gpus HIP "2 found by libamdhip64.so"
    says gpus "HIP 0" "double of a HIP device at 0000:.*"
    says gpus "HIP 1" "double of a HIP device at 0000:.*"
    says gpus "HIP 0 reaches" "1 \\(memory and atomics\\)"
    says gpus "HIP in use" "0  \\[rank 0\\]"
    says gpus "HIP in use" "1  \\[rank 1\\]"
    says channels ipc "available .*"
    says serves "HIP memory, own process" ipc
    says serves "HIP memory, same node" ipc
    says_nothing serves "HIP memory, same node, not ipc"
    says serves "HIP memory, other node" fallback
    says serves "HIP memory, next rank, on the same node" ipc
    says serves "host memory, next rank, on the same node" fallback
    # They do not reach each other.
    HIP_DOUBLE_DEVICES=2 HIP_DOUBLE_PEER=no on 2
    says gpus "HIP 0 reaches" "no other"
    says serves "HIP memory, same node" ipc
    says serves "HIP memory, next rank, on the same node" fallback
    says serves "HIP memory, next rank, on the same node, not ipc" \
        "the GPU does not reach the peer's, or not by atomic operations \\(at the peer\\)"
    # Rank 1 finds no GPU, and takes part nevertheless.
    each_rank 'unset LD_LIBRARY_PATH'
    # shellcheck disable=SC2086
    look 0 $MPIEXEC $MPIEXEC_FLAGS -n 3 "$dir/each" "$program"
    says gpus HIP "1 found by libamdhip64.so  \\[ranks 0,2\\]"
    says gpus HIP "none: .*  \\[rank 1\\]"
    says serves "HIP memory, next rank, on the same node" "fallback  \\[rank 0\\]"
    says serves "HIP memory, next rank, on the same node" "ipc  \\[rank 2\\]"
    says serves "HIP memory, next rank, on the same node, not ipc" \
        "the buffer is not in memory of a GPU \\(at the peer\\)  \\[rank 0\\]"
    says serves "host memory, next rank, on the same node" fallback
    MPIXQ_CHANNELS=fallback on 2
    says channels ipc "not available: MPIXQ_CHANNELS leaves it out"
    says serves "HIP memory, same node, not ipc" "left out by MPIXQ_CHANNELS .*"
    same_json "$program"
    on 2 --no-gpu
    says_nothing serves "HIP memory, own process"
}

cxi()
{
    with_cxi
    on 2
    says channels cxi available
    says serves "host memory, other node" cxi
    says_nothing serves "host memory, other node, not cxi"
    says serves "host memory, next rank, on the same node" cxi
    says fabric providers cxi
    says fabric NICs cxi0
    says fabric "NIC in use" "cxi0 \\(the only one\\)"
    says fabric "triggered operations" "252 \\(a share of 504, by its users\\)"
    says fabric "rings by" doorbell
    MPIXQ_TRIGGERED_OPS=5 on 1
    says fabric "triggered operations" "5 \\(MPIXQ_TRIGGERED_OPS\\)"
    CXI_DOUBLE_NICS=3 CXI_DOUBLE_BROKEN=1 MPIXQ_NICS=3 MPIXQ_CXI_NIC=0 on 1
    says fabric "NIC in use" "cxi0 \\(MPIXQ_CXI_NIC\\)"
    says fabric "NIC in use (2)" "cxi2 \\(in turns\\)"
    says fabric "triggered operations (2)" "504 \\(a share of 504, by its users\\)"
    says fabric "NICs left out" "number 2: No such device"
    MPIXQ_CXI_NIC=7 on 1
    says fabric "NIC in use" "none: there is no NIC of the number MPIXQ_CXI_NIC"
    says serves "host memory, other node" fallback
    says serves "host memory, other node, not cxi" "there is no NIC of the number MPIXQ_CXI_NIC"
    # The NIC and a GPU.
    with_hip
    look 0 "$program"
    says serves "HIP memory, same node" ipc
    says serves "HIP memory, other node" cxi
    says fabric "memory of GPUs" "by staging buffers: no GPU's library promises .*"
    MPIXQ_CXI_GPU=direct look 0 "$program"
    says fabric "memory of GPUs" "can be registered"
    same_json "$program"
}

broken()
{
    export MPIXQ_SPIN_US='1 "tab	and\back' MPIXQ_FABRIC=carrier_pigeons MPIXQ_IPC=no MPIXQ_TEST_X=1
    export MPIXQ_CHANELS=cxi
    on 1
    says variables MPIXQ_SPIN_US \
        "1000  \\(default: \"1 \"tab and.back\" in the environment is not a number from 0 to .*\\)"
    says variables MPIXQ_FABRIC "auto  \\(default: \"carrier_pigeons\" in .* not one of auto.*\\)"
    says variables MPIXQ_CHANNELS "cxi,fallback  \\(alias: by MPIXQ_IPC\\)"
    says variables MPIXQ_IPC "no  \\(environment\\)"
    says variables MPIXQ_CHANELS "cxi  \\(unknown: no variable of the library\\)"
    says_nothing variables MPIXQ_TEST_X
    says channels ipc "not available: MPIXQ_CHANNELS leaves it out"
    [ "$(grep -c 'warning: MPIXQ_SPIN_US' "$dir/err")" -eq 1 ] || fail "the library does not warn"
    same_json "$program"
    unset MPIXQ_IPC
    MPIXQ_CHANNELS=fallback MPIXQ_FALLBACK=forbid on 1
    says variables MPIXQ_CHANNELS "fallback  \\(environment\\)"
    # No channel for anything that leaves the process.
    MPIXQ_FALLBACK=forbid on 1
    says variables MPIXQ_CHANNELS "ipc,cxi  \\(alias: by MPIXQ_FALLBACK\\)"
    says serves "host memory, other node" none
    says serves "host memory, other node, not fallback" "left out by MPIXQ_CHANNELS .*"
}

options()
{
    look 2 "$program" --nonsense
    look 2 "$program" nonsense
    grep -q "there is no section nonsense" "$dir/err" || fail "the section is not named"
    look 2 "$program" --timeout soon
    look 0 "$program" --version
    grep -qx 'mpixq_info [0-9.]*' "$dir/out" || fail "--version"
    look 0 "$program" --help
    grep -q '^usage: ' "$dir/out" || fail "--help"
    for how in 'pause()' 'exit(9)'; do
        cat >"$dir/init.c" <<EOF
#include <stdlib.h>
#include <unistd.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) { $how; return 0; }
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) { $how; return 0; }
EOF
        # shellcheck disable=SC2086
        $CC -w -shared -fPIC -o "$dir/init.so" "$dir/init.c" >"$dir/out" 2>&1 ||
            skip "no shared object can be made"
        case $how in
        pause*) look 3 env LD_PRELOAD="$dir/init.so" "$program" --timeout 1
            grep -q 'gave up .* at: MPI_Init' "$dir/err" || fail "where it hung is not told" ;;
        *) look 9 env LD_PRELOAD="$dir/init.so" "$program"
            grep -q 'MPI_Init has ended the program' "$dir/err" || fail "its end is not told" ;;
        esac
        grep -q -- '--no-mpi' "$dir/err" || fail "the way without MPI is not told"
        look 0 env LD_PRELOAD="$dir/init.so" "$program" --no-mpi build variables
        says build version "[0-9.]*"
    done
}

case ${1-} in
alone | options) "$1" ;;
ranks | hip | cxi | broken)
    [ "$MPIEXEC" != none ] || skip "there is no mpiexec"
    "$1"
    ;;
*) echo "what is ${1-}?"; exit 99 ;;
esac
exit $failed
