#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# abi.sh describe|names LIBRARY INCLUDE - what abi/ stores of a shared library (doc/abi.md)
#
# describe  the functions of the headers in folder INCLUDE and the types that they use, by abidw of
#           libabigail; of structures that the headers only name it has only the names. The library
#           needs the compiler's debugging information (-g)
# names     one line per symbol, with its version, and per constant of the headers, with its value
set -euo pipefail
what=${1-} library=${2-} include=${3-}
[ -f "$library" ] && [ -f "$include/mpix_queue.h" ] ||
    { echo "usage: abi.sh describe|names LIBRARY INCLUDE" >&2; exit 1; }

# Where the sources were is no part of it. Calls of MPI look as MPI says, and the profiling names
# and those for Fortran are other names of the same functions.
describe()
{
    local suppressions
    suppressions=$(mktemp)
    printf '[suppress_function]\n  symbol_name_not_regexp = ^MPIXQ_\n  drop = yes\n' \
        >"$suppressions"
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
        --no-parameter-names --exported-interfaces-only --drop-private-types \
        --headers-dir "$include" --suppressions "$suppressions" "$library" |
        sed -e "s|\(<abi-instr .*path='\)[^']*/src/|\1src/|" -e '1a\
<!-- SPDX-License-Identifier: BSD-3-Clause\
     Copyright (c) 2026 the mpix-queue authors\
     Made by tools/abi.sh describe, which doc/abi.md explains. -->'
    rm -f "$suppressions"
}

names()
{
    echo '# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
# Made by tools/abi.sh names, which doc/abi.md explains.'
    sed -n -e 's/^    \(MPIXQ_[A-Z_]*\) = \([0-9]*\).*/constant \1 \2/p' \
        -e 's/^#define \(MPIXQ_[A-Z_]*\) (*\(-*[0-9][0-9]*\))*$/constant \1 \2/p' \
        "$include/mpix_queue.h" "$include/mpix_queue_device.h" "$include/mpix_queue_rma.h" \
        "$include/mpix_queue_device_rma.h" "$include/mpix_queue_partitions.h" |
        grep -v ' MPIXQ_VERSION_' | LC_ALL=C sort
    nm -D --defined-only "$library" |
        awk '$2 != "A" { sub(/@+/, " ", $3); print "symbol", $3 }' | LC_ALL=C sort
}

case $what in
describe | names) "$what" ;;
*) echo "abi.sh: there is no $what" >&2; exit 1 ;;
esac
