#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# What is written down twice says the same: code in the README and the documents and the examples;
# the environment variables in the source, doc/environment.md and the manual; texts of errors, of
# reports and of warnings in the source and doc/troubleshooting.md; functions and kinds of error in
# the header and in their pages; functions and constants in the header and the module for Fortran;
# functions for puts and partitioned requests in C and in C++; options of the benchmarks and in
# their pages; locks, and how late a waiting thread may be, in the source and the design, the latter
# also in the manual; the version; the programs that are installed. Sections of documents have
# numbers that grow by one. The README has at most 150 lines, an example less than 120.
# Exit codes: 0 all equal; 1 not; 77 all equal, but there is no mandoc to check the pages' form.

top=${top_srcdir:-${srcdir:-.}}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

fail()
{
    echo "docs: $*"
    failed=1
}

# same WHAT EXPECTED FOUND: the files are equal and not empty.
same()
{
    if [ ! -s "$2" ]; then
        fail "$1: nothing to compare with"
    elif ! diff -u "$2" "$3"; then
        fail "$1: differ as shown above"
    fi
}

# stripped FILE...: its lines without blanks in front, as excerpts may stand further to the left.
stripped()
{
    cat "$@" | sed 's/^ *//'
}

# excerpts FILE LANGUAGE EXAMPLE...: each block of code of that language in FILE stands in one of
# the examples, line by line; a line of three dots leaves something out.
excerpts()
{
    file=$1 language=$2
    shift 2
    rm -f "$tmp"/block.*
    awk -v fence="\`\`\`$language" -v out="$tmp/block." '
        $0 == fence { on = 1; n++; next }
        /^```$/ { on = 0 }
        on && /^ *\.\.\.$/ { n++; next }
        on { sub(/^ */, ""); print >(out n) }' "$top/$file"
    for block in "$tmp"/block.*; do
        [ -f "$block" ] || continue
        for example in "$@"; do
            stripped "$top/$example" >"$tmp/example"
            # In awk, where a text is looked for as it is, over several lines.
            awk 'NR == FNR { text = text $0 "\n"; next } { part = part $0 "\n" }
                END { exit index("\n" text, "\n" part) == 0 }' "$tmp/example" "$block" &&
                continue 2
        done
        fail "$file: this code in $language is in none of $*:"
        cat "$block"
    done
}

# Programs and parts of them, which tests/examples.sh builds and runs.
check_programs()
{
    awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$top/README.md" >"$tmp/program"
    awk 'body; /\*\/$/ { body = 1 }' "$top/examples/exchange.c" >"$tmp/exchange.c"
    same "examples/exchange.c and README.md" "$tmp/exchange.c" "$tmp/program"
    # shellcheck disable=SC2046
    for file in README.md doc/gpu.md doc/install.md doc/languages.md doc/porting.md \
        doc/tutorial.md; do
        excerpts "$file" c $(cd "$top" && echo examples/*.c)
        excerpts "$file" cuda $(cd "$top" && echo examples/*.cu)
        excerpts "$file" fortran $(cd "$top" && echo examples/*.f90)
        excerpts "$file" cpp $(cd "$top" && echo examples/*.cpp)
        excerpts "$file" python $(cd "$top" && echo examples/*.py)
    done
    # Code of another kind would not be looked at.
    grep -n '^```.' "$top"/README.md "$top"/doc/*.md |
        grep -v -e '```c$' -e '```cuda$' -e '```fortran$' -e '```cpp$' -e '```python$' \
            -e '```make$' -e '```cmake$' &&
        fail "code in a language that no test knows"
    for file in "$top"/examples/*.*; do
        [ "$(wc -l <"$file")" -lt 120 ] || fail "$file has not less than 120 lines"
    done
    [ "$(wc -l <"$top/README.md")" -le 150 ] || fail "README.md has more than 150 lines"
}

# The functions under their exported names and under the header's MPIX_ spellings.
public_names()
{
    sed -n -e 's/^MPIXQ_PUBLIC int \(MPIXQ_[A-Za-z_]*\)(.*/\1/p' \
        -e 's/^#define \(MPIX_[A-Z][a-z][A-Za-z_]*\) MPIXQ_.*/\1/p' "$top/include/mpix_queue.h" \
        "$top/include/mpix_queue_rma.h" "$top/include/mpix_queue_partitions.h" |
        grep -vx -e 'MPIX_Queue' -e 'MPIX_Queue_type' \
        -e 'MPIX_Host_stream' -e 'MPIX_Window' -e 'MPIX_Signal' -e 'MPIX_Plan' -e 'MPIX_Blk'
}

