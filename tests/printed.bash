# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# printed.bash - sourced by tests that read what the ranks of a program printed

# each_printed RANKS PATTERN <TEXT: each of the ranks printed what matches, which names its rank.
# Launchers may put the text of one rank into a line of another one: Python with PYTHONUNBUFFERED
# writes the end of a line by a call of its own.
each_printed()
{
    [ "$(grep -o -e "$2" | sort -u | wc -l)" = "$1" ]
}
