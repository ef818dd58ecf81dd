/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * json.h - texts in JSON, on standard output; for mpixq_info and mpixq_selftest
 */
#ifndef JSON_H
#define JSON_H

void json_string(const char *text);
/* , "name": "text"; nothing if there is no text, or an empty one. */
void json_member(const char *name, const char *text);

#endif