# What kernels of programs call, and makes handles for them, under both spellings.
device_names()
{
    sed -n -e 's/^MPIXQ_PUBLIC int \(MPIXQ_Device_[a-z_]*\)(.*/\1/p' \
        -e 's/^MPIXQ_DEV[A-Z_]* .*\(MPIXQ_Device_[a-z_0-9]*\)(.*/\1/p' \
        -e 's/^#define \(MPIX_Device_[a-z_0-9]*\)\((.*)\| MPIXQ_.*\)  *\\\{0,1\}$/\1/p' \
        -e 's/^#define \(MPIX_Device_[a-z_0-9]*\) MPIXQ_.*/\1/p' \
        "$top/include/mpix_queue_device.h" "$top/include/mpix_queue_device_rma.h" \
        "$top/include/mpix_queue_device_ranges.h" |
        grep -vx -e 'MPIX_Device_transfer' -e 'MPIX_Device_signal' |
        grep -vx -e 'MPIX_Device_request' -e 'MPIX_Device_access' -e 'MPIX_Device_scope' | sort -u
}

# Each name has a page, or a .so line to one, which lists it and shows its prototype.
check_pages()
{
    public_names >"$tmp/names"
    if [ "$(wc -l <"$tmp/names")" -lt 20 ]; then
        fail "include/mpix_queue.h: too few functions found"
    fi
    device_names >"$tmp/names.device"
    grep '^MPIX_' "$tmp/names.device" >"$tmp/names.short"
    sed -n 's/^MPIXQ_/MPIX_/p' "$tmp/names.device" >"$tmp/names.long"
    same "functions for kernels and their spellings MPIX_" "$tmp/names.long" "$tmp/names.short"
    [ "$(wc -l <"$tmp/names.long")" -gt 15 ] ||
        fail "include/mpix_queue_device.h: too few functions found"
    cat "$tmp/names.device" >>"$tmp/names"
    while read -r name; do
        page=$top/man/$name.3
        if [ ! -f "$page" ]; then
            fail "$name has no man page"
            continue
        fi
        target=$(sed -n 's/^\.so man3\///p' "$page")
        page=$top/man/${target:-$name.3}
        grep -q "^\.Nm $name\( ,\)*\$" "$page" || fail "$page does not list $name"
        grep -q "^\.Fo MPIXQ*_${name#MPIX*_}\$" "$page" || fail "$page has no prototype of $name"
    done <"$tmp/names"
    for page in "$top"/man/*.3; do
        grep -qx "$(basename "$page" .3)" "$tmp/names" || fail "$page is no page of a function"
    done
}

# The kinds of error and their numbers.
check_kinds()
{
    sed -n 's/^    \(MPIXQ_ERR_[A-Z_]*\) = \([0-9]*\).*/\1 \2/p' "$top/include/mpix_queue.h" \
        >"$tmp/kinds.header"
    sed -n 's/^\.It Dv \(MPIXQ_ERR_[A-Z_]*\) Ta \([0-9]*\) Ta .*/\1 \2/p' \
        "$top/man/MPIX_Error_kind.3" >"$tmp/kinds.page"
    same "kinds of error in the header and man/MPIX_Error_kind.3" "$tmp/kinds.header" \
        "$tmp/kinds.page"
}

# What C++ calls for puts and partitioned requests, comments left out, is all that there is.
check_cxx()
{
    for header in mpix_queue_rma mpix_queue_partitions; do
        sed -n 's/^MPIXQ_PUBLIC int \(MPIXQ_[A-Za-z_]*\)(.*/\1/p' "$top/include/$header.h" | sort \
            >"$tmp/names.c"
        grep -v '^ *\(\/\*\|\*\)' "$top/include/$header.hpp" |
            grep -o '\bMPIXQ_[A-Z][a-z][A-Za-z_]*[(,]' | tr -d '(,' | sort -u >"$tmp/names.cxx"
        same "functions in include/$header.h and include/$header.hpp" "$tmp/names.c" \
            "$tmp/names.cxx"
    done
}

