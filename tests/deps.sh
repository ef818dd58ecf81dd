#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# deps.sh - what a step only wants may be missing where nothing can be installed; what it needs may
# not, and is named
set -u
empty=$(mktemp -d) || exit 99
trap 'rm -r "$empty"' EXIT
failed=0

# needs TABLE: deps_need with that table and no apt-get; what it says is in $said.
needs()
{
    said=$(
        # shellcheck source=../tools/deps.sh
        . "$top_srcdir/tools/deps.sh"
        table=$1
        deps_table()
        {
            echo "$table"
        }
        PATH=$empty
        deps_need build 2>&1
    )
}

needs 'build? absent-one debian-one
check absent-two debian-two' || { echo "failed: what is wanted ends the step"; failed=1; }
[ "$said" = "going on without absent-one (packages of Debian: debian-one)" ] ||
    { echo "failed: '$said'"; failed=1; }
needs 'build? absent-one debian-one
build absent-two debian-two,debian-three' && { echo "failed: a need is missing"; failed=1; }
[[ $said = *"missing: absent-two"*"debian-one debian-two debian-three"* ]] ||
    { echo "failed: '$said'"; failed=1; }

# A bare machine gets what compiles the kernels for GPUs.
# shellcheck source=../tools/deps.sh
. "$top_srcdir/tools/deps.sh"
for thing in clang ld.lld; do
    deps_table | grep -q "^build? *$thing " || { echo "failed: no build wants $thing"; failed=1; }
done
exit $failed
