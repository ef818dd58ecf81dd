#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# html.sh FOLDER - makes a static site of the documents and the man pages; index.html is the README
#
# Needs cmark-gfm and mandoc. The folder has the files where the source tree has them, so relative
# links stay as they are: to NAME.md they lead to NAME.html, to man/NAME.N to man/NAME.N.html, and
# what else a document links is copied.
set -eu
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -eq 1 ] || { echo "usage: html.sh FOLDER" >&2; exit 1; }
for tool in cmark-gfm mandoc; do
    command -v "$tool" >/dev/null || { echo "html: there is no $tool" >&2; exit 1; }
done
mkdir -p "$1/man"
out=$(cd "$1" && pwd)
cd "$top"
documents=(README.md NEWS.md CONTRIBUTING.md doc/*.md tests/*_double/README.md)

# What every page leads to.
menu="index.html:Start doc/tutorial.html:Tutorial doc/install.html:Install doc/gpu.html:GPUs
doc/languages.html:Languages doc/launchers.html:Launchers
doc/troubleshooting.html:Troubleshooting doc/environment.html:Environment
doc/porting.html:Porting doc/performance.html:Performance doc/scale.html:At_scale doc/abi.html:ABI
man/index.html:Manual doc/design.html:Design doc/slingshot.html:Slingshot
doc/cxi.html:Channel_cxi doc/lab-notes.html:Lab_notes NEWS.html:News"

# page PATH TITLE: a page with what is read.
page()
{
    local up=${1//[^\/]/} entry name
    up=${up//\//../}
    {
        printf '%s\n' '<!DOCTYPE html>' '<html lang="en">' '<head>' '<meta charset="utf-8">' \
            '<meta name="viewport" content="width=device-width, initial-scale=1">' \
            "<title>$2</title>" "<link rel=\"stylesheet\" href=\"${up}doc/site.css\">" '</head>' \
            '<body>' '<nav>'
        for entry in $menu; do
            name=${entry#*:}
            if [ "${entry%%:*}" = "$1" ]; then
                printf '<a class="here" href="%s%s">%s</a>\n' "$up" "${entry%%:*}" "${name//_/ }"
            else
                printf '<a href="%s%s">%s</a>\n' "$up" "${entry%%:*}" "${name//_/ }"
            fi
        done
        printf '%s\n' '</nav>' '<main>'
        cat
        printf '%s\n' '</main>' '</body>' '</html>'
    } >"$out/$1"
}

# Headings get the anchors that they have on GitHub, tables and pictures scroll by themselves, words
# of code are not broken at a hyphen unless they are long, and links lead to pages. In bytes:
# letters beyond ASCII are left out of anchors.
finish()
{
    LC_ALL=C awk '
        function anchor(text) {
            gsub(/<[^>]*>/, "", text)
            gsub(/&[a-z]+;/, "", text)
            text = tolower(text)
            gsub(/[^a-z0-9 _-]/, "", text)
            gsub(/ /, "-", text)
            return n[text]++ ? text "-" (n[text] - 1) : text
        }
        function linked(line,   done, link) {
            while (match(line, /(href|src)="[^"]*"/)) {
                link = substr(line, RSTART, RLENGTH)
                if (link !~ /:\/\//) {
                    if (link ~ /README\.md/ && link !~ /_double\//) {
                        sub(/README\.md/, "index.html", link)
                    }
                    sub(/\.md"/, ".html\"", link)
                    sub(/\.md#/, ".html#", link)
                    if (link ~ /man\/[A-Za-z_]+\.[137]["#]/) {
                        sub(/\.[137]/, "&.html", link)
                    }
                }
                done = done substr(line, 1, RSTART - 1) link
                line = substr(line, RSTART + RLENGTH)
            }
            return done line
        }
        function whole(line,   done, code, n, word, i) {
            while (match(line, /<code>[^<]*<\/code>/)) {
                n = split(substr(line, RSTART + 6, RLENGTH - 13), word, " ")
                code = ""
                for (i = 1; i <= n; i++) {
                    if (length(word[i]) <= (word[i] ~ /-/ ? 24 : 16)) {
                        word[i] = "<span class=\"word\">" word[i] "</span>"
                    }
                    code = code (i > 1 ? " " : "") word[i]
                }
                done = done substr(line, 1, RSTART - 1) "<code>" code "</code>"
                line = substr(line, RSTART + RLENGTH)
            }
            return done line
        }
        /^<h[1-6]>/ {
            text = $0
            sub(/^<h[1-6]>/, "", text)
            sub(/<\/h[1-6]>$/, "", text)
            id = anchor(text)
            $0 = substr($0, 1, 3) " id=\"" id "\">" text \
                " <a class=\"anchor\" href=\"#" id "\">#</a>" substr($0, length($0) - 4)
        }
        { gsub(/<table>/, "<div class=\"scroll\"><table>"); gsub(/<\/table>/, "</table></div>") }
        { gsub(/<img [^>]*>/, "<span class=\"picture\">&</span>") }
        /<pre/ { pre = 1 }
        !pre { $0 = whole($0) }
        /<\/pre>/ { pre = 0 }
        { print linked($0) }'
}

# copy_linked DOCUMENT: the files that it links and that are no pages.
copy_linked()
{
    local folder=${1%/*} link
    [ "$folder" != "$1" ] || folder=.
    grep -o '](\([^)# ]*\)' "$1" | sed 's/^](//' |
        grep -v -e '://' -e '\.md$' -e '\.[137]$' -e '^$' | sort -u | while IFS= read -r link; do
        [ -f "$folder/$link" ] || continue # tests/html.sh finds it
        mkdir -p "$out/$folder/$(dirname "$link")"
        cp "$folder/$link" "$out/$folder/$link"
    done
}

for file in "${documents[@]}"; do
    path=${file%.md}.html
    [ "$file" != README.md ] || path=index.html
    mkdir -p "$(dirname "$out/$path")"
    title=$(sed -n 's/^# //p' "$file" | head -n 1)
    cmark-gfm -e table "$file" | finish | page "$path" "$title"
    copy_linked "$file"
done
mkdir -p "$out/doc"
cp doc/site.css "$out/doc/site.css"

# Those of names that programs use; the exported names have the same pages.
pages=()
for file in man/*.[137]; do
    case $file in
    man/MPIXQ_Get_version.3) ;;
    man/MPIXQ_*) continue ;;
    esac
    pages+=("$file")
    : >"$out/$file.html" # by which mandoc tells ours from those of the system
done

# finish_man: tables scroll by themselves, and a section that the page does not have is one of
# mpix_queue(7), as in "see LINKING in mpix_queue(7)".
finish_man()
{
    awk '
        /<table class="Bl-column/ { sub(/<table/, "<div class=\"scroll\">&"); on = 1 }
        on && sub(/<\/table>/, "&</div>") { on = 0 }
        { line[NR] = $0 }
        match($0, /<h[12] class="S[hs]" id="[^"]*"/) {
            text = substr($0, RSTART, RLENGTH - 1)
            sub(/.*"/, "", text)
            has[text] = 1
        }
        END {
            for (i = 1; i <= NR; i++) {
                if (match(line[i], /class="Sx" href="#[^"]*"/)) {
                    text = substr(line[i], RSTART, RLENGTH - 1)
                    sub(/.*#/, "", text)
                    if (!(text in has)) {
                        sub(/class="Sx" href="/, "&mpix_queue.7.html", line[i])
                    }
                }
                print line[i]
            }
        }'
}

for file in "${pages[@]}"; do
    target=$(sed -n 's/^\.so man[137]\///p' "$file")
    (cd "$out/man" && mandoc -T html \
        -O 'fragment,man=%N.%S.html;https://manpages.debian.org/%N.%S' \
        "$top/man/${target:-${file#man/}}") | finish_man | page "$file.html" "${file#man/}"
done

# A list of them, with what each is for.
{
    echo '<h1>Manual pages</h1>'
    for section in '7 Overview' '3 Functions' '1 Programs'; do
        printf '<h2 id="section-%s">%s</h2>\n<dl class="pages">\n' "${section%% *}" "${section#* }"
        for file in "${pages[@]}"; do
            name=${file#man/}
            [ "${name##*.}" = "${section%% *}" ] || continue
            target=$(sed -n 's/^\.so man[137]\///p' "$file")
            about=$(sed -n 's/^\.Nd //p' "man/${target:-$name}")
            printf '<dt><a href="%s.html">%s</a></dt><dd>%s</dd>\n' "$name" \
                "${name%.*}(${name##*.})" "$about"
        done
        echo '</dl>'
    done
} | page man/index.html "Manual pages"
echo "html: the site is $out/index.html"
