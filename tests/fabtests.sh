#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# fabtests.sh - libfabric's own tests of deferred work, remote counters and atomics, on the double
#
# Debian has no package of fabtests, so this runs where they are in PATH or in the folder that
# FABTESTS names, and is skipped elsewhere.
set -u
PATH=${FABTESTS:+$FABTESTS:}$PATH
failed=0

if ! grep -q 'HAVE_LIBFABRIC_TRUE"\]=""' "$top_builddir/config.status"; then
    echo "skip: built without libfabric"
    exit 77
fi
if ! command -v fi_rdm_deferred_wq >/dev/null; then
    echo "skip: no fabtests of libfabric here (FABTESTS may name their folder)"
    exit 77
fi
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out" "/dev/shm/cxi_double_$(id -u)_$$"' EXIT
export FI_PROVIDER_PATH=$top_builddir/tests/cxi_double/.libs FI_PROVIDER=cxi
export CXI_DOUBLE_NAME=$$ CXI_DOUBLE_RULES=generic IPATH_NO_BACKTRACE=1
port=$((20000 + $$ % 10000))

# both ADDRESSES PROGRAM ARGUMENT...: server and client. ADDRESSES: "service" lets the client find
# the server by a number that the provider knows, "socket" by a connection of their own.
both()
{
    local how=$1 server=() client=() pid
    shift
    port=$((port + 1))
    if [ "$how" = service ]; then
        server=(-B "$port") client=(-P "$port")
    else
        server=("-E=$port") client=("-E=$port")
    fi
    timeout 60 "$@" -p cxi "${server[@]}" >"$out/server" 2>&1 </dev/null &
    pid=$!
    sleep 1
    timeout 60 "$@" -p cxi "${client[@]}" 127.0.0.1 >"$out/client" 2>&1 </dev/null
    local client_rc=$?
    wait "$pid"
    local server_rc=$?
    echo "$*: server $server_rc, client $client_rc"
    if [ $client_rc -ne 0 ] || [ $server_rc -ne 0 ]; then
        tail -n 5 "$out/server" "$out/client"
        failed=1
    fi
}

# Without c_atomic, which expects a swap that fi_atomic(3) forbids, and fails on sockets as well.
for operation in cntr msg tagged rma atomic f_atomic; do
    both service fi_rdm_deferred_wq -T "$operation"
done
both service fi_rdm_deferred_wq -a -T rma
both socket fi_rdm_rma_event
both socket fi_rdm_rma_trigger
both service fi_rdm_atomic -S 1024 -I 3
exit $failed
