#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# nic_check.sh same|switched|pair|docs - the double of the cxi provider is what it says it is
#
# same      mpixq_nic_check finds each behaviour of tests/cxi_double/README.md on it
# switched  and finds each one different when the double is set to the other way of the last column
# pair      two processes exchange data by deferred work under each variant, and survive a death
# docs      the README has all behaviours and switches, the page all options
set -u
readme=$top_srcdir/tests/cxi_double/README.md
check=$top_builddir/tools/nic_check/mpixq_nic_check
failed=0

if ! grep -q 'HAVE_LIBFABRIC_TRUE"\]=""' "$top_builddir/config.status"; then
    echo "skip: built without libfabric"
    exit 77
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "skip: the double has doorbells on x86-64 only"
    exit 77
fi

# A NIC of our own, whatever else runs here, and nothing of another provider.
export FI_PROVIDER_PATH=$top_builddir/tests/cxi_double/.libs FI_PROVIDER=cxi
export CXI_DOUBLE_NAME=$$ IPATH_NO_BACKTRACE=1
export CXI_DOUBLE_DELAY_US=500
# And a GPU.
export LD_LIBRARY_PATH=$top_builddir/tests/hip_double/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

fail()
{
    echo "failed: $*"
    failed=1
}

# Columns 1 and 4 of the table of behaviours.
behaviours()
{
    sed -n 's/^| `\([a-z-]*\)` | .* | `\([A-Z_]*=[a-z0-9-]*\)` |$/\1 \2/p' "$readme"
}

# explains SETTING NAME TEXT: the double says why it ends the program.
explains()
{
    env "$1" "$check" --only "$2" 2>&1 >"$out.$2" | grep -q "$3" || fail "$1 is not explained"
    grep -q "^different *$2 .*crash" "$out.$2" || fail "$1 does not end the program"
}

# On a busy machine a check may look too late, or the double may be slow to answer: what differs is
# looked at again, alone, also with answers that are further apart.
look_again()
{
    local name delay_us
    sed -n 's/^different *\([a-z-]*\) .*/\1/p' "$out" >"$out.different"
    while read -r name; do
        for delay_us in 500 20000 2000 20000; do
            CXI_DOUBLE_DELAY_US=$delay_us "$check" --risky --only "$name" >"$out.$name" \
                2>/dev/null </dev/null
            ! grep -q "^same *$name " "$out.$name" || break
        done
        { grep -v "^different *$name " "$out"; cat "$out.$name"; } >"$out.new"
        mv "$out.new" "$out"
    done <"$out.different"
}

same()
{
    local rc=0 expected=0
    "$check" --risky 2>"$out.errors" >"$out" || rc=$?
    ! grep -q '^different ' "$out" || expected=1
    [ "$rc" -eq "$expected" ] || fail "mpixq_nic_check returns $rc, expected $expected"
    look_again
    grep -q 'queue of an endpoint overflowed: it has room for 128, and 480 came' "$out.errors" ||
        fail "the overflow is not explained"
    explains CXI_DOUBLE_REGION_CLOSE=abort region-close 'forget a region cannot be queued'
    explains CXI_DOUBLE_ASSERTS=yes work-refused-close 'refused posts are believed'
    cat "$out"
    ldconfig -p 2>/dev/null | grep -qE 'libcuda\.so|libamdhip64\.so' ||
        env -u LD_LIBRARY_PATH "$check" --only region-allocation |
        grep -q '^left out *region-allocation *no GPU$' || fail "without a GPU it is not left out"
    # Also where the event that the wait is told by fires for failures too.
    CXI_DOUBLE_CHAIN=sum "$check" --only counter-wait-failure | grep -q '^same ' ||
        fail "where failures count for thresholds, a wait for a counter takes one for a success"
    CXI_DOUBLE_CHAIN=sum CXI_DOUBLE_WRONG=counter-wait-failure "$check" \
        --only counter-wait-failure | grep -q '^different .* success' ||
        fail "a wait that takes a failure for a success is not found"
    [ "$(grep -c '^same ' "$out")" -eq "$(behaviours | wc -l)" ] || fail "not all are the same"
}

