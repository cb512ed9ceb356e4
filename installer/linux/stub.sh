#!/bin/sh
# Potluck @VERSION@ for Linux: installs into your home, without root. Run it with --help for what it takes.
# Everything after the line __PAYLOAD__ is an archive of the files.
set -eu

VERSION=@VERSION@
ROOT=${POTLUCK_HOME:-$HOME/.local/lib/potluck}
SHARE=${XDG_DATA_HOME:-$HOME/.local/share}
BIN=$HOME/.local/bin
stage_only=no

say() { printf '%s\n' "$*"; }
fail() { printf 'potluck: %s\n' "$*" >&2; exit 1; }

usage() {
    say "usage: sh potluck-$VERSION.run [--root DIR] [--extract DIR]"
    say "  --root DIR     install there instead of $ROOT"
    say "  --stage DIR    lay the version beside the one that is used in DIR (for updates)"
    say "  --extract DIR  only unpack the files into DIR"
    say "Remove it later with: $ROOT/uninstall"
}

find_python() {
    for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3; do
        found=$(command -v "$name" 2>/dev/null) || continue
        "$found" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue
        "$found" -c 'import os, sys; print(os.path.realpath(sys.executable))'
        return
    done
    fail "no Python 3.11, 3.12 or 3.13 was found. Install one, or name it: PYTHON=/path/to/python3.12 sh $0"
}

unpack() { # folder
    mkdir -p "$1"
    line=$(awk '/^__PAYLOAD__$/ { print NR + 1; exit }' "$0")
    tail -n "+$line" "$0" | tar -xJf - -C "$1" || fail "the files cannot be unpacked; make room on the disk, or fetch the archive again"
}

link() { # target, place
    mkdir -p "$(dirname "$2")"
    ln -sfn "$1" "$2"
}

case ${1:-} in
    --help | -h) usage; exit 0 ;;
    --extract) [ $# -eq 2 ] || fail "--extract needs a folder"; unpack "$2"; exit 0 ;;
    --root) [ $# -eq 2 ] || fail "--root needs a folder"; ROOT=$2 ;;
    --stage) [ $# -eq 2 ] || fail "--stage needs a folder"; ROOT=$2; stage_only=yes ;;
    '') ;;
    *) usage >&2; exit 2 ;;
esac
case $ROOT in /*) ;; *) ROOT=$PWD/$ROOT ;; esac
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || fail "this file is for Linux on x86_64 processors"
[ "$(id -u)" -ne 0 ] || [ -n "${POTLUCK_AS_ROOT:-}" ] || fail "run it as yourself, not as root; it needs no rights"
command -v xz >/dev/null || fail "xz is missing; install xz-utils"
python=$(find_python)
if [ "$stage_only" = yes ] && [ "$(readlink "$ROOT/current" || true)" = "versions/$VERSION" ]; then
    fail "version $VERSION is in use; it is not replaced under a running daemon"
fi

# The new version is complete before anything leads to it; an interrupted installation leaves the old one in use.
target=$ROOT/versions/$VERSION
rm -rf "$target.new"
unpack "$target.new"
ln -sfn "$python" "$target.new/bin/python3"
printf 'home = %s\ninclude-system-site-packages = false\n' "$(dirname "$python")" >"$target.new/pyvenv.cfg"
for program in potluck potluckd potluck-app; do
    sed -i "1s|.*|#!$ROOT/current/bin/python3 -Es|" "$target.new/bin/$program"
done
rm -rf "$target"
mv "$target.new" "$target"
sed "s|@ROOT@|$ROOT|; s|@SHARE@|$SHARE|; s|@BIN@|$BIN|" "$target/uninstall.in" >"$ROOT/uninstall.new"
chmod 755 "$ROOT/uninstall.new"
mv "$ROOT/uninstall.new" "$ROOT/uninstall" # a full disk leaves the one before
[ "$stage_only" = no ] || exit 0
old=$(readlink "$ROOT/current" 2>/dev/null || true)
rm -f "$ROOT/trial.json" # whoever installs a version by hand has it stay
ln -sfn "versions/$VERSION" "$ROOT/current.new"
mv -T "$ROOT/current.new" "$ROOT/current"
if [ -n "$old" ] && [ "$old" != "versions/$VERSION" ]; then
    ln -sfn "$old" "$ROOT/previous"
fi

for program in potluck potluckd potluck-app; do
    link "$ROOT/current/bin/$program" "$BIN/$program"
done
(cd "$target/share" && find . -type f) | while read -r file; do
    link "$ROOT/current/share/$file" "$SHARE/$file"
done
rm -f "$SHARE/applications/potluck.desktop" # a link into a folder that changes is not followed by every desktop
sed "s|^Exec=.*|Exec=$BIN/potluck-app %u|" "$target/share/applications/potluck.desktop" >"$SHARE/applications/potluck.desktop"
update-desktop-database "$SHARE/applications" 2>/dev/null || true # so that potluck: links are opened

say "Potluck $VERSION is installed in $ROOT."
"$ROOT/current/bin/python3" -c 'from potluck_app.start import complaint; text = complaint(); text and print(text)' 2>/dev/null || true
case :$PATH: in *:$BIN:*) ;; *) say "Add $BIN to your PATH, or call $BIN/potluck." ;; esac
say "Next: potluck join, or start Potluck from the menu."
exit 0
__PAYLOAD__
