#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# listed.sh - nothing is forgotten: Makefile.am names every source and page, so that it is built and
# in the tarball, and tests/testlist runs every test program and script
set -u
cd "$top_srcdir" || exit 99
failed=0
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
fail()
{
    echo "failed: $*"
    failed=1
}

# Words of Makefile.am; a program's only source need not be named.
words=$(tr -s ' \t\\' '\n' <Makefile.am)
declare -A is_word=() is_entry=()
while IFS= read -r word; do
    [ -z "$word" ] || is_word[$word]=yes
done <<<"$words"
for file in src/*/*.[ch] tests/*.[ch] tests/unit/*.[ch] tests/*_double/* tests/*.sh tests/*.bash \
    tests/*.py benchmarks/*.[ch] benchmarks/*.sh src/fortran/* tests/fortran/* examples/*.c \
    examples/*.cu examples/*.f90 examples/*.cpp examples/*.py src/python/*/*.py tests/cxx/* \
    doc/*.* doc/*/* abi/* debian/* debian/source/* examples/patterns/* examples/matrices/* \
    man/*.[137] tools/* tools/*/* \
    $(find spack -name '*.py' -o -name '*.yaml'); do
    [ ! -d "$file" ] || continue
    [ -n "${is_word[$file]-}${is_word[${file%.c}]-}" ] || fail "$file is not in Makefile.am"
done

# shellcheck source=testlist.bash
. tests/testlist.bash
declare -A seen=()
look_at_entry()
{
    print_entry
    [ -z "$bad" ] || fail "$program $ranks: $bad" >&2
    # Their output goes to files of this name.
    [ -z "${seen[$name]-}" ] || fail "two entries are called $name" >&2
    seen[$name]=yes
}
for_each_entry tests/testlist look_at_entry >"$lines"
while read -r name _; do
    is_entry[$name]=yes
done <"$lines"
# The quick check is to end in 10 minutes on 2 cores; what is in "plain" is run with both MPIs.
quick=$(awk '$4 == "quick" { n += $3 ~ /^plain(,|$)/ ? 2 : 1 } END { print n }' "$lines")
[ "$quick" -le 260 ] || fail "the quick check has $quick tests, more than 260: which says least?"
for name in "${!profiles[@]}"; do
    grep -q "^[^#]*[ {|]$name\([ }|]\|\$\)" tests/testlist || fail "no entry uses profile $name"
done
for name in "${!needs[@]}"; do
    [ -n "${is_entry[$name]-}" ] || fail "$name needs something and has no entry"
done
for program in $(grep -x 'tests/[a-z_]*\|tests/unit/[a-z_]*\|tests/[a-z_]*\.sh' <<<"$words"); do
    case $program in
    tests/run_tests | tests/testlist | tests/not_on_cxi | tests/out | tests/golden | tests/device)
            continue ;;
    esac
    name=${program#tests/}
    [ -n "${is_entry[${name%_static}]-}" ] || fail "$program is not in tests/testlist"
done

# The channel cxi runs all that it can, and why it does not run the rest is written down.
# entry PROGRAM WORD...: it has an entry with all these words.
entry()
{
    local found
    found=$(grep "^$1 " "$lines")
    shift
    for word in "$@"; do
        found=$(grep -e " $word\b" <<<"$found") || return
    done
}

# By libfabric's provider sockets, or by the double of that of cxi.
either='\(fabric=double\|env=MPIXQ_FABRIC=sockets\)'
for file in tests/{api,basic,host,match}_*.c; do
    name=${file#tests/} name=${name%.c}
    case $name:$(awk -v name="$name" '$1 == name { print $2 (NF > 2 ? "" : "?") }' \
        tests/not_on_cxi) in
    *_probe:) ;;
    *:) entry "$name" "$either" env=MPIXQ_CHANNELS=cxi ||
        fail "$name: neither an entry with cxi and no fallback, nor a reason in not_on_cxi" ;;
    *:none) entry "$name" "$either" && fail "$name runs on cxi after all" ;;
    *:mixed) entry "$name" "$either" pairs=cxi,fallback ||
        fail "$name: no entry with a provider and pairs=cxi,fallback" ;;
    *:other)
        entry "$(awk -v name="$name" '$1 == name { print $3 }' tests/not_on_cxi)" \
            "$either" env=MPIXQ_CHANNELS=cxi ||
            fail "$name: the other program has no entry with cxi and no fallback" ;;
    *:fallback) entry "$name" pairs=fallback || fail "$name: no entry with pairs=fallback" ;;
    *) fail "$name: its line in not_on_cxi is wrong" ;;
    esac
done
for name in $(sed 's/[ #].*//' tests/not_on_cxi); do
    [ -f "tests/$name.c" ] || fail "not_on_cxi names $name, which is no program"
done
exit $failed