# look NAME SETTING [REGION_US]: on a NIC of its own.
look()
{
    env "$2" "CXI_DOUBLE_REGION_US=${3:-500}" "CXI_DOUBLE_NAME=$$_$1" \
        "$check" --risky --only "$1" >"$out.$1" 2>/dev/null </dev/null
}

is_different()
{
    grep -q "^different *$1 " "$out.$1"
}

# Each of them waits most of its time, so several run at once. On a busy machine one may look too
# late to see the difference: then it looks again, alone, and at calls that take longer than
# another process keeps a processor.
switched()
{
    local name setting running=0
    while read -r name setting; do
        if [ $((running += 1)) -gt 4 ]; then
            wait -n
        fi
        look "$name" "$setting" &
    done < <(behaviours)
    wait
    while read -r name setting; do
        for _ in 1 2 3; do
            is_different "$name" || look "$name" "$setting" 20000
        done
        cat "$out.$name"
        is_different "$name" || fail "$name is not different with $setting"
    done < <(behaviours)
}

pair()
{
    local setting
    for setting in ACK=early ACK=random ACK=late ORDER=always CHAIN=sum CAPTURE=fire READ=stale \
        DATA=relaxed TLES=17 FULL=refuse OPTIMIZED=no DELAY_US=0 DELAY_US=3000 REGION_US=3000; do
        env "CXI_DOUBLE_$setting" timeout 100 "$top_builddir/tests/cxi_double/pair" 20 ||
            fail "with CXI_DOUBLE_$setting"
    done
    # With few entries, so that those of the dead are missed.
    CXI_DOUBLE_TLES=14 timeout 100 "$top_builddir/tests/cxi_double/pair" death || fail "death"
    # The data comes too late: a test that does not see this sees nothing.
    if CXI_DOUBLE_DATA=last timeout 100 "$top_builddir/tests/cxi_double/pair" 5 >"$out"; then
        fail "data that comes last goes unnoticed"
    fi
    [ ! -e "/dev/shm/cxi_double_$(id -u)_$CXI_DOUBLE_NAME" ] || fail "shared memory is left"
}

docs()
{
    behaviours | cut -d' ' -f1 >"$out"
    "$check" --list | diff "$out" - || fail "behaviours of the README and of the program differ"
    # The preprocessor joins what is written on several lines.
    {
        echo '#define SWITCH_CHOICE(f, name, def, choices, help) \'
        echo '    ROW name "^" choices "^" def "^" help'
        echo '#define SWITCH_INT(f, name, def, low, high, help) \'
        echo '    ROW name "^" #low " to " #high "^" #def "^" help'
        echo '#include "switch_defs.h"'
    } >"$out.c"
    # $CC may carry options.
    # shellcheck disable=SC2086
    ${CC:-cc} -E -P -I"$top_srcdir/tests/cxi_double" "$out.c" | tr '\n' ' ' |
        sed -e 's/" *; */" /g' -e 's/" *"//g' -e 's/ROW "\([^"]*\)"/\1\n/g' |
        sed -e 's/^ *//' -e 's/|/, /g' -e '/^$/d' >"$out.source"
    sed -n 's/^| `\(CXI_DOUBLE_[A-Z_]*\)` | \(.*\) | \(.*\) | \(.*\) |$/\1^\2^\3^\4/p' "$readme" |
        diff "$out.source" - || fail "switches of the README and of the source differ"
    [ "$(wc -l <"$out.source")" -gt 20 ] || fail "too few switches found"
    grep -o '{"[a-z]*", [a-z]*_argument' "$top_srcdir/tools/nic_check/nic_check.c" |
        cut -d'"' -f2 | sort >"$out.options"
    sed -n 's/^\.It Fl -\([a-z]*\).*/\1/p' "$top_srcdir/man/mpixq_nic_check.1" | sort |
        diff "$out.options" - || fail "options of the program and of its page differ"
}

out=$(mktemp) || exit 99
# The checks end without closing anything, some by a crash.
segment=/dev/shm/cxi_double_$(id -u)_$$
trap 'rm -f "$out" "$out".* "$segment" "$segment"_*' EXIT
case ${1-} in
same | switched | pair | docs) "$1" ;;
*) echo "usage: nic_check.sh same|switched|pair|docs"; exit 99 ;;
esac
exit $failed
