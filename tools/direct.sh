# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# direct.sh - what MPICH's compiler wrapper runs: the wrapper is a script that starts a process for
# each of its arguments, which takes longer than most compilations. To be sourced.

# direct_find CC: what the wrapper CC runs, into MPIXQ_DIRECT, what it links with, into MPIXQ_LINK,
# and itself into MPIXQ_WRAPPER, for tools/libtool.sh. False, if CC does not say it, or not in words
# that stand for themselves.
direct_find()
{
    local info word direct link=()
    # shellcheck disable=SC2086
    info=$($1 -compile-info 2>/dev/null) && info+=" $($1 -link-info 2>/dev/null)" || return 1
    direct=("${info%% *}")
    for word in $info; do
        case $word in
        "${direct[0]}") ;;
        -l* | -L* | -Wl,*) link+=("$word") ;;
        -I?* | -D?* | -f?* | -g | -O* | -m?* | -std=*) direct+=("$word") ;;
        *) return 1 ;;
        esac
    done
    export MPIXQ_WRAPPER=$1 MPIXQ_DIRECT="${direct[*]}" MPIXQ_LINK="${link[*]}"
}
