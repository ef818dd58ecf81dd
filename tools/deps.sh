# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# deps.sh - sourced by ./run: finds out what is missing for a step; on Debian and its like installs
# it, elsewhere says what to install.

# One line per need: when it is needed (with a question mark: wanted), what is looked for, the
# Debian packages (comma between). Looked for is a program in PATH, or a header (name.h), or an MPI
# with its compiler and launcher (mpi:name), a module of Python (py:name), or a file (/name). So
# what came by other ways than apt is good as well. What is wanted is installed like the rest; where
# that cannot be done, the step goes on, and configure says what is left out.
deps_table()
{
    cat <<'TABLE'
source    autoconf       autoconf
source    automake       automake
source    libtoolize     libtool
build     gcc            gcc
build     stdlib.h       libc6-dev
build     make           make
build     ar             binutils
build     pkg-config     pkgconf
build?    uthash.h       uthash-dev
build?    cmocka.h       libcmocka-dev
build?    gfortran       gfortran
build?    rdma/fi_trigger.h libfabric-dev
build?    clang          clang
build?    ld.lld         lld
mpich     mpi:mpich      mpich,libmpich-dev
openmpi   mpi:openmpi    openmpi-bin,libopenmpi-dev
check     g++            g++
check?    abidw          abigail-tools
check?    lintian        lintian
check?    dh             debhelper,dh-python,dpkg-dev,fakeroot
check?    /usr/share/mpi-default-dev/debian_defaults mpi-default-dev,mpi-default-bin
check?    py:mpi4py      python3-mpi4py
check     clang          clang
check     clang-format   clang-format
check     ctags          universal-ctags
check     codespell      codespell
check     ccache         ccache
check     python3        python3
check     mandoc         mandoc
check     valgrind       valgrind
check     spin           spin
check?    py:scipy       python3-numpy,python3-scipy
check?    gnuplot        gnuplot-nox
check?    cmark-gfm      cmark-gfm
full?     chromium       chromium
full?     tcc            tcc
demo      gnuplot        gnuplot-nox
scale     py:numpy       python3-numpy
scale     py:scipy       python3-scipy
scale     gnuplot        gnuplot-nox
html      cmark-gfm      cmark-gfm
html      mandoc         mandoc
cost      valgrind       valgrind
TABLE
}

# mpi_find mpich|openmpi: sets mpi_cc and mpi_exec to compiler and launcher, or fails. The plain
# names are what most machines have; there mpi.h tells which MPI it is.
mpi_find()
{
    local macro=MPICH_VERSION
    [ "$1" = mpich ] || macro=OPEN_MPI
    for mpi_cc in "mpicc.$1" "/usr/lib64/$1/bin/mpicc" mpicc; do
        mpi_exec=${mpi_cc/mpicc/mpiexec}
        command -v "$mpi_cc" >/dev/null && command -v "$mpi_exec" >/dev/null || continue
        # Without -q: grep must read to the end, or the compiler in front of it fails.
        if echo '#include <mpi.h>' | "$mpi_cc" -E -dM -x c - 2>/dev/null |
            grep " $macro " >/dev/null; then
            return 0
        fi
    done
    return 1
}

# deps_cache: from here on compilers are called by ccache, if it is there. Trees that are built from
# the same sources, and the one in which the tarball is tested, then share what is equal; and the
# kernels for GPUs.
deps_cache()
{
    local folder
    export GPU_CODE_CACHE=$PWD/build/gpu-code
    for folder in /usr/lib/ccache /usr/lib64/ccache; do
        if command -v ccache >/dev/null && [ -d "$folder" ]; then
            export PATH=$folder:$PATH CCACHE_BASEDIR=${CCACHE_BASEDIR-$PWD}
            export CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}
            break
        fi
    done
}

deps_has()
{
    case $1 in
    /*) [ -e "$1" ] ;;
    mpi:*) mpi_find "${1#mpi:}" ;;
    # Debian's modules are for its own Python, which may not be the first one.
    py:*) python3 -c "import ${1#py:}" 2>/dev/null ||
        /usr/bin/python3 -c "import ${1#py:}" 2>/dev/null ;;
    # cmocka.h and others are not complete by themselves, so the header is only searched for.
    *.h) echo "#if !__has_include(<$1>)
#error
#endif" | gcc -E - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# deps_need GROUP...: see to it that everything in these groups is there, or end the program.
deps_need()
{
    local group thing package=() things=() needed=() packages=() wanted=$*
    # A checkout has no configure yet; a tarball has.
    [ -x configure ] || wanted+=" source"
    while read -r group thing package; do
        if [[ " $wanted " = *" ${group%\?} "* ]] && ! deps_has "$thing"; then
            things+=("$thing")
            [[ $group = *\? ]] || needed+=("$thing")
            IFS=, read -r -a package <<<"$package"
            packages+=("${package[@]}")
        fi
    done < <(deps_table)
    [ ${#things[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null || ! deps_install "${packages[@]}"; then
        if [ ${#needed[@]} -eq 0 ]; then
            echo "going on without ${things[*]} (packages of Debian: ${packages[*]})" >&2
            return 0
        fi
        printf '%s\n' "missing: ${needed[*]}" "Please install these and run the command again \
(packages of Debian, with those of what is only wanted: ${packages[*]})." >&2
        exit 1
    fi
    for thing in "${things[@]}"; do
        deps_has "$thing" || die "$thing is still missing after the installation"
    done
}

deps_install()
{
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "no root rights, and no sudo" >&2; return 1; }
        as_root=(sudo)
    fi
    step packages "read the list of packages" "${as_root[@]}" apt-get update
    step packages "install $*" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@"
}

# deps_vendors: what some tests compare with of AMD's HIP is in HIP_PATH, if there is any. It is
# unpacked in build/ and not installed, or all tests would find its libraries in place of none,
# which sanitizers find fault with. Without it the tests that compare are skipped.
deps_vendors()
{
    local folder=$PWD/build/vendors
    if [ -n "${HIP_PATH-}${ROCM_PATH-}" ] || [ -d /opt/rocm ] ||
        deps_has hip/hip_runtime_api.h; then
        return
    fi
    if [ ! -d "$folder" ]; then
        if ! command -v apt-get >/dev/null || ! apt-cache show libamdhip64-dev >/dev/null 2>&1 ||
            ! step packages "unpack libamdhip64-dev" deps_unpack libamdhip64-dev "$folder"; then
            return 0
        fi
    fi
    export HIP_PATH=$folder/usr
}

# deps_unpack PACKAGE FOLDER: it and all that it needs and that is not installed.
deps_unpack()
{
    local file
    rm -rf "$2.new" && mkdir -p "$2.new" && cd "$2.new" || return 1
    apt-get install -s --no-install-recommends "$1" | sed -n 's/^Inst \([^ ]*\) .*/\1/p' |
        xargs -r apt-get download || return 1
    for file in *.deb; do
        dpkg -x "$file" . && rm "$file" || return 1
    done
    mv "$2.new" "$2"
}
