#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# style.sh - what no compiler sees: licence lines, prints and exits outside of the log, waits by the
# time of day, code in comments, marks of unfinished work, width, tabs and blanks at the end of
# lines
# shellcheck source=gate.bash
. "$top_srcdir/tests/gate.bash"

# Licence and copyright lines at the top of every file, but in the text of the licence itself and in
# files of Debian that can have no comments. Patterns and the lists of patterns are nobody's.
check_licence()
{
    local bare='LICENSE|debian/(changelog|copyright|source/format)'
    tree_files | grep -vxE "$bare" | while IFS= read -r file; do
        if [ -s "$file" ]; then
            echo "$file"
        elif [ -f "$file" ]; then
            echo "$file:1: no licence line" >&3
        fi
    done 3>&1 | LC_ALL=C xargs -d '\n' -r awk '
        function tell() {
            if (name != "" && !licence) {
                print name ":1: no licence line"
            }
            if (name != "" && !copyright && name !~ /\.rle$|^\.clang-format$|\.gitignore$/) {
                print name ":1: no copyright line"
            }
        }
        FNR == 1 { tell(); name = FILENAME; licence = copyright = 0 }
        /SPDX-License-Identifier: [A-Z]/ { licence = 1 }
        /Copyright \(c\) [0-9]* the mpix-queue authors/ { copyright = 1 }
        FNR == 5 { nextfile }
        END { tell() }'
}

