#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# spelling.sh - codespell knows no word of the sources and documents as a misspelling
# shellcheck source=gate.bash
. "$top_srcdir/tests/gate.bash"
if ! command -v codespell >/dev/null; then
    echo "skip: there is no codespell"
    exit 77
fi

# What it takes for a misspelling, and is a macro of the pages, an intent of Fortran, a name of
# AMD's, or part of a regular expression or of a pattern.
known=nd,fo,inout,hsa,ure,matchin,noo

check_tree()
{
    tree_files | grep -vxE 'tests/spelling\.sh|.*\.(rle|csv)' |
        xargs -d '\n' -r codespell --disable-colors -L "$known" -- 2>/dev/null
}

finds "doc/x.md:2: recieve ==> receive" doc/x.md <<<$'# X\nto recieve'
finds "src/core/x.c:1: occured ==> occurred" src/core/x.c <<<'/* What occured. */'
allows doc/x.md <<<'to receive'
gate_end
