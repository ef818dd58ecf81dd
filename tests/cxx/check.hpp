/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * check.hpp - what the files of the tests of mpix_queue*.hpp share
 */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>

/* Of this rank, so far. */
extern int wrong;

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #what);                       \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

/* In throwing.cpp and its like, which have the form with exceptions. */
void throwing(int peer);

#endif
