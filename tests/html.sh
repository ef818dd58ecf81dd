#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# html.sh - the site of the documents and the man pages can be made; all its links lead somewhere,
# to the anchors too, and the check of that finds those that do not
set -u
: "${top_srcdir:?is set by make check}"
for tool in cmark-gfm mandoc python3; do
    command -v $tool >/dev/null || { echo "skip: there is no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# links: looks at the site, and leaves in $said what it finds.
links()
{
    said=$(python3 "$top_srcdir/tests/html_links.py" "$dir/site")
}

bash "$top_srcdir/tools/html.sh" "$dir/site" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
cat "$dir/log" # warnings of mandoc
links || fail "links: $said"
echo "$said" | tail -n 1
for page in doc/tutorial doc/troubleshooting man/mpix_queue.7 man/MPIX_Match.3; do
    [ -s "$dir/site/$page.html" ] || fail "there is no $page.html"
done
# What a page must have: a heading with its anchor, a table, code, a link to a man page.
page=$dir/site/doc/troubleshooting.html
for text in 'id="mpixq_err_interpose"' '<table>' '<code>' 'href="../man/MPIX_Error_kind.3.html"' \
    'name="viewport"'; do
    grep -qF "$text" "$page" || fail "doc/troubleshooting.html has no $text"
done

# breaks SAYING PAGE EXPRESSION: with the page changed so, that is found, and nothing else.
breaks()
{
    cp "$dir/site/$2" "$dir/kept"
    sed -i "$3" "$dir/site/$2"
    if links; then
        fail "not found: $1"
    elif ! grep -qF "$1" <<<"$said" || ! grep -q ', 1 wrong$' <<<"$said"; then
        fail "'$1' was expected, and found: $said"
    fi
    cp "$dir/kept" "$dir/site/$2"
}

breaks 'index.html: doc/none.html: no such file' index.html \
    '0,/href="doc\/tutorial.html"/! s/href="doc\/tutorial.html"/href="doc\/none.html"/'
breaks 'doc/tutorial.html: none.svg: no such file' doc/tutorial.html 's/"exchange.svg"/"none.svg"/'
breaks 'doc/porting.html: performance.html#none: no such anchor' doc/porting.html \
    's/performance.html#thread-level/performance.html#none/'
breaks 'man/MPIX_Match.3.html: mpix_queue.7.html#MATCHIN: no such anchor' man/MPIX_Match.3.html \
    '0,/queue.7.html#MATCHING/s//queue.7.html#MATCHIN/'
breaks 'index.html: ../out.html: no such file' index.html 's/"doc\/exchange.svg"/"..\/out.html"/'
echo '<html></html>' >"$dir/site/alone.html"
breaks 'alone.html: no link leads to it' alone.html ''
exit $failed