# The functions under both spellings, and the constants that are numbers.
check_fortran()
{
    module=$top/src/fortran/mpix_queue.f90
    public_names | sort >"$tmp/names.header"
    sed -n 's/^ *interface \(MPIX*Q*_[A-Za-z_]*\)$/\1/p' "$module" | sort >"$tmp/names.module"
    same "functions in the header and $module" "$tmp/names.header" "$tmp/names.module"
    {
        sed -n 's/^    \(MPIXQ_[A-Z_]*\) = \([0-9]*\).*/\1 \2/p' "$top/include/mpix_queue.h"
        sed -n 's/^#define \(MPIXQ_[A-Z_]*\) (*\(-*[0-9][0-9]*\))*$/\1 \2/p' \
            "$top/include/mpix_queue.h"
    } | sort >"$tmp/constants.header"
    sed -n 's/^ *integer, parameter :: \(MPIXQ_[A-Z_]*\) = \([-0-9]*\)$/\1 \2/p' "$module" |
        sort >"$tmp/constants.module"
    same "constants in the header and $module" "$tmp/constants.header" "$tmp/constants.module"
}

# options_of FILE...: the long options in the sources of a benchmark.
options_of()
{
    sed -n -e 's/^ *{"\([a-z-]*\)", [a-z]*_argument,.*/\1/p' \
        -e 's/^ *{"\([a-z-]*\)", \("[^"]*"\|NULL\), ".*/\1/p' "$@" | sort
}

# The options of each benchmark and those that its page explains.
check_options()
{
    for program in allreduce cg exchange pingpong halo transpose; do
        options_of "$top/benchmarks/bench_options.c" "$top/benchmarks/$program.c" >"$tmp/options"
        sed -n 's/^\.It Fl -//p' "$top/man/mpixq_$program.1" |
            sed -e 's/ , Fl -/\n/g' | sed 's/ .*//' | sort >"$tmp/explained"
        same "options in benchmarks/$program.c and man/mpixq_$program.1" "$tmp/options" \
            "$tmp/explained"
    done
    for program in info selftest; do
        options_of "$top/tools/$program/$program.c" >"$tmp/options"
        sed -n 's/^\.It Fl -\([a-z-]*\).*/\1/p' "$top/man/mpixq_$program.1" | sort >"$tmp/explained"
        same "options in tools/$program/$program.c and man/mpixq_$program.1" "$tmp/options" \
            "$tmp/explained"
    done
}

# The share of a wait by which its end may be noticed late: MPIXQ_BACKOFF_SHARE, in words.
check_backoff()
{
    share=$(sed -n 's/^#define MPIXQ_BACKOFF_SHARE \([0-9]*\)$/\1/p' "$top/src/util/backoff.h")
    case $share in
    4) word="a quarter" ;;
    8) word="an eighth" ;;
    16) word="a sixteenth" ;;
    32) word="a thirty-second" ;;
    *) fail "src/util/backoff.h: no word for a share of '$share'" ;;
    esac
    for file in src/util/backoff.h doc/design.md man/mpix_queue.7; do
        # As running text: the words may stand in two lines.
        sed -e 's/^ \*//' "$top/$file" | tr -s ' \n' '  ' >"$tmp/text"
        for words in "sleeps between polls for $word of the time it has waited, at most" \
            "late by $word at most"; do
            grep -qF "$words" "$tmp/text" || fail "$file does not say '$words'"
        done
    done
}

# The manual's limits are those of the version that the header has.
check_version()
{
    version=$(awk '/^#define MPIXQ_VERSION_M(AJ|IN)OR / { print $3 }' \
        "$top/include/mpix_queue.h" | paste -s -d .)
    grep -q "^In version $version\$" "$top/man/mpix_queue.7" ||
        fail "man/mpix_queue.7 does not have the limits of version $version"
}

