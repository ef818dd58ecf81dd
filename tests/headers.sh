#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# headers.sh c|c++ - the public header compiles alone, without a warning, by every standard of the
# language, with each set of spellings
set -u
language=${1:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The C++ bindings that some mpi.h bring along are not ours and not clean.
flags=(-Wall -Wextra -Wundef -Werror -c -o /dev/null -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
case $language in
c) flags+=(-Wstrict-prototypes -Wmissing-prototypes); standards="c99 c11 gnu17" ;;
c++) standards="c++11 c++17" ;;
esac

echo 'int main(void) { return 0; }' >"$dir/empty.c"
if ! $CC -x "$language" -c -o /dev/null "$dir/empty.c" 2>/dev/null; then
    echo "skip: $CC has no compiler for $language"
    exit 77
fi
# Twice, to see that the guard works.
printf '#include <mpix_queue.h>\n#include <mpix_queue.h>\n' >"$dir/header.c"
for standard in $standards; do
    for names in -DMPIX_QUEUE_NO_ALIASES -UMPIX_QUEUE_NO_ALIASES -DMPIX_QUEUE_MPI_NAMES; do
        echo "$CC -x $language -std=$standard $names"
        $CC -x "$language" "-std=$standard" "$names" "${flags[@]}" -I"$top_srcdir/include" \
            "$dir/header.c" || failed=1
    done
done
exit $failed
