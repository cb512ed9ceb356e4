#!/bin/sh
# Opens Potluck @VERSION@. The first time, and after an update, it makes the programs beside the user's settings: uv
# fetches a Python (whose hash uv knows) and the packages of requirements.txt (whose hashes are in there).
# PYTHON=/path/to/python3.12 takes that one instead.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
home="$HOME/Library/Application Support/potluck"
program=$home/program
new=$home/program.new
log=$home/program.log
uv=$here/MacOS/uv
export UV_PYTHON_INSTALL_DIR="$home/python" UV_CACHE_DIR="$home/program-cache" UV_NO_PROGRESS=1
export PYTORCH_ENABLE_MPS_FALLBACK=1

tell() { # text
    osascript -e 'on run argv' -e 'display notification (item 1 of argv) with title "Potluck"' -e 'end run' "$1" || true
}

fail() { # text
    osascript -e 'on run argv' -e 'display alert "Potluck" message (item 1 of argv)' -e 'end run' "$1" || true
    exit 1
}

make() {
    rm -rf "$new"
    if [ -n "${PYTHON:-}" ]; then
        "$uv" --no-config venv --relocatable --python "$PYTHON" "$new" || return 1
    else
        "$uv" --no-config venv --relocatable --managed-python --python @PYTHON@ "$new" || return 1
    fi
    "$uv" --no-config pip install --python "$new/bin/python" --no-deps --only-binary=:all: --require-hashes \
        -r "$here/Resources/requirements.txt" || return 1
    "$uv" --no-config pip install --python "$new/bin/python" --no-deps --no-index "$here/Resources/@WHEEL@" || return 1
    cp "$uv" "$new/bin/uv" || return 1
    echo "@BUILD@" >"$new/build"
}

# What runs goes on with the old programs until the new ones are complete; then the daemon is ended.
if [ "$(cat "$program/build" 2>/dev/null)" != "@BUILD@" ]; then
    mkdir -p "$home"
    chmod 700 "$home"
    tell "Fetching what Potluck needs, about 150 MB. It opens by itself."
    make >"$log" 2>&1 || fail "Potluck could not fetch what it needs. Is there a network? What went wrong is in $log"
    [ ! -x "$program/bin/potluck" ] || "$program/bin/potluck" stop >>"$log" 2>&1 || true
    rm -rf "$home/program.old"
    [ ! -e "$program" ] || mv "$program" "$home/program.old"
    mv "$new" "$program"
    rm -rf "$home/program.old" "$UV_CACHE_DIR"
fi
exec "$program/bin/potluck-app" "$@"
