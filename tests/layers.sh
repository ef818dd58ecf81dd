#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# layers.sh - the folders of src/ as layers: who may include whose headers, where the headers of
# vendors may be, and where builds may differ; that channels know pairs, not requests; and that all
# locks have ranks
# shellcheck source=gate.bash
. "$top_srcdir/tests/gate.bash"

# The folders of src/ are layers, from the lowest to the highest: a file includes headers of its own
# folder and of lower ones, and nothing knows what stands above it. Of streams most see no more than
# the seam; streams and channels get what serves all, and channels the objects that they are handed.
services="util/affinity.h util/alloc.h util/backoff.h util/env.h util/facts.h util/ident.h
    util/lock.h util/log.h util/mpi_turns.h util/near.h util/node.h util/patience.h util/piece.h
    util/process.h util/progress.h util/table.h util/thread.h util/trace.h comm/error.h
    comm/layout.h"
objects="core/chains.h core/channel.h core/failure.h core/graphs.h core/pair.h core/queue.h
    core/steps.h core/tally.h core/trace_pairs.h core/windows.h match/match.h match/wire.h"
seam="stream/combine.h stream/combine.inc stream/memory.h stream/op.h stream/stream.h"
find_may_include()
{
    case $1 in
    util) may="" ;;
    comm) may="util/*" ;;
    stream) may="$services" ;;
    core) may="util/* comm/* $seam" ;;
    match) may="util/* comm/* core/* $seam" ;;
    queue) may="util/* comm/* core/* match/* $seam" ;;
    host) may="util/* comm/* core/* match/* queue/* $seam" ;;
    # Windows in memory of GPUs are shared as the channel between them shares buffers.
    rma) may="util/* comm/* core/* match/* queue/* $seam ipc/window.h" ;;
    # What GPUs of several processes share is that channel's alone, and is made of GPUs' streams.
    ipc) may="$services $objects $seam stream/pieces.h stream/gpu*.h" ;;
    report) may="util/* comm/* core/* match/* queue/* host/* rma/rma.h $seam" ;;
    # Host streams are ended at MPI_Finalize.
    lib)
        may="util/* comm/* core/* match/* queue/* host/* rma/* report/* $seam
            stream/host_stream.h" ;;
    pmpi) may="util/* comm/* core/* match/* queue/* host/* report/* lib/*" ;;
    # api.c asks whether the calls of the program come by; fortran.c is called like the names there.
    # Host streams are made and ended by users.
    api)
        may="util/* comm/* core/* match/* queue/* host/* rma/* report/* lib/* $seam
            stream/host_stream.h pmpi/next.h pmpi/pull.h pmpi/fortran.h" ;;
    # A channel. What it makes of a start and of a wait are operations.
    *) may="$services $objects stream/op.h" ;;
    esac
}

# find_vendor_files HEADER: sets files: where the headers of a vendor may be included; nothing for
# other headers.
find_vendor_files()
{
    files=
    case $1 in
    nvtx3/*) files='*/nvtx*' ;;
    cuda*.h | cuda/* | nvrtc.h | nv*.h) files='*/cuda* examples/*_gpu*' ;;
    hip/* | hip*.h | hsa/* | rocm*) files='*/hip* examples/*_gpu*' ;;
    rdma/* | cxi*.h | libcxi/*) files='src/cxi/* */fabric* */cxi*' ;;
    level_zero/* | sycl/*) files='src/stream/ze*' ;;
    esac
}

# matches WORD "PATTERN...": one of the patterns fits.
matches()
{
    local patterns
    read -r -d '' -a patterns <<<"$2"
    for pattern in "${patterns[@]}"; do
        # shellcheck disable=SC2053
        [[ $1 != $pattern ]] || return 0
    done
    return 1
}

# check_include FILE LINE HEADER
check_include()
{
    local file=$1 room=${1#src/} header=${3#[<\"]} files may
    room=${room%%/*}
    header=${header%[>\"]}
    find_vendor_files "$header"
    if [ -n "$files" ] && ! matches "$file" "$files"; then
        echo "$file:$2: $header is included outside of $files"
    fi
    [[ $3 = \"* && $file = src/* ]] || return
    case $header in
    mpix_queue.h | mpix_queue_device.h | mpix_queue_rma.h | mpix_queue_device_rma.h | \
        mpix_queue_device_ranges.h | mpix_queue_partitions.h) ;;
    */*)
        # Outside of its folder a file is named with the folder.
        find_may_include "$room"
        matches "$header" "$may" || [ "${header%%/*}" = "$room" ] ||
            echo "$file:$2: $room may not include $header" ;;
    *) [ -f "${file%/*}/$header" ] || echo "$file:$2: there is no $header beside it" ;;
    esac
}

