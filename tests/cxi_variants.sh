#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cxi_variants.sh - the channel cxi is right under every way in which a NIC may behave
#
# The table below has the variants of each behaviour that tests/cxi_double/README.md says is not
# determined, and of the resources of a NIC. A line begins with what is expected:
#     right    all data is right, and all pairs are served by the channel
#     any      all data is right, and some pairs may be served by others
#     wrong    the test sees wrong data: what it sees elsewhere to be right is no accident
# then comes what has to be in what the library says of the fabric (~ for a blank,
# - for nothing), then variables: OPS for MPIXQ_TRIGGERED_OPS, NIC for MPIXQ_CXI_NIC, USE for
# MPIXQ_NICS, TOLD for MPIXQ_CXI_DATA=delivered, else those of the double.
set -u
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"

if [ "${MPIXQ_TEST_LIBFABRIC:-yes}" != yes ] || [ "$MPIEXEC" = none ]; then
    echo "skip: built without libfabric, or there is no mpiexec"
    exit 77
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "skip: the double has doorbells on x86-64 only"
    exit 77
fi

variants()
{
    grep -v '^ *$' <<'EOF'
right 252~triggered~operations~(a~share -
right rings~by~doorbell                 -
right -                                 CHAIN=sum
right -                                 READ=stale
right -                                 READ=stale OPS=0
right -                                 CAPTURE=fire
right -                                 ORDER=always
right -                                 ACK=random DELAY_US=500
right -                                 ACK=late LATE_US=5000
right -                                 ACK=late LATE_US=5000 OPS=3
right -                                 DATA=relaxed LATE_US=5000
wrong -                                 DATA=last LATE_US=5000 DELAY_US=2000
right -                                 DATA=last LATE_US=5000 DELAY_US=2000 TOLD
right -                                 DATA=last LATE_US=5000 DELAY_US=2000 TOLD OPS=0
right -                                 TOLD ACK=late LATE_US=5000 OPS=2
right -                                 TOLD SUM=no CAPTURE=fire
right words~by~maximum                  SUM=no
right -                                 SUM=no OPS=0
right -                                 SUM=no OPS=5 ACK=late LATE_US=5000
right -                                 LOAD=poison
right fi_cntr_add                       BELLS=no
right -                                 OPTIMIZED=no
right -                                 PTLTES=0
right 6~triggered~operations            TLES=20
right -                                 TLES=20 FULL=refuse
right -                                 TLES=14 FULL=refuse OPS=16
right -                                 REFUSE=again
right -                                 REFUSE=again OPS=3
right -                                 REFUSE=interrupt
right -                                 ASKS=half OPS=0
right -                                 ASKS=lost OPS=0
right -                                 ASKS=lost OPS=3 CHAIN=sum
right -                                 ASKS=lost READ=stale OPS=0
right -                                 EVENTS=64 OPS=0
right -                                 EVENTS=128 OPS=16
right -                                 EVENTS=64 OPS=0 ACK=late LATE_US=5000
right -                                 REGION_US=0
right -                                 REGION_US=10000 OPS=3
right 0~triggered~operations~(a~share   TLES=9
right 0~triggered~operations~(no~entries TLES=4
right -                                 AMO_CNTR=fine LIFETIME=fine
right domain~cxi0~(in~turns)            NICS=4
right domain~cxi1~(in~turns)            NICS=4
right domain~cxi2~(MPIXQ_CXI_NIC)       NICS=4 NIC=2
right domain~cxi3~(MPIXQ_CXI_NIC)       NICS=4 NIC=3 USE=2
right domain~cxi0~(in~turns)            NICS=4 NIC=3 USE=2
right -                                 NICS=2 USE=2 OPS=3 CAPTURE=fire
right -                                 NICS=2 USE=2 DATA=last LATE_US=5000 DELAY_US=2000 TOLD
right -                                 NICS=2 USE=2 SUM=no BELLS=no
right -                                 NICS=3 USE=3 REFUSE=again OPS=3
right 1~is~left~out:~it~has~no          NICS=2 USE=2 BARE=0
right 2~is~left~out:~it~has~no          NICS=2 USE=2 BARE=1
right 2~is~left~out:~No~such~device     NICS=2 USE=2 BROKEN=1
any   -                                 NICS=2 USE=2 LES=20
any   no~NIC~of~the~number              NICS=4 NIC=4
any   -                                 CNTRS=30
any   -                                 LES=20
any   -                                 CNTRS=30 ASKS=lost
EOF
}

# A NIC of our own, whatever else runs here.
export FI_PROVIDER_PATH=$top_builddir/tests/cxi_double/.libs CXI_DOUBLE_NAME=variants_$$
export MPIXQ_FABRIC=cxi CXI_DOUBLE_CLOSE_MS=100 MPIXQ_INFO=1 MPIXQ_LOG=info MPIXQ_TEST_RANKS=2
out=$(mktemp) || exit 99
segment=/dev/shm/cxi_double_$(id -u)_$CXI_DOUBLE_NAME
trap 'rm -f "$out" "$segment"' EXIT
failed=0

# try TEXT EXPECTED VARIABLE...
try()
{
    local text=$1 expected=$2 rc=0 channels=cxi
    shift 2
    [ "$expected" != any ] || channels=cxi,fallback
    # shellcheck disable=SC2086 # the flags are words
    timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n 2 env "$@" "MPIXQ_CHANNELS=$channels" \
        "$top_builddir/tests/cxi_variant" "$expected" >"$out" 2>&1 </dev/null || rc=$?
    rm -f "$segment"
    [ "$text" = - ] || grep -qF -- "${text//\~/ }" "$out" || rc="$rc, without the text"
    case $expected:$rc in
    right:0 | any:0 | wrong:1) echo "ok: $expected: $*" ;;
    *)
        echo "failed: $text, $expected, with $*: $rc"
        grep -E '^(failed|[a-z_]*\.c:|mpix_queue: rank . fabric|.*signal)' "$out" | head -n 10
        failed=1
        ;;
    esac
}

while read -r expected text variables; do
    settings=(NOTHING=)
    for word in $variables; do
        case $word in
        -) ;;
        OPS=*) settings+=("MPIXQ_TRIGGERED_$word") ;;
        NIC=*) settings+=("MPIXQ_CXI_$word") ;;
        USE=*) settings+=("MPIXQ_NICS=${word#USE=}") ;;
        TOLD) settings+=(MPIXQ_CXI_DATA=delivered) ;;
        *) settings+=("CXI_DOUBLE_$word") ;;
        esac
    done
    try "$text" "$expected" "${settings[@]}"
done < <(variants)
exit "$failed"
