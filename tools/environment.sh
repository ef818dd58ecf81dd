#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# environment.sh [rows] - prints doc/environment.md, from the table in src/util/env_defs.h:
#
#     bash tools/environment.sh >doc/environment.md
#
# rows: prints the table itself, a line for each variable: NAME^VALUES^DEFAULT^HELP
set -eu
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The preprocessor joins what is written on several lines.
rows()
{
    local tmp
    tmp=$(mktemp)
    cat >"$tmp" <<'END'
#define MPIXQ_ENV_CHOICE(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_CPUS(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_CHANNELS(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_TEXT(field, name, def, choices, help) ROW name "^" choices "^" def "^" help
#define MPIXQ_ENV_INT(field, name, def, low, high, help) \
    ROW name "^" #low ".." #high "^" #def "^" help
#include "env_defs.h"
END
    # $CC may carry options.
    # shellcheck disable=SC2086
    ${CC:-cc} -E -P -x c -I"$top/src/util" "$tmp" | tr '\n' ' ' |
        sed -e 's/" *"//g' -e 's/ROW "\([^"]*\)"/\1\n/g' |
        sed -e 's/^ *//' -e 's/|/, /g' -e '/^$/d'
    rm -f "$tmp"
}

page()
{
    cat <<'END'
<!-- SPDX-License-Identifier: BSD-3-Clause -->
<!-- Copyright (c) 2026 the mpix-queue authors -->
<!-- Made by tools/environment.sh from src/util/env_defs.h: change that. -->

# Environment variables

`MPI_Init` reads these variables once, in every process. A value that cannot be used causes a
warning, and the default holds. A name that begins with `MPIXQ_` and is none of these causes one,
too.

`MPIXQ_INFO=1` prints all of them on rank 0, with the value and where it comes from.

The same text is in [mpix_queue(7)](../man/mpix_queue.7), section ENVIRONMENT.

END
    rows | awk -F '^' '{ print "- [`" $1 "`](#" tolower($1) ")" }'
    rows | awk -F '^' '
        {
            values = $2
            gsub(/, /, "`, `", values)
            sub(/\.\./, "` to `", values)
            printf "\n## %s\n\nValues `%s`; default `%s`.\n\n", $1, values, $3
            # A line is as long as a line of prose is here.
            n = split(toupper(substr($4, 1, 1)) substr($4, 2) ".", words, " ")
            line = ""
            for (i = 1; i <= n; i++) {
                if (line != "" && length(line) + length(words[i]) >= 100) {
                    print line
                    line = ""
                }
                line = line (line == "" ? "" : " ") words[i]
            }
            print line
        }'
}

case ${1-page} in
page | rows) "${1-page}" ;;
*) echo "usage: environment.sh [rows]" >&2; exit 1 ;;
esac