# rooms: each folder of src is named in doc/design.md, so that nothing new comes in unseen.
check_rooms()
{
    local room
    [ -f doc/design.md ] || return
    for room in src/*/; do
        grep -q "^    $room  *[a-z]" doc/design.md ||
            echo "doc/design.md:1: no room $room in section 2"
    done
}

check_tree()
{
    local file line text
    while IFS=: read -r file line text; do
        read -r text _ <<<"${text#*include}"
        check_include "$file" "$line" "$text"
    done < <(c_files | xargs -d '\n' -r grep -HnE '^ *# *include')
    # Only the arrays behind the seams say what is built in. The rest of src has no #if but the
    # guards of headers; what differs from MPI to MPI is a file that is built or not. A header of
    # ours that stands in for a vendor's (*_ext.h) has to ask whether that is there.
    c_files src | grep -vxE 'src/core/channels\.c|src/stream/stream\.c|src/[a-z]*/[a-z]*_ext\.h' |
        xargs -d '\n' -r grep -HnE '^ *# *(if|ifdef|ifndef|elif)\b' |
        grep -vE 'ifndef MPIXQ_[A-Z_]*_H$' |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: #if outside of the arrays of the seams/'
    # Channels move the messages of pairs, which need not be a request's.
    c_files src | grep -E '^src/(fallback|cxi|ipc|self)/|^src/core/channel(s|_[a-z]*)?\.[ch]$' |
        xargs -d '\n' -r grep -HnE '\bmpixq_request\b|\bmpixq_request_|->owner\b' |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: a channel knows nothing of requests/'
    # A build that checks the order of locks sees those of src/util/lock.h.
    c_files src | grep -vxE 'src/util/lock\.[ch]' |
        xargs -d '\n' -r grep -HnE '\bpthread_(mutex|rwlock|spin|cond_(timed|clock)?wait)|\bmtx_' |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: a lock without a rank: src\/util\/lock.h/'
    check_rooms
}

finds "src/core/x.c:1: core may not include fallback/tags.h" src/core/x.c \
    <<<'#include "fallback/tags.h"'
finds "src/core/x.c:1: core may not include api/api.h" src/core/x.c <<<'# include "api/api.h"'
finds "src/fallback/x.c:1: fallback may not include pmpi/next.h" src/fallback/x.c \
    <<<'#include "pmpi/next.h"'
finds "src/fallback/x.h:1: fallback may not include stream/stream.h" src/fallback/x.h \
    <<<'#include "stream/stream.h"'
finds "src/stream/x.c:1: stream may not include core/request.h" src/stream/x.c \
    <<<'#include "core/request.h"'
finds "src/core/x.c:1: there is no tags.h beside it" src/core/x.c <<<'#include "tags.h"'
finds "src/core/x.c:1: cuda.h is included outside of */cuda* examples/*_gpu*" src/core/x.c \
    <<<'#include <cuda.h>'
finds "tests/x.c:1: hip/hip_runtime_api.h is included outside of */hip* examples/*_gpu*" \
    tests/x.c \
    <<<'#include <hip/hip_runtime_api.h>'
finds "src/core/x.c:1: rdma/fabric.h is included outside of src/cxi/* */fabric* */cxi*" \
    src/core/x.c <<<'#include <rdma/fabric.h>'
for line in '#if HAVE_CUDA' '# ifdef HAVE_CUDA' '#elif defined(HAVE_CUDA)'; do
    finds "src/core/x.c:1: #if outside of the arrays of the seams" src/core/x.c <<<"$line"
done
finds "src/ipc/x.c:1: ipc may not include core/request.h" src/ipc/x.c \
    <<<'#include "core/request.h"'
for line in 'struct mpixq_request *req;' 'mpixq_request_state(x);' 'pair->owner = x;'; do
    finds "src/cxi/x.c:1: a channel knows nothing of requests" src/cxi/x.c <<<"$line"
done
finds "src/core/channel_x.c:1: a channel knows nothing of requests" src/core/channel_x.c \
    <<<'struct mpixq_request *req;'
for line in 'static pthread_mutex_t lock;' 'pthread_mutex_lock(&x);' 'pthread_rwlock_t lock;' \
    'pthread_cond_wait(&woken, &lock.mutex);' 'pthread_cond_timedwait(&woken, &x, &until);'; do
    finds "src/core/x.c:1: a lock without a rank: src/util/lock.h" src/core/x.c <<<"$line"
done
gate_also=src/new/x.c finds "doc/design.md:1: no room src/new/ in section 2" doc/design.md \
    <<<'    src/core/   everything'
finds "src/rma/x.c:1: rma may not include fallback/tags.h" src/rma/x.c \
    <<<'#include "fallback/tags.h"'
allows src/pmpi/x.c <<<'#include "core/request.h"'
allows src/stream/cuda_stream.c <<<'#include <cuda.h>'
allows src/cxi/x.c <<<'#include "core/channel.h"'
allows src/cxi/x.h <<<'#include <rdma/fi_trigger.h>'
allows src/ipc/x.c <<<'#include "mpix_queue_device.h"'
allows src/core/x.h <<<'#ifndef MPIXQ_X_H'
allows src/core/channels.c <<<'#if HAVE_CXI'
allows src/core/x.c <<<'pthread_cond_signal(&woken);'
allows src/util/lock.h <<<'pthread_mutex_t mutex;'
allows tests/x.c <<<'static pthread_mutex_t lock;'
gate_end
