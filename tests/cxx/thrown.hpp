/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * thrown.hpp - what the files with exceptions share, which include a header of the library first
 */
#ifndef THROWN_HPP
#define THROWN_HPP

#include "check.hpp"

#include <string>

/* The kind of what is thrown, MPIXQ_ERR_NONE if nothing is. */
template <class F> MPIXQ_Error kind_of(F &&function)
{
    try {
        function();
    } catch (const mpixq::error &e) {
        CHECK(e.kind() == e.reason().kind() && !e.reason().ok());
        CHECK(std::string(e.what()) == e.reason().message());
        CHECK(e.code() != MPI_SUCCESS);
        return e.kind();
    }
    return MPIXQ_ERR_NONE;
}

#endif
