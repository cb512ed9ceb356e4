#!/bin/sh
# Removes Potluck from this account. Asks what to do with models, and with settings, identity and ledger; --purge asks
# nothing and removes all of it, --keep asks nothing and keeps both.
set -u

home="$HOME/Library/Application Support/potluck"
cache=$HOME/Library/Caches/potluck
agents=$HOME/Library/LaunchAgents
application=$(cd "$(dirname "$0")/../.." && pwd)

asks() { # question
    case $mode in --purge) return 0 ;; --keep) return 1 ;; esac
    printf '%s [y/N] ' "$1"
    read -r answer || answer=n
    case $answer in y | Y | yes) return 0 ;; *) return 1 ;; esac
}

mode=${1:-}
case $mode in '' | --purge | --keep) ;; *) echo "usage: uninstall [--purge | --keep]" >&2; exit 2 ;; esac

for label in @LABELS@; do
    launchctl bootout "gui/$(id -u)/$label" >/dev/null 2>&1
    rm -f "$agents/$label.plist"
done
[ ! -x "$home/program/bin/potluck" ] || "$home/program/bin/potluck" stop >/dev/null 2>&1
asks "Remove downloaded models in $cache?" && rm -rf "$cache"
if [ -L "$home/engines" ]; then # a folder of the user's choice
    rm -rf "$(readlink "$home/engines")"
fi
if asks "Remove settings, identity and ledger in $home?"; then
    rm -rf "$home"
else
    for made in program program.new program.old program.log program-cache python engines run; do
        rm -rf "${home:?}/$made"
    done
fi
case $application in */Potluck.app) rm -rf "$application" ;; esac
echo "Potluck is removed."
