#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# headers.sh c|c++ - the public headers compile alone, without a warning, by every standard of the
# language, with each set of spellings; that for kernels also without mpi.h
set -u
language=${1:?}
# As the wrapper does, in fewer processes.
# shellcheck source=tools/direct.sh
. "$top_srcdir/tools/direct.sh"
! direct_find "$CC" || CC=$MPIXQ_DIRECT
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The C++ bindings that some mpi.h bring along are not ours and not clean.
flags=(-Wall -Wextra -Wundef -Werror -S -o /dev/null -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
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
for header in mpix_queue mpix_queue_{device,rma,device_rma,device_ranges,partitions}; do
    printf "#include <$header.h>\\n%.0s" 1 2 >"$dir/$header.c"
done
# For kernels alone there need be no mpi.h. What is a template is looked at where it is used.
mkdir "$dir/without"
echo '#error mpi.h is included' >"$dir/without/mpi.h"
cat >"$dir/kernels_only.c" <<'END'
#define MPIX_QUEUE_DEVICE_ONLY
#include <mpix_queue_device_rma.h>
#include <mpix_queue_device_ranges.h>
#include <mpix_queue_device_ranges.h>
double use(MPIXQ_Device_access *access);
double use(MPIXQ_Device_access *access)
{
#ifdef __cplusplus
    MPIXQ_Device_put_as(access, 0, 1.5f);
    MPIXQ_Device_put_as(access, 1, 1.5);
    double some[2] = {0, 0};
    if (MPIXQ_Device_get_range_as(access, 2, some, 2, MPIXQ_DEVICE_WARP) != 0 ||
        MPIXQ_Device_put_range_as(access, 2, some, 2, MPIXQ_DEVICE_WARP) != 0) {
        return some[1];
    }
    return MPIXQ_Device_get_as<double>(access, 1) + MPIXQ_Device_get_as<float>(access, 0);
#else
    return access->count;
#endif
}
END

# compile FILE OPTION...
compile()
{
    echo "$CC -x $language ${*:2} $1"
    $CC -x "$language" "${@:2}" "${flags[@]}" -I"$top_srcdir/include" "$dir/$1" || failed=1
}

for standard in $standards; do
    for names in -DMPIX_QUEUE_NO_ALIASES -UMPIX_QUEUE_NO_ALIASES -DMPIX_QUEUE_MPI_NAMES; do
        compile mpix_queue.c "-std=$standard" "$names"
        compile mpix_queue_device.c "-std=$standard" "$names"
        compile mpix_queue_rma.c "-std=$standard" "$names"
        compile mpix_queue_partitions.c "-std=$standard" "$names"
        compile mpix_queue_device_rma.c "-std=$standard" "$names"
        compile mpix_queue_device_ranges.c "-std=$standard" "$names"
    done
    compile kernels_only.c "-std=$standard" -I"$dir/without"
done
exit $failed
