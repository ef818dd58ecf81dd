#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# html.sh links - the site of the documents and the man pages can be made; all its links lead
#                 somewhere, to the anchors too, and the check of that finds those that do not
# html.sh looks - in Chromium no page is wider than its window, on a telephone and on a desk, and
#                 all pictures are there; and the check of that finds those that are not
set -u
: "${top_srcdir:?is set by make check}"
tools="cmark-gfm mandoc python3"
[ "${1:?links or looks}" = links ] || tools="cmark-gfm mandoc chromium"
for tool in $tools; do
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

# frames: a page with all pages of the site in it, in windows of both widths, and a script that says
# which are wider, or lack a picture. Headless Chromium has no narrow windows of its own.
frames()
{
    local page width
    echo '<!DOCTYPE html><body><pre id="said"></pre>'
    (cd "$dir/site" && find . -name '*.html') | sort | while IFS= read -r page; do
        for width in 400 1280; do
            echo "<iframe name='${page#./}' src='site/${page#./}' width=$width height=600></iframe>"
        done
    done
    cat <<'END'
<script>
onload = function () {
    var said = "looked at " + document.querySelectorAll("iframe").length + "\n";
    document.querySelectorAll("iframe").forEach(function (frame) {
        var page = frame.contentDocument, wide = page.documentElement.scrollWidth;
        if (wide > frame.clientWidth) {
            said += frame.name + ": " + wide + " wide in a window of " + frame.width + "\n";
        }
        page.querySelectorAll("img").forEach(function (img) {
            if (!img.naturalWidth) {
                said += frame.name + ": no picture " + img.getAttribute("src") + "\n";
            }
        });
    });
    document.getElementById("said").textContent = said;
};
</script>
END
}

# looks: leaves in $said what Chromium says of the site; it has only to open the page.
looks()
{
    frames >"$dir/frames.html"
    # As root it has no sandbox; what it opens is ours. It asks nobody in the network.
    timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-background-networking \
        --disable-dev-shm-usage --allow-file-access-from-files --user-data-dir="$dir/profile" \
        --dump-dom "file://$dir/frames.html" >"$dir/dom" 2>"$dir/dom.log" </dev/null
    said=$(sed -n 's/.*<pre id="said">//; /^looked at/,/<\/pre>/{ s/<\/pre>.*//; /./p }' "$dir/dom")
    if ! grep -q '^looked at [1-9][0-9][0-9]' <<<"$said"; then
        tail -n 5 "$dir/dom.log"
        fail "Chromium has not looked at the pages: $said"
    fi
}

if [ "$1" = looks ]; then
    looks
    echo "$said"
    [ "$(wc -l <<<"$said")" = 1 ] || fail "these pages do not look well"
    # A long word, a picture that is not there, and a page without style: each is found.
    sed -i 's/<h1/<p>'"$(printf 'x%.0s' {1..90})"'<\/p>&/' "$dir/site/doc/abi.html"
    sed -i 's/"exchange.svg"/"none.svg"/' "$dir/site/doc/tutorial.html"
    sed -i 's/site.css/none.css/' "$dir/site/doc/gpu.html"
    looks
    for text in 'doc/abi.html: [0-9]* wide in a window of 400' \
        'doc/gpu.html: [0-9]* wide in a window of 400' \
        'doc/tutorial.html: no picture none.svg'; do
        grep -q "^$text\$" <<<"$said" || fail "not found: $text, but: $said"
    done
    exit $failed
fi

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