# Headings of the form "## N. TEXT" of each document.
check_sections()
{
    for file in "$top"/doc/*.md; do
        awk -v file="$file" '
            /^## [0-9]+\. / && $2 + 0 != ++n { printf "%s: %s: not %d\n", file, $0, n; wrong = 1 }
            END { exit wrong }' "$file" || failed=1
    done
}

# Each launcher of doc/launchers.md runs what doc/slingshot.md has a site do first, and binds.
check_launchers()
{
    for launcher in srun "flux run" mpiexec; do
        grep -q "^    $launcher " "$top/doc/launchers.md" ||
            fail "doc/launchers.md does not know $launcher"
        for program in mpixq_nic_check mpixq_info mpixq_selftest ./prog; do
            grep -q "^    *$launcher .*$program" "$top/doc/slingshot.md" ||
                fail "doc/slingshot.md does not say how $launcher runs $program"
        done
    done
    # What the lab notes say of an aim is what the table has.
    row=$(grep -m 2 '^| `Enqueue_startall`, 16, stream busy' "$top/doc/performance.md" | tail -n 1 |
        awk -F ' *[|] *' '{ print $3 }')
    grep -q "takes $(echo "$row" | sed 's/\(...\)$/,\1/')\$" "$top/doc/lab-notes.md" ||
        fail "doc/lab-notes.md says otherwise than $row instructions of a startall of 16"
}

# What is installed in bin, and what doc/install.md says of the package of Debian that has it.
check_tools()
{
    row=$(grep '^| `mpix-queue-tools` |' "$top/doc/install.md")
    awk '/^(dist_)?bin_(PROGRAMS|SCRIPTS) \+?= / { on = 1 } on { print } !/\\$/ { on = 0 }' \
        "$top/Makefile.am" | tr -s ' \\' '\n' | sed -n 's/.*\///p' >"$tmp/programs"
    [ "$(wc -l <"$tmp/programs")" -gt 5 ] || fail "Makefile.am: too few programs found"
    while read -r program; do
        case $row in
        *"\`$program\`"*) ;;
        *) fail "doc/install.md, mpix-queue-tools: there is no $program" ;;
        esac
    done <"$tmp/programs"
}

check_form()
{
    for page in "$top"/man/*.[137]; do
        grep -q '^\.so ' "$page" && continue
        mandoc -Tlint -W warning "$page" || fail "$page: mandoc warns"
    done
}

# Entries of the form ".It Ev NAME No = VALUES Pq default DEFAULT", then the help as a sentence.
env_of_manual()
{
    awk '
        function flush() {
            if (row != "") {
                sub(/\.$/, "", help)
                print row "^" tolower(substr(help, 1, 1)) substr(help, 2)
            }
            row = help = ""
        }
        /^\.It Ev MPIXQ_/ {
            flush()
            gsub(/\|/, ", ")
            match($0, / No = .* Pq default /)
            row = substr($0, 8, RSTART - 8) "^" substr($0, RSTART + 6, RLENGTH - 18) "^" \
                substr($0, RSTART + RLENGTH)
            next
        }
        /^\./ { flush(); next }
        row != "" { help = help (help == "" ? "" : " ") $0 }
    ' "$top/man/mpix_queue.7"
}

check_environment()
{
    bash "$top/tools/environment.sh" rows >"$tmp/env.source"
    env_of_manual >"$tmp/env.manual"
    same "environment in src/util/env_defs.h and man/mpix_queue.7" "$tmp/env.source" \
        "$tmp/env.manual"
    bash "$top/tools/environment.sh" >"$tmp/env.page"
    same "doc/environment.md and what tools/environment.sh makes of src/util/env_defs.h" \
        "$tmp/env.page" "$top/doc/environment.md"
}

# Which there are, what they guard, and in which order they are taken.
check_locks()
{
    sed -n 's/^MPIXQ_LOCK(\([A-Z_]*\), "\(.*\)")$/| \1 | \2 |/p' "$top/src/util/lock_defs.h" \
        >"$tmp/locks.source"
    [ "$(grep -c '^MPIXQ_LOCK' "$top/src/util/lock_defs.h")" = "$(wc -l <"$tmp/locks.source")" ] ||
        fail "src/util/lock_defs.h: a lock is not on a line of its own"
    sed -n '/^| Lock | Guards |$/,/^$/p' "$top/doc/design.md" | sed 1,2d | sed '$d' \
        >"$tmp/locks.design"
    same "locks in src/util/lock_defs.h and doc/design.md" "$tmp/locks.source" "$tmp/locks.design"
}

# Texts of C in their pieces, joined, one to a line: of the errors, and of what reports say.
texts_of_errors()
{
    printf '%s\n' '#define MPIXQ_ERROR(name, kind, text) ROW text' '#include "error_defs.h"' \
        >"$tmp/errors.c"
    # $CC may carry options.
    # shellcheck disable=SC2086
    ${CC:-cc} -E -P -I"$top/src/comm" "$tmp/errors.c" | tr '\n' ' ' |
        sed -e 's/" *"//g' -e 's/ROW "\([^"]*\)"/\1\n/g' | sed -e 's/^ *//' -e '/^$/d'
}

