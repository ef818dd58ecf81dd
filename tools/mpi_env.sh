# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# mpi_env.sh - sourced by whatever launches MPI programs for a test or a benchmark: settings that
# let any small machine run them. Settings that the user made stay.

# Open MPI refuses to run as root, as a container does, unless told twice.
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Open MPI refuses more ranks than cores.
export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe-1}"
# Open MPI binds each of two ranks to one core, which the threads of the library then share.
export OMPI_MCA_hwloc_base_binding_policy="${OMPI_MCA_hwloc_base_binding_policy-none}"
# Open MPI looks for ssh even for ranks on this machine, and warns if there is none.
export OMPI_MCA_plm_rsh_agent="${OMPI_MCA_plm_rsh_agent-}"
# hwloc moves each process of MPICH to every CPU in turn, to ask that what it is; where others keep
# the CPUs busy, that takes up to a minute. The system knows it as well.
export HWLOC_COMPONENTS="${HWLOC_COMPONENTS--x86}"
# libpsm2 and its like install handlers that print a backtrace over the verdict of a test.
export IPATH_NO_BACKTRACE="${IPATH_NO_BACKTRACE-1}"
