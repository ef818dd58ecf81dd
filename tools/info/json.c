/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * json.c - texts in JSON, on standard output
 */
#include "json.h"

#include <stddef.h>
#include <stdio.h>

/* Texts are ASCII; what a library or a variable has else is told as a question mark. */
void json_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        char c = *text >= ' ' && *text <= '~' ? *text : '?';

        printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    putchar('"');
}

void json_member(const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        printf(", \"%s\": ", name);
        json_string(text);
    }
}
