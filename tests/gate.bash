# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# gate.bash - sourced by the gates, the tests that read the sources instead of running them
#
# A gate defines check_tree, which prints "file:line: what is wrong" for each fault in the folder
# that it is called in. It first shows on made-up trees what it finds and what it leaves alone, as a
# gate that finds nothing looks just like clean sources, then looks at the sources themselves:
#
#     finds "file:1: what is wrong" file <<<'content'
#     allows file <<<'content'
#     gate_end
set -u
: "${top_srcdir:?is set by make check}"
top_srcdir=$(cd "$top_srcdir" && pwd) # configure may have been called by a relative name
gate_dir=$(mktemp -d)
trap 'rm -rf "$gate_dir"' EXIT
gate_failed=0

# tree_files: every file of the tree that was written by hand. Of a checkout those that git knows or
# does not ignore; a tarball holds what autoreconf made, too, and perhaps what make made.
tree_files()
{
    if [ -e .git ] && git ls-files -co --exclude-standard 2>/dev/null; then
        return
    fi
    find . \( -path ./build -o -path ./_build -o -path ./_inst -o -path ./build-aux \
        -o -path ./third_party -o -path ./autom4te.cache -o -path ./tests/out \
        -o -path ./mpix-queue-\* -o -name .libs -o -name .deps \) -prune -o -type f -print |
        sed 's/^\.\///' |
        grep -vE -e '^(aclocal\.m4|config(ure|\.h|\.h\.in|\.log|\.status)|stamp-h1|libtool)$' \
            -e '^(Makefile(\.in)?|mpix_queue(_first)?\.pc|install\.stamp|m4/(lt.*|libtool)\.m4)$' \
            -e '^mpix_queueConfig(Version)?\.cmake$|^src/pmpi/first\.c$' \
            -e '^(src/stream|benchmarks|tests/device)/((kernels|shipped)(90)?\.(ptx|co)|code\.c)$' \
            -e '\.(o|lo|l?a|log|trs|tar\..*)$|~$|\.dirstamp$' |
        xargs -d '\n' -r awk 'FNR == 1 { if (!/^\177ELF/) { print FILENAME } nextfile }'
}

# c_files [FOLDER...]: the sources and headers in C among them, and those in C++.
c_files()
{
    local folders=${*:-include src tests benchmarks examples}
    tree_files | grep -E "^(${folders// /|})/.*\.([ch]|[ch]pp|inc)$" |
        grep -v '^tests/fortran/.*\.inc$' | while IFS= read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

# The file, and beside it empty files by the names in $gate_also.
made_up_tree()
{
    local file
    rm -rf "$gate_dir/tree"
    for file in "$1" ${gate_also-}; do
        mkdir -p "$gate_dir/tree/${file%/*}"
        : >"$gate_dir/tree/$file"
    done
    cat >"$gate_dir/tree/$1"
    gate_output=$(cd "$gate_dir/tree" && check_tree)
}

finds()
{
    made_up_tree "$2"
    grep -qxF -e "$1" <<<"$gate_output" && return
    printf 'failed: the gate does not say "%s", but "%s" of:\n' "$1" "$gate_output"
    cat "$gate_dir/tree/$2"
    gate_failed=1
}

allows()
{
    made_up_tree "$1"
    [ -n "$gate_output" ] || return 0
    echo "failed: the gate says \"$gate_output\" of:"
    cat "$gate_dir/tree/$1"
    gate_failed=1
}

# gate_end: the verdict, which ends the program.
gate_end()
{
    cd "$top_srcdir" || exit 99
    [ "$(c_files | wc -l)" -gt 50 ] || { echo "failed: where are the sources?"; gate_failed=1; }
    gate_output=$(check_tree)
    if [ -n "$gate_output" ]; then
        printf '%s\n' "$gate_output"
        gate_failed=1
    fi
    exit $gate_failed
}
