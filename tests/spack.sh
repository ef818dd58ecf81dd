#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# spack.sh - the recipe of Spack parses, is found in both layouts of a repository, and its variants
# are configure's options, one to one. Spack itself, which wants a network, is not run: what the
# recipe takes from it is stood in for by spack_recipe.py.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

if ! command -v python3 >/dev/null; then
    echo "skip: there is no python3"
    exit 77
fi
recipe=packages/mpix-queue/package.py
newer=spack_repo/mpix_queue/packages/mpix_queue/package.py
export PYTHONDONTWRITEBYTECODE=1
for path in "$recipe" "$newer"; do
    python3 "$top_srcdir/tests/spack_recipe.py" "$top_srcdir/spack/$path" >"facts.${path%%/*}" ||
        fail "$path cannot be run"
done
facts=facts.packages
cmp "$facts" facts.spack_repo || fail "the two layouts lead to different recipes"
# namespace_and_api FOLDER
namespace_and_api()
{
    sed -n 's/^  \(namespace\|api\): //p' "$top_srcdir/spack/$1/repo.yaml" | tr '\n' ' '
}
[ "$(namespace_and_api .)" = 'mpix_queue v1.0 ' ] || fail "repo.yaml: $(namespace_and_api .)"
[ "$(namespace_and_api spack_repo/mpix_queue)" = 'mpix_queue v2.0 ' ] ||
    fail "spack_repo/mpix_queue/repo.yaml: $(namespace_and_api spack_repo/mpix_queue)"

# There is neither a release nor a place where one would be.
grep -qx "version main branch=main" $facts || fail "no version main of the branch of that name"
[ "$(grep -c '^version ' $facts)" = 1 ] || fail "versions: $(grep '^version ' $facts)"
[ "$(sed -n 's/^git file:\/\///p' $facts)" -ef "$top_srcdir" ] ||
    fail "the recipe builds $(grep '^git' $facts), not $top_srcdir"

# What configure knows, and what may be there or not.
"$top_srcdir/configure" --help >help || fail "configure --help"
optional=$(sed -n 's/^ *--with-\([a-z]*\)=yes|no|auto|DIR.*/\1/p' help)
[ "$(wc -w <<<"$optional")" -ge 4 ] || fail "found too few options: $optional"

# Every choice settles each of them, and gives nothing that configure does not know.
while IFS=: read -r choice arguments; do
    for argument in $arguments; do
        name=${argument%%=*}
        name=${name#--with-} name=${name#--without-}
        case $argument in
        CC=*) ;;
        --with*) [[ " ${optional//$'\n'/ } " = *" $name "* ]] ||
            fail "$choice: configure knows no $argument" ;;
        *) grep -q -- "^  ${argument%%=*}\b" help || fail "$choice: configure knows no $argument" ;;
        esac
    done
    for option in $optional; do
        case $option in
        hip) variant=rocm ;;
        cmocka) variant=tests ;;
        nvtx) variant=cuda ;;
        *) variant=$option ;;
        esac
        expected=--without-$option
        [[ "${choice#args }+" != *"+$variant+"* ]] || expected=--with-$option=/prefix/$option
        expected=${expected/with-fortran=*/with-fortran}
        expected=${expected/prefix\/nvtx/prefix/cuda}
        [[ "$arguments " = *" $expected "* ]] ||
            fail "${choice#args } gives no $expected, but $arguments"
        [ "$variant" = tests ] || grep -q "^variant $variant " $facts ||
            fail "configure's --with-$option has no variant $variant"
    done
done < <(grep '^args ' $facts)
# Two options have no variant of their own.
[ "$(grep -c '^variant ' $facts)" -eq $(($(wc -w <<<"$optional") - 2)) ] ||
    fail "variants that are no option of configure: $(grep '^variant ' $facts)"

# configure itself finds no fault with the arguments of the plainest choice.
read -r -a arguments < <(sed -n 's/^args : CC=[^ ]* //p' $facts)
"$top_srcdir/configure" "CC=$CC" --enable-option-checking=fatal "${arguments[@]}" >log 2>&1 ||
    { tail -n 20 log; fail "configure ${arguments[*]}"; }
exit $failed
