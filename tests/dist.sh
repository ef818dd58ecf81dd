#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# dist.sh - "make distcheck": the tarball builds, tests, installs and uninstalls, from sources that
# cannot be written and in a folder of its own. It runs the tests marked "dist", among them the
# gates, for which a tarball is other than a checkout.
set -u
# What distcheck itself runs, here or by hand, is not to begin anew.
case $top_builddir in
*/_build/sub)
    echo "skip: this is make distcheck already"
    exit 77
    ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The jobs of the make that runs the tests are not ours, nor are its choices.
unset MAKEFLAGS MFLAGS MAKELEVEL MPIXQ_TEST_WRAPPER
export MPIXQ_TEST_SELECT=dist MPIXQ_TEST_TIER=full MPIXQ_TEST_ONLY="" MPIXQ_TEST_RESULTS=/dev/null
# Of the programs of tests it builds what these need: that the tarball has the sources of all is
# what listed.sh sees to.
programs=$(bash "$top_srcdir/tests/run_tests" --print targets | tr ' ' '\n' |
    grep -E '^(tests|examples)/' | grep -v '\.la$' | sort -u | tr '\n' ' ')
# It builds as ./run does, which takes the fewest processes, with the same flags, so ccache knows
# the objects. debian.sh builds by libtool alone.
# shellcheck source=tools/direct.sh
. "$top_srcdir/tools/direct.sh"
direct_find "$CC"
if ! $MAKE -C "$top_builddir" -j2 distcheck "check_PROGRAMS=$programs" \
    "LIBTOOL=bash $top_srcdir/tools/libtool.sh both /bin/bash ./libtool ---" \
    >"$log" 2>&1 </dev/null; then
    grep -E '^(FAIL|ERROR)|error:|\*\*\*' "$log"
    tail -n 40 "$log"
    # It leaves its folder behind, write-protected.
    chmod -R u+w "$top_builddir"/mpix-queue-*/ && rm -rf "$top_builddir"/mpix-queue-*/
    exit 1
fi
# That nothing failed may also be since nothing ran.
passed=$(grep -c '^PASS: tests/' "$log")
if [ "$passed" -lt 8 ]; then
    echo "failed: only $passed tests ran from the tarball"
    exit 1
fi
grep '^SKIP: tests/' "$log"
echo "$passed tests passed from the tarball"
exit 0
