#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# hip_double.sh switched|types|docs - the double of the HIP runtime is what it says it is
#
# switched  behave finds each behaviour of tests/hip_double/README.md on it, as it does not when the
#           double is set to the other way of the last column
# types     its declarations are those of the vendor's header, where there is one
# docs      the README has all behaviours and switches
set -u
readme=$top_srcdir/tests/hip_double/README.md
behave=$top_builddir/tests/hip_double/behave
failed=0

fail()
{
    echo "failed: $*"
    failed=1
}

# Columns 1 and 4 of the table of behaviours.
behaviours()
{
    sed -n 's/^| `\([a-z-]*\)` | .* | `\([A-Z_]*=[a-z0-9-]*\)` |$/\1 \2/p' "$readme"
}

switched()
{
    local name setting
    "$behave" >"$out" 2>&1 || fail "not all are as they should be: $(grep -v ' yes$' "$out")"
    while read -r name setting; do
        env "$setting" "$behave" "$name" >"$out" 2>&1 </dev/null
        grep -qx "$name no" "$out" || fail "$name is not found different with $setting: $(<"$out")"
    done < <(behaviours)
}

types()
{
    local folder header
    for folder in ${HIP_PATH:+"$HIP_PATH/include"} ${ROCM_PATH:+"$ROCM_PATH/include"} \
        /opt/rocm/include /usr/include; do
        header=$folder/hip/hip_runtime_api.h
        [ -f "$header" ] || continue
        # $CC may carry options. Vendors' headers have warnings of their own.
        # shellcheck disable=SC2086
        ${CC:-cc} -std=gnu11 -w -I"$folder" -I"$top_srcdir/tests/hip_double" -fsyntax-only \
            "$top_srcdir/tests/hip_double/check.c" || fail "$header declares other things"
        return
    done
    echo "skip: there is no hip/hip_runtime_api.h"
    exit 77
}

docs()
{
    behaviours | cut -d' ' -f1 | sort >"$out"
    "$behave" --list | sort | diff "$out" - ||
        fail "behaviours of the README and of the program differ"
    # The preprocessor joins what is written on several lines.
    {
        echo '#define SWITCH_CHOICE(f, name, def, choices, help) \'
        echo '    ROW name "^" choices "^" def "^" help'
        echo '#define SWITCH_INT(f, name, def, low, high, help) \'
        echo '    ROW name "^" #low " to " #high "^" #def "^" help'
        echo '#define SWITCH_TEXT(f, name, help) ROW name "^" "text" "^" "none" "^" help'
        echo '#include "switch_defs.h"'
    } >"$out.c"
    # shellcheck disable=SC2086
    ${CC:-cc} -E -P -I"$top_srcdir/tests/hip_double" "$out.c" | tr '\n' ' ' |
        sed -e 's/" *; */" /g' -e 's/" *"//g' -e 's/ROW "\([^"]*\)"/\1\n/g' |
        sed -e 's/^ *//' -e 's/|/, /g' -e '/^$/d' >"$out.source"
    sed -n 's/^| `\(HIP_DOUBLE_[A-Z_]*\)` | \(.*\) | \(.*\) | \(.*\) |$/\1^\2^\3^\4/p' "$readme" |
        diff "$out.source" - || fail "switches of the README and of the source differ"
    [ "$(wc -l <"$out.source")" -gt 15 ] || fail "too few switches found"
}

out=$(mktemp) || exit 99
trap 'rm -f "$out" "$out".*' EXIT
# What the caller may have set is no setting of the table.
for name in $(env | sed -n 's/^\(HIP_DOUBLE_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
case ${1-} in
switched | types | docs) "$1" ;;
*) echo "usage: hip_double.sh switched|types|docs"; exit 99 ;;
esac
exit $failed
