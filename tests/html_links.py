#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
"""html_links.py FOLDER - every relative link of the pages in it leads to a file in it, and every
fragment to an anchor of that page; each page can be reached from index.html. Prints what does not,
and how many links there are."""
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.twice = [], set(), set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value)
            if name == "id":
                (self.twice if value in self.anchors else self.anchors).add(value)


def pages_of(folder):
    """Path in the folder -> page."""
    pages = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(where, name)
                pages[os.path.relpath(path, folder)] = Page(path)
    return pages


def check_link(folder, pages, path, link):
    """What is wrong with it, or None; and the file that it leads to."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return None, None
    target = path
    if parts.path:
        target = os.path.normpath(
            os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
    if target.startswith("..") or not os.path.isfile(os.path.join(folder, target)):
        return "no such file", target
    fragment = urllib.parse.unquote(parts.fragment)
    if fragment and target in pages and fragment not in pages[target].anchors:
        return "no such anchor", target
    return None, target


def main():
    folder = sys.argv[1]
    pages = pages_of(folder)
    wrong, count, leads = 0, 0, {}
    for path, page in sorted(pages.items()):
        leads[path] = set()
        for anchor in sorted(page.twice):
            print(f"{path}: #{anchor}: two anchors of this name")
            wrong += 1
        for link in page.links:
            what, target = check_link(folder, pages, path, link)
            count += 1
            leads[path].add(target)
            if what is not None:
                print(f"{path}: {link}: {what}")
                wrong += 1
    reached, more = set(), ["index.html"]
    while more:
        path = more.pop()
        if path not in reached:
            reached.add(path)
            more.extend(leads.get(path, ()))
    for path in sorted(set(pages) - reached):
        print(f"{path}: no link leads to it")
        wrong += 1
    print(f"{len(pages)} pages, {count} links, {wrong} wrong")
    return 1 if wrong or not pages else 0


sys.exit(main())
