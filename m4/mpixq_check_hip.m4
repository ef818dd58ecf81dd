# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_HIP: hipcc and the headers of ROCm. The runtime is found when the program runs, so no
# library is looked for.

AC_DEFUN([MPIXQ_CHECK_HIP], [
    AC_REQUIRE([AC_PROG_SED])
    MPIXQ_CHECK_OPTIONAL([hip], [HIP of ROCm, for GPU streams], [
        MPIXQ_FIND_TOOLKIT([hipcc], [/opt/rocm], [hip/hip_runtime_api.h])
    ])
])
