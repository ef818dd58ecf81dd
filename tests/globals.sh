#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# globals.sh - how many variables each folder of src/ has that can change and live as long as the
# process: what nm finds in its object files that is not constant, be it known in a function, a file
# or all of the library, or one to a thread. What is kept there exists once: no test can make it
# anew, no two users can have one each. A context that is made, passed and freed is preferred. A
# structure counts once. limits.bash says what the numbers are.
# shellcheck source=limits.bash
. "$top_srcdir/tests/limits.bash"
declare -A most=([api]=0 [comm]=4 [core]=8 [cxi]=3 [fallback]=1 [host]=1 [ipc]=3 [lib]=1
    [match]=6 [pmpi]=3 [queue]=1 [report]=3 [rma]=1 [self]=1 [stream]=8 [util]=16)

# variables OBJECT...: their names. What has only to be relocated is constant when the library is
# loaded; sanitizers have variables of their own.
variables()
{
    nm -f sysv "$@" | awk -F '|' '
        { gsub(/ /, "") }
        $7 ~ /^\.(data|bss|tdata|tbss|lbss|ldata)/ && $7 !~ /^\.data\.rel\.ro/ &&
        $4 ~ /^(OBJECT|TLS)$/ { print $1 }
        $7 == "*COM*" { print $1 }'
}

# It sees each kind, and no constants.
made_up=$(mktemp -d)
readonly made_up
trap 'rm -rf "$made_up"' EXIT
cat >"$made_up/x.c" <<'EOF'
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
if ${CC:-cc} -fPIC -O0 -c -o "$made_up/x.o" "$made_up/x.c"; then
    seen=$(variables "$made_up/x.o" | sed 's/\..*//' | sort | tr '\n' ' ')
    [ "$seen" = "both calls everywhere name own " ] || fail "finds $seen in a file that has others"
else
    fail "$CC does not compile"
fi

count()
{
    local object ours=()
    for object in "${objects[@]}"; do
        # What nvtx.c has besides is the vendor's, and not in every build.
        [[ $object = */libmpixq_la-nvtx.o ]] || ours+=("$object")
    done
    echo "$(variables "${ours[@]}" | wc -w)" "$(variables "${ours[@]}" | tr '\n' ' ')"
}

rooms_end "variables that live as long as the process"