# The library prints by its log, and neither ends nor kills the process: but a build that checks the
# order of locks, which users do not have.
check_prints()
{
    c_files src | grep -vx 'src/util/log\.c' | xargs -d '\n' -r awk '
        { text = $0 }
        # Not in comments, and not in strings.
        text ~ /^ *(\/\*|\*)/ { next }
        { gsub(/"([^"\\]|\\.)*"/, "\"\"", text) }
        text ~ /(^|[^A-Za-z0-9_])(v?[fd]?printf|f?puts|f?putc|putchar|perror|syslog) *\(/ ||
        text ~ /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/ {
            print FILENAME ":" FNR ": printed outside of the log"
        }
        FILENAME != "src/util/lock_check.c" &&
        text ~ /(^|[^A-Za-z0-9_])(_?exit|quick_exit|abort|raise|kill|P?MPI_Abort) *\(/ {
            print FILENAME ":" FNR ": ends the process"
        }'
}

# Somebody may set the time of day. Conditions have their clock from src/util/lock.c.
check_clocks()
{
    c_files src | xargs -d '\n' -r grep -HnE \
        '\bCLOCK_REALTIME\b|\b(sem_timedwait|pthread_mutex_timedlock|gettimeofday)\b' |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: waits by the time of day/'
}

# Lines of comments that read as statements. The public header has examples in its comments.
check_comments()
{
    c_files | grep -v '^include/' | xargs -d '\n' -r awk '
        function look(text) {
            sub(/^[ \t*]+/, "", text)
            sub(/[ \t]+$/, "", text)
            if (text ~ /^[A-Za-z_][A-Za-z0-9_>.*& \[\]-]*(\(.*\)|[-+|&*\/]?= .*|\+\+|--);$/ ||
                text ~ /^(if|for|while|switch) \(.*\) *\{$/ ||
                text ~ /^#(if|ifdef|include|define) / ||
                text ~ /^((return|goto) .*|return|break|continue);$/ || text ~ /^[{}];?$/) {
                print FILENAME ":" FNR ": code in a comment"
            }
        }
        FNR == 1 { inside = 0 }
        {
            line = $0
            gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
            if (line ~ /^ *# *if 0/) {
                print FILENAME ":" FNR ": code in a comment"
            }
            if (!inside && line ~ /(^|[^:])\/\//) {
                print FILENAME ":" FNR ": a comment of C++"
            }
            # Comments that end in this line; then one that goes on.
            while (inside || line ~ /\/\*/) {
                if (!inside) {
                    sub(/^.*\/\*/, "", line)
                }
                inside = line !~ /\*\//
                text = line
                sub(/\*\/.*/, "", text)
                look(text)
                if (inside) {
                    break
                }
                sub(/^[^*]*(\*[^\/][^*]*)*\*\//, "", line)
            }
        }'
}

check_lines()
{
    local awk_lines='
        # A character may take several bytes.
        { text = $0; gsub(/[\200-\277]/, "", text) }
        length(text) > 100 { print FILENAME ":" FNR ": wider than 100 columns" }
        /[ \t]$/ { print FILENAME ":" FNR ": blanks at the end" }'
    # Scripts may hold a tab where they speak of tabs.
    {
        c_files
        tree_files | grep -E '^(run|configure\.ac|tests/run_tests)$|\.(m4|sh|bash)$'
    } | grep -vx tests/driver.sh | LC_ALL=C xargs -d '\n' -r awk "$awk_lines"
    c_files | xargs -d '\n' -r grep -nHP '\t' | sed -E 's/^([^:]*:[0-9]*):.*/\1: a tab/'
    tree_files | grep -vx tests/style.sh | xargs -d '\n' -r grep -nHwE 'TODO|FIXME|XXX|HACK' -- |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: a mark of unfinished work/'
}

check_tree()
{
    check_licence
    check_prints
    check_clocks
    check_comments
    check_lines
}

head='/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */'
# A file with the lines after the head, which are 3 and on.
faulty()
{
    local message=$1 file=$2
    finds "$file:3: $message" "$file" < <(printf '%s\n%s\n' "$head" "$3")
}
sound()
{
    allows "$1" < <(printf '%s\n%s\n' "$head" "$2")
}

finds "src/core/x.c:1: no licence line" src/core/x.c <<<'int x;'
finds "tests/x.c:1: no copyright line" tests/x.c <<<'/* SPDX-License-Identifier: BSD-3-Clause */'
finds "m4/x.m4:1: no licence line" m4/x.m4 <<<'dnl'
faulty "printed outside of the log" src/core/x.c '    printf("x");'
faulty "printed outside of the log" src/core/x.c '    (void)fputs("x", file);'
faulty "printed outside of the log" src/core/x.c '    print_to(stderr, "x");'
faulty "ends the process" src/core/x.c '    abort();'
faulty "ends the process" src/core/x.c '    PMPI_Abort(MPI_COMM_WORLD, 1);'
faulty "waits by the time of day" src/core/x.c '    (void)clock_gettime(CLOCK_REALTIME, &t);'
faulty "waits by the time of day" src/core/x.c '    return sem_timedwait(&bell, &until) == 0;'
sound src/core/x.c '    (void)clock_gettime(CLOCK_MONOTONIC, &t);'
faulty "code in a comment" src/core/x.c '/* x = y; */'
faulty "code in a comment" tests/x.c '/* mpixq_free(x->y[0]); */'
faulty "code in a comment" benchmarks/x.c '/* if (x) { */'
faulty "code in a comment" src/core/x.c '/* why */ /* return x; */'
faulty "code in a comment" src/core/x.c '#if 0'
faulty "a comment of C++" src/core/x.c 'int x; // y'
faulty "wider than 100 columns" src/core/x.c "$(printf '%101s' x)"
faulty "blanks at the end" src/core/x.c 'int x; '
faulty "a tab" src/core/x.c $'\tint x;'
for mark in TODO FIXME XXX; do
    faulty "a mark of unfinished work" src/core/x.c "/* $mark: later */"
    faulty "a mark of unfinished work" doc/x.md "$mark later"
done
sound src/core/x.c "    mpixq_log(\"exit(1) and printf(%d)\");"
sound src/core/x.c '    snprintf(line, sizeof line, "http://x");'
sound src/core/x.c '/* An empty status, which an inactive request has; then nothing (or so). */'
sound src/util/log.c '    (void)fprintf(stderr, "x");'
sound tests/x.c '    printf("%d", x);'
sound src/core/x.c "$(printf '/* %95s */' ÄÖÜ)"
gate_end
