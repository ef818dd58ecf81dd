#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# globals.sh - how many variables each folder of src/ has that can change and live as long as the
# process: what nm finds in its object files that is not constant, be it known in a function, a file
# or all of the library, or one to a thread. What is kept there exists once: no test can make it
# anew, no two users can have one each. A context that is made, passed and freed is preferred. A
# structure counts once. No number grows; one that has become less is lowered here.
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
declare -A most=([api]=1 [core]=159 [cxi]=33 [fallback]=3 [ipc]=13 [pmpi]=15 [stream]=33)
command -v nm >/dev/null || { echo "skip: there is no nm"; exit 77; }
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# variables OBJECT: their names. What has only to be relocated is constant when the library is
# loaded; sanitizers have variables of their own.
variables()
{
    nm -f sysv "$1" | awk -F '|' '
        { gsub(/ /, "") }
        $7 ~ /^\.(data|bss|tdata|tbss|lbss|ldata)/ && $7 !~ /^\.data\.rel\.ro/ &&
        $4 ~ /^(OBJECT|TLS)$/ { print $1 }
        $7 == "*COM*" { print $1 }'
}

# It sees each kind, and no constants.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/x.c" <<'EOF'
static const int numbers[] = {1, 2};
static const char *const names[] = {"one", "two"};
static struct { int a, b; } both;
static const char *name = "one";
int everywhere = 3;
static _Thread_local int own;
const char *look(int i)
{
    static int calls;

    name = names[i % 2];
    both.a += numbers[i % 2];
    own += everywhere;
    return calls++ + both.a + own > i ? name : names[0];
}
EOF
# $CC may carry options.
# shellcheck disable=SC2086
if ${CC:-cc} -fPIC -O0 -c -o "$folder/x.o" "$folder/x.c"; then
    seen=$(variables "$folder/x.o" | sed 's/\..*//' | sort | tr '\n' ' ')
    [ "$seen" = "both calls everywhere name own " ] || fail "finds $seen in a file that has others"
else
    fail "$CC does not compile"
fi

for folder_of in "$top_srcdir"/src/*/; do
    room=$(basename "$folder_of")
    n=0 found=
    for object in "$top_builddir/src/$room"/libmpixq_la-*.o; do
        # What nvtx.c has besides is the vendor's, and not in every build.
        [[ -f $object && $object != */libmpixq_la-nvtx.o ]] || continue
        found=yes
        n=$((n + $(variables "$object" | wc -l)))
    done
    if [ -z "$found" ]; then
        [[ $room =~ ^(cxi|fortran|python)$ ]] || fail "no object files of src/$room"
        continue
    fi
    limit=${most[$room]-0}
    if [ "$n" -gt "$limit" ]; then
        fail "src/$room: $n variables that live as long as the process, more than $limit"
    elif [ "$n" -lt "$limit" ]; then
        fail "src/$room: $n variables that live as long as the process: write $n instead of $limit"
    fi
done
exit $failed
