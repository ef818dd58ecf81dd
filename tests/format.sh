#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# format.sh - clang-format finds nothing to change. Only its version 14: each formats a bit
# differently.
# shellcheck source=gate.bash
. "$top_srcdir/tests/gate.bash"
for formatter in clang-format-14 clang-format ''; do
    [[ $("${formatter:-false}" --version 2>/dev/null) != *"version 14."* ]] || break
done
if [ -z "$formatter" ]; then
    echo "skip: there is no clang-format of version 14"
    exit 77
fi

check_tree()
{
    c_files | xargs -d '\n' -r "$formatter" --style="file:$top_srcdir/.clang-format" \
        --dry-run 2>&1 | sed -n 's/^\([^:]*:[0-9]*\):[0-9]*: .*/\1: not as clang-format has it/p'
}

finds "src/core/x.c:1: not as clang-format has it" src/core/x.c <<<'int x(void) { return 0; }'
finds "tests/x.h:1: not as clang-format has it" tests/x.h <<<'int  x;'
allows src/core/x.c <<<'int x;'
gate_end