# What comes to a report's end from the functions of channels, which are called
# NAME_what_is_missing, and from the one that says why nothing is matched; without what is put
# together from pieces.
texts_of_reports()
{
    for file in "$top"/src/*/*.c; do
        awk '/^(static )?const char \*(.*what_is_missing|mpixq_watchdog_why_unmatched)\(/ { on = 1 }
            on { line = $0; sub(/^ +/, "", line); printf "%s ", line }
            /^}/ { if (on) print ""; on = 0 }' "$file"
    done | sed 's/" *"//g' | grep -o '"[^"%]*"' | tr -d '"' | sort -u |
        grep -vx nothing # of a channel whose starts complete at once
}

# What a warning says, in the pieces between what is put in. A row has to have all pieces of one
# that are two words and more.
texts_of_warnings()
{
    cat "$top"/src/*/*.c | tr -s ' \n' '  ' |
        grep -o 'mpixq_warn( *"[^"]*"\( *[A-Za-z0-9_]* *"[^"]*"\)*' |
        sed -e 's/^[^"]*"//; s/"$//; s/" *[A-Za-z0-9_]* *"//g' \
            -e 's/%[-.*0-9]*[lz]*[a-z]/\n/g; s/\n\n*/\t/g'
}

check_warnings()
{
    grep '^| ' "$top/doc/troubleshooting.md" | tr '`' ' ' | tr -s ' ' >"$tmp/rows"
    texts_of_warnings >"$tmp/warnings"
    [ "$(wc -l <"$tmp/warnings")" = "$(cat "$top"/src/*/*.c | grep -c 'mpixq_warn(')" ] ||
        fail "not all texts of warnings were found"
    awk -F '\t' 'NR == FNR { row[++rows] = $0; next }
        {
            n = split($0, piece)
            for (r = 1; r <= rows; r++) {
                for (i = 1; i <= n; i++) {
                    gsub(/^[ .:;,]+|[ .:;,]+$/, "", piece[i])
                    if (piece[i] ~ / / && index(row[r], piece[i]) == 0) break
                }
                if (i > n) next
            }
            print "doc/troubleshooting.md has no row of \047" $0 "\047"
            wrong = 1
        }
        END { exit wrong }' "$tmp/rows" "$tmp/warnings" || failed=1
}

check_troubles()
{
    tr -s ' \n' '  ' <"$top/doc/troubleshooting.md" >"$tmp/troubles"
    texts_of_errors >"$tmp/texts"
    [ "$(wc -l <"$tmp/texts")" -gt 60 ] || fail "src/comm/error_defs.h: too few texts found"
    texts_of_reports >"$tmp/reports"
    [ "$(wc -l <"$tmp/reports")" -gt 15 ] || fail "too few texts of reports found"
    while IFS= read -r text; do
        grep -qF -e "$text" "$tmp/troubles" || fail "doc/troubleshooting.md does not have '$text'"
    done <<END
$(cat "$tmp/texts" "$tmp/reports")
END
    grep -n '^| `.*| *|$' "$top/doc/troubleshooting.md" && fail "no cause and no cure"
    sed -n 's/^## //p; s/^### //p' "$top/doc/troubleshooting.md" >"$tmp/headings"
    while read -r kind number; do
        [ "$number" = 0 ] || grep -qx "$kind" "$tmp/headings" ||
            fail "doc/troubleshooting.md has no section $kind"
    done <"$tmp/kinds.header"
}

check_programs
check_pages
check_kinds
check_cxx
check_fortran
check_options
check_environment
check_locks
check_troubles
check_warnings
check_backoff
check_version
check_sections
check_launchers
check_tools
if command -v mandoc >/dev/null; then
    check_form
fi
if [ "$failed" != 0 ]; then
    exit 1
fi
if ! command -v mandoc >/dev/null; then
    echo "docs: mandoc is not installed: the form of the man pages was not checked"
    exit 77
fi
