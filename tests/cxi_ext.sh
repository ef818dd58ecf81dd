#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# cxi_ext.sh - the extensions of provider cxi compile without rdma/fi_cxi_ext.h of the system and
# with one, as it is and as a later version may be; one that is not what we rely on does not
set -u
[ "${MPIXQ_TEST_LIBFABRIC:-yes}" = yes ] || { echo "skip: built without libfabric"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/rdma" || exit 99
failed=0
flags=$(sed -n 's/^LIBFABRIC_CPPFLAGS = //p' "$top_builddir/Makefile")
flags=${flags//-DHAVE_RDMA_FI_CXI_EXT_H=1/}

# compiles OPTION...: what uses the extensions, with these declarations.
compiles()
{
    # shellcheck disable=SC2086
    $CC -std=gnu11 -Wall -Werror -c -o "$dir/object" -D_GNU_SOURCE -DMPIXQ_LOCK_CHECKS=0 \
        -I"$top_srcdir/src" -I"$top_srcdir/include" "$@" $flags \
        "$top_srcdir/src/cxi/cxi_ops.c" >"$dir/log" 2>&1
}

# header EXPRESSION...: one in which our declarations stand, edited by sed.
header()
{
    sed -n '/^#define FI_CXI_COUNTER_OPS/,/^#endif/p' "$top_srcdir/src/cxi/cxi_ext.h" |
        sed '$d' >"$dir/ours"
    { echo '#define HEADER_OF_THE_TEST'; sed "$@" "$dir/ours"; } >"$dir/rdma/fi_cxi_ext.h"
}

with=(-I"$dir" -DHAVE_RDMA_FI_CXI_EXT_H=1)
must_compile()
{
    compiles "${@:2}" || { echo "failed: $1 does not compile"; cat "$dir/log"; failed=1; }
}

must_compile "our own header"
header ''
must_compile "the system's header" "${with[@]}"
header '/enable_optimized_mrs/a int (*later)(struct fid *fid);'
must_compile "a later header" "${with[@]}"
# It was the one that was read.
header '$a #error read'
compiles "${with[@]}" && { echo "failed: the system's header is not read"; failed=1; }
compiles -I"$dir" || { echo "failed: the system's header is read unasked"; failed=1; }

# Each has to change something, and then must not compile.
while read -r edit; do
    header "$edit"
    if cmp -s "$dir/ours" <(sed 1d "$dir/rdma/fi_cxi_ext.h"); then
        echo "failed: '$edit' changes nothing"
        failed=1
    elif compiles "${with[@]}"; then
        echo "failed: compiles with '$edit'"
        failed=1
    elif ! grep -q 'static.assert\|has no member\|no member named' "$dir/log"; then
        echo "failed: '$edit' is no error of ours:"
        cat "$dir/log"
        failed=1
    fi
done <<'EDITS'
s/1ULL << 62/1ULL << 61/
s/1ULL << 32/1ULL << 31/
s/1ULL << 48/1ULL << 47/
s/1ULL << 7/1ULL << 8/
s/"cxi_counter_ops"/"cxi_counters"/
s/"dom_ops_v6"/"dom_ops_v10"/
/set_wb_buffer/d
/topology/i int (*more)(struct fid *fid);
s/get_dwq_depth)(struct fid \*fid, size_t/get_dwq_depth)(struct fid *fid, int/
s/void \*\*addr, size_t/void **addr, long/
s/get_dwq_depth/get_depth/
/const unsigned int addr/d
EDITS
exit $failed
