#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# channel_example.sh - what doc/design.md, "Adding a channel", says is all: with the folder of
# tests/channel_example, one line in channel_defs.h and one more file to compile the library has a
# channel more, and programs that know nothing of it have their messages by it
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
: "${MAKE:=make}" "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}" "${SANITIZER_FLAGS:=}"
if [ "$MPIEXEC" = none ]; then
    echo "skip: no launcher was found by configure"
    exit 77
fi
unset MAKEFLAGS MFLAGS MAKELEVEL
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
top_srcdir=$(cd "$top_srcdir" && pwd) top_builddir=$(cd "$top_builddir" && pwd)
failed=0

# variable NAME: as the Makefile of this build has it.
variable()
{
    # shellcheck disable=SC2016 # make's
    $MAKE -s -C "$top_builddir" --eval='print-%: ; @echo $($*)' "print-$1"
}

cp -R "$top_srcdir/src" "$top_srcdir/include" "$dir" && chmod -R u+w "$dir" || exit 99
mkdir "$dir/src/slot" && cp "$top_srcdir/tests/channel_example/channel_slot.c" "$dir/src/slot" ||
    exit 99
sed -i '/^MPIXQ_CHANNEL(2, FALLBACK/i MPIXQ_CHANNEL(5, SLOT, slot, ALWAYS, CHOSEN)' \
    "$dir/src/util/channel_defs.h"
[ "$(grep -c '^MPIXQ_CHANNEL' "$dir/src/util/channel_defs.h")" -ge 5 ] || exit 99

# The sources of the build, from the copy or, where make has made them, from the build.
options=$(variable DEFS)
options+=" $(variable libmpixq_la_CPPFLAGS | sed "s|-I$top_srcdir/src|-I$dir/src|g")"
options="-I$top_builddir -I$dir/src -I$dir/include $options $SANITIZER_FLAGS -fPIC -O0"
options+=" -Werror=incompatible-pointer-types"
sources="$(variable libmpixq_la_SOURCES) src/slot/channel_slot.c"
cd "$dir" || exit 99
for source in $sources $(variable nodist_libmpixq_la_SOURCES); do
    [[ $source = *.c ]] || continue
    [ -f "$source" ] || source=$top_builddir/$source
    object=${source#"$top_builddir/"}
    object=${object//\//_}
    echo "-c -o ${object%.c}.o $source"
done >commands
# shellcheck disable=SC2086 # the flags are words
xargs -P 2 -L 1 $CC $options <commands >log 2>&1 || { tail -n 30 log; exit 1; }
# shellcheck disable=SC2086,SC2046
$CC $SANITIZER_FLAGS -shared -o libmpix_queue.so.0 -Wl,-soname,libmpix_queue.so.0 \
    "-Wl,--version-script=$top_srcdir/src/libmpix_queue.map" ./*.o \
    $(variable libmpixq_la_LIBADD) $(variable LIBS) >log 2>&1 || { tail -n 30 log; exit 1; }

# serves RANKS PROGRAM ARGUMENT...: all pairs that can have the channel have it.
serves()
{
    local program=$2
    # shellcheck disable=SC2086
    timeout 120 $MPIEXEC $MPIEXEC_FLAGS -n "$1" env MPIXQ_TEST_RANKS="$1" \
        "LD_PRELOAD=$dir/libmpix_queue.so.0" \
        MPIXQ_INFO=1 MPIXQ_CHANNELS=slot,fallback "$top_builddir/tests/$program" "${@:3}" \
        >printed 2>&1 </dev/null || { echo "failed: $program"; cat printed; failed=1; return; }
    grep -Eq " pairs: (.*, )?[1-9][0-9]* slot" printed ||
        { echo "failed: no pair of $program was on the channel"; cat printed; failed=1; }
}

serves 2 basic_modes
serves 3 basic_order
serves 2 basic_types
serves 2 basic_waits
serves 2 basic_status
serves 2 host_plain
serves 2 stress_model 1 12 30

# Who leaves it out does not have it.
# shellcheck disable=SC2086
timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n 2 env MPIXQ_TEST_RANKS=2 MPIXQ_INFO=1 \
    "LD_PRELOAD=$dir/libmpix_queue.so.0" MPIXQ_CHANNELS=fallback \
    "$top_builddir/tests/basic_modes" >printed 2>&1 </dev/null &&
    ! grep -Eq " pairs: .*[0-9] slot" printed ||
    { echo "failed: without the channel"; cat printed; failed=1; }
left=(/dev/shm/mpixq-slot-*)
[ ! -e "${left[0]}" ] || { echo "failed: left behind: ${left[*]}"; failed=1; }
exit $failed
