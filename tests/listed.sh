#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# listed.sh - nothing is forgotten: Makefile.am names every source and page, so that it is built and
# in the tarball, and tests/testlist runs every test program and script
set -u
cd "$top_srcdir" || exit 99
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# Words of Makefile.am; a program's only source need not be named.
words=$(tr -s ' \t\\' '\n' <Makefile.am)
for file in src/*/*.[ch] tests/*.[ch] tests/unit/*.c tests/*.sh benchmarks/*.[ch] examples/*.c \
    examples/patterns/* man/*.[137]; do
    grep -qxF -e "$file" -e "${file%.c}" <<<"$words" || fail "$file is not in Makefile.am"
done

entries=$(sed -e 's/#.*//' -e 's/ .*//' tests/testlist | sort -u)
for program in $(grep -x 'tests/[a-z_]*\|tests/unit/[a-z_]*\|tests/[a-z_]*\.sh' <<<"$words"); do
    case $program in
    tests/run_tests | tests/testlist | tests/out) continue ;;
    esac
    name=${program#tests/}
    grep -qxF "${name%_static}" <<<"$entries" || fail "$program is not in tests/testlist"
done
exit $failed
