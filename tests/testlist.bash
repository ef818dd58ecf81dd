# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# testlist.bash - sourced by run_tests: reads tests/testlist, whose head explains its format
#
# for_each_entry FILE FUNCTION calls FUNCTION for each entry, with what is set here in the variables
# of parse(). "bad" says what is wrong with the entry; it belongs to every tree then.

declare -A profiles=() needs=()
kinds="plain asan tsan valgrind clang dist"

# parse WORD...: an entry into the variables below.
parse()
{
    local word
    program=$1 ranks=${2-} places=${3-} tier=${4-} name=$1 kind=mpi bad=''
    mode='' limit_s=240 environment=() arguments=() fabric='' stream='' pairs=''
    case $program:$ranks in
    *.sh:*) kind=shell ;;
    *:0) kind=unit ;;
    *:1) name="$program, 1 rank" ;;
    *:[0-9]*) name="$program, $ranks ranks" ;;
    esac
    for word in "${@:5}"; do
        case $word in
        env=* | arg=* | mode=*) name+=" ${word#*=}" ;;
        timeout=* | pairs=*) ;;
        *) name+=" $word" ;;
        esac
        read_word "$word"
    done
    [[ $tier = quick || $tier = full ]] || bad="the tier is ${tier:-missing}"
    [[ $limit_s =~ ^[0-9]+$ ]] || bad="timeout=$limit_s is no number"
    [[ $ranks =~ ^[0-9]+$ ]] || bad="the number of ranks is missing"
    for word in ${places//,/ }; do
        [[ $word =~ ^((mpich|openmpi):)?([a-z]+)$ &&
            " $kinds once everywhere " = *" ${BASH_REMATCH[3]} "* ]] || bad="where is $word?"
    done
}

# read_word WORD: of an entry, or of a profile that it names.
read_word()
{
    local word
    case $1 in
    env=?*=*) environment+=("${1#env=}") ;;
    arg=?*) arguments+=("${1#arg=}") ;;
    timeout=?*) limit_s=${1#timeout=} ;;
    pairs=?*) pairs=${1#pairs=} environment+=(MPIXQ_INFO=1) ;;
    fabric=double) fabric=double ;;
    stream=hip) stream=hip ;;
    mode=preload | mode=static) mode=${1#mode=} ;;
    *)
        [ -n "${profiles[$1]-}" ] || bad="$1 is not known"
        for word in ${profiles[$1]-}; do
            read_word "$word"
        done
        ;;
    esac
}

# for_each_variant FUNCTION LINE: call it with the words of the line, once for each choice of {a|b}.
for_each_variant()
{
    local choice before after choices
    if [[ $2 =~ ^([^{]*)\{([^}]*)\}(.*)$ ]]; then
        before=${BASH_REMATCH[1]} after=${BASH_REMATCH[3]}
        IFS='|' read -r -a choices <<<"${BASH_REMATCH[2]}"
        for choice in "${choices[@]}"; do
            for_each_variant "$1" "$before$choice$after"
        done
    else
        # shellcheck disable=SC2086
        parse $2
        "$1"
    fi
}

# for_each_entry FILE FUNCTION
for_each_entry()
{
    local line words
    while read -r line; do
        line=${line%%#*}
        read -r -a words <<<"$line"
        case ${words[0]-}:${words[2]-} in
        :*) ;;
        profile:=) profiles[${words[1]}]=${words[*]:3} ;;
        needs:=) needs[${words[1]}]=${words[*]:3} ;;
        *) for_each_variant "$2" "$line" ;;
        esac
    done <"$1"
}

# tree_is PLACE: what MPIXQ_TEST_SELECT and MPIXQ_TEST_MPI say of this tree fits the place.
tree_is()
{
    local word where=${1#*:}
    [[ $1 != *:* || ${1%%:*} = "$MPIXQ_TEST_MPI" ]] || return 1
    for word in $MPIXQ_TEST_SELECT; do
        [[ $word = "$where" || $where = everywhere && $word != once ]] && return 0
    done
    return 1
}

# tier_here: print nothing, as it is called for every entry, but set "here" to the tier in which the
# entry runs in this tree: quick, full or none.
tier_here()
{
    local place try=$tier
    here=none
    for place in ${places//,/ }; do
        if tree_is "$place"; then
            here=$try
            return
        fi
        # In the quick check it runs where the first place says.
        try=full
    done
}

# make_targets: print what has to be made before the entry can run.
make_targets()
{
    local target targets=${needs[$program]-}
    if [ "$kind" != shell ]; then
        targets+=" tests/$program"
        [ "$mode" != static ] || targets+=_static
    fi
    [ -z "$fabric" ] || targets+=" tests/cxi_double/libcxi-fi.la"
    [ -z "$stream" ] || targets+=" tests/hip_double/libamdhip64.la"
    for target in $targets; do
        case $target in
        tests/unit/*) [ "$MPIXQ_TEST_CMOCKA" = yes ] || continue ;;
        tests/cxi_double/* | */mpixq_nic_check) [ "$MPIXQ_TEST_LIBFABRIC" = yes ] || continue ;;
        *.mod) [ "${MPIXQ_TEST_FORTRAN:-yes}" = yes ] || continue ;;
        esac
        echo "$target"
    done
}

# print_entry: the entry in one line, as it would be written without profiles and choices.
print_entry()
{
    echo "$program $ranks $places $tier" "${arguments[@]/#/arg=}" ${fabric:+"fabric=$fabric"} \
        ${stream:+"stream=$stream"} "${environment[@]/#/env=}" ${pairs:+"pairs=$pairs"} \
        ${mode:+"mode=$mode"} "timeout=$limit_s" ${bad:+"($bad)"}
}
