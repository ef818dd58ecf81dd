#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# debian.sh - the packages of Debian are built from the tarball, lintian finds no fault with them,
# and installed in a folder of their own they are all that programs in C and Python need
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${MAKE:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}"
for tool in dpkg-buildpackage dh lintian fakeroot pkg-config; do
    if ! command -v $tool >/dev/null; then
        echo "skip: there is no $tool"
        exit 77
    fi
done
defaults=/usr/share/mpi-default-dev/debian_defaults
default=$(sed -n 's/^ARCH_DEFAULT_MPI_IMPL *:*= *//p' $defaults 2>/dev/null)
if [ "$default" != "$MPIXQ_TEST_MPI" ] || [ "$MPIEXEC" = none ]; then
    echo "skip: Debian's MPI is ${default:-not installed (mpi-default-dev)}"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
# shellcheck source=printed.bash
. "$top_srcdir/tests/printed.bash"
# Here and not in /tmp: ccache knows what it has compiled by where it lies.
build=$(cd "$top_builddir" && pwd)/debian-build
rm -rf "$build"
mkdir "$build" || exit 99
trap 'rm -rf "$build"' EXIT
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# The jobs of the make that runs the tests are not ours.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS CC FC
export CCACHE_BASEDIR=$build
$MAKE -C "$top_builddir" dist >"$build/log" 2>&1 </dev/null || { tail -n 40 "$build/log"; exit 1; }
name=mpix-queue-$(sed -n 's/^VERSION = //p' "$top_builddir/Makefile")
tar -xf "$top_builddir/$name.tar.xz" -C "$build" && cd "$build/$name" || exit 1
[ "mpix-queue-$(dpkg-parsechangelog -S Version)" = "$name" ] ||
    fail "debian/changelog has version $(dpkg-parsechangelog -S Version), and this is $name"
dpkg-buildpackage -us -uc -j2 >"$build/log" 2>&1 </dev/null || { tail -n 40 "$build/log"; exit 1; }
cd "$build" || exit 99

# An address and the number of a bug are what one adds who uploads to Debian.
lintian --allow-root --fail-on error,warning \
    --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
    --suppress-tags initial-upload-closes-no-bugs ./*.changes || fail "lintian"

# ---- Use them -----------------------------------------------------------------------------------

root=$build/root
mkdir -p "$root/var/lib/dpkg"/{info,updates,triggers}
: >"$root/var/lib/dpkg/status"
rm -f ./*-dbgsym_*
packages=(./*.deb)
[ ${#packages[@]} = 4 ] || fail "there are ${#packages[@]} packages: ${packages[*]}"
# Their scripts are those of debhelper, and for the system itself; what they need is there as well.
fakeroot dpkg --root="$root" --force-depends --force-not-root --no-triggers --unpack ./*.deb \
    >log 2>&1 || { cat log; fail "they cannot be installed"; }
lib=$(dirname "$(find "$root/usr/lib" -name 'libmpix_queue.so.0')")
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$lib/pkgconfig LD_LIBRARY_PATH=$lib
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
read -r -a flags < <(pkg-config --cflags --libs mpix_queue)
# shellcheck disable=SC2086
launch()
{
    timeout 60 $MPIEXEC $MPIEXEC_FLAGS -n 2 "$@" </dev/null
}

# numbers TITLE COMMAND...: two ranks exchange numbers as they should.
numbers()
{
    local printed
    printed=$(launch "${@:2}" 2>&1)
    each_printed 2 'rank [01]: 1536' <<<"$printed" || fail "$1 printed: $printed"
}
"mpicc.$default" "$root"/usr/share/doc/libmpix-queue-dev/examples/exchange.c "${flags[@]}" \
    -o exchange || fail "the program in C"
[[ $(readelf -d exchange) = *libmpix_queue.so.0* ]] || fail "it is not linked with the library"
numbers "the program in C" ./exchange
"mpicc.$default" -std=c99 -I"$root/usr/include" \
    "$root"/usr/share/doc/libmpix-queue-dev/examples/exchange.c "$lib/libmpix_queue.a" -ldl \
    -lpthread -o static && numbers "the static program" ./static || fail "the static library"
if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    numbers "the program in Python" env PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH="$root/usr/lib/python3/dist-packages" /usr/bin/python3 \
        "$root"/usr/share/doc/libmpix-queue-dev/examples/exchange.py
fi
printed=$("$root/usr/bin/mpixq_info" 2>&1 </dev/null) || fail "mpixq_info: $printed"
[ -f "$root/usr/share/man/man3/MPIX_Match.3.gz" ] || fail "there is no man page of MPIX_Match"
exit $failed
