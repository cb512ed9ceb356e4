"""The daemon's own sentences in the user's language: it speaks English, and its sentences follow a few templates.

A sentence of another form is shown as the daemon says it.
"""

from __future__ import annotations

import functools
import re

from PySide6.QtCore import QLocale

from potluck_app.words import layers, numbers
from potluck_app.words.daemon_failures import FAILURES
from potluck_app.words.daemon_models import MODELS
from potluck_app.words.daemon_probes import PROBES
from potluck_app.words.daemon_refusals import REFUSALS
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_STATES = (
    QT_TRANSLATE_NOOP("", "Shutting down"),
    QT_TRANSLATE_NOOP("", "Finishing the open sessions, then shutting down"),
    QT_TRANSLATE_NOOP("", "Paused by you until the game ends"),
    QT_TRANSLATE_NOOP("", "Paused by you"),
    QT_TRANSLATE_NOOP("", "No swarm joined yet"),
    QT_TRANSLATE_NOOP("", "{name} removed this computer from the swarm {what}"),
    QT_TRANSLATE_NOOP("", "Waiting until a member is online who lets this computer in"),
    QT_TRANSLATE_NOOP("", "Waiting for you to confirm this computer on your other one"),
    QT_TRANSLATE_NOOP("", "Serving is switched off in the settings"),
    QT_TRANSLATE_NOOP("", "The engine is not set up yet"),
    QT_TRANSLATE_NOOP("", "The computer is going to sleep"),
    QT_TRANSLATE_NOOP("", "Starting up"),
    QT_TRANSLATE_NOOP("", "Checking whether you need the computer"),
    QT_TRANSLATE_NOOP("", "Starting the engine"),
    QT_TRANSLATE_NOOP("", "Loading blocks"),
    QT_TRANSLATE_NOOP("", "Can't join the swarm yet: {why}"),
    QT_TRANSLATE_NOOP("", "Not serving: {file} changed on disk"),
    QT_TRANSLATE_NOOP("", "Not serving: somebody stopped the engine's process"),
    QT_TRANSLATE_NOOP("", "Potluck keeps failing at {what}. To see more: potluck logs"),
    QT_TRANSLATE_NOOP("", "{file} changed on disk. You still serve what was loaded from it."),
    QT_TRANSLATE_NOOP("", "Potluck is slow here: {why}. To mend it: {advice}"),
    QT_TRANSLATE_NOOP("", "Serving {what} slowly, while you use the computer"),
    QT_TRANSLATE_NOOP("", "Serving {what} slowly, because {who} is hot"),
    QT_TRANSLATE_NOOP("", "Serving {what} slowly, to stay below the power cap of {who}"),
    QT_TRANSLATE_NOOP("", "This computer returned wrong results: found by {number} people"),
    QT_TRANSLATE_NOOP("", "This computer returned wrong results: found by {name}"),
    QT_TRANSLATE_NOOP("", "{who}'s {what} returned wrong results: found by {number} people"),
    QT_TRANSLATE_NOOP("", "{who}'s {what} returned wrong results: found by {name}"),
    QT_TRANSLATE_NOOP("", "Serving {what}"),
    QT_TRANSLATE_NOOP("", "blocks {blocks} of {model} while loading {target}"),
    QT_TRANSLATE_NOOP("", "blocks {blocks} of {model} before moving to {target}"),
    QT_TRANSLATE_NOOP("", "blocks {blocks} of {model}"),
)
_ASIDE = (
    QT_TRANSLATE_NOOP("", "Giving way to {who}, which fills the screen"),
    QT_TRANSLATE_NOOP("", "Giving way to {who}, which keeps the GPU busy"),
    QT_TRANSLATE_NOOP("", "Giving way to {who}, who sits at the computer"),
    QT_TRANSLATE_NOOP("", "Giving way to {who}"),
    QT_TRANSLATE_NOOP("", "Giving way: other programs need the memory of {who}"),
    QT_TRANSLATE_NOOP("", "Giving way: other programs need the memory"),
    QT_TRANSLATE_NOOP("", "There is enough memory again; waiting a moment"),
    QT_TRANSLATE_NOOP("", "You are back at the computer; waiting a moment"),
    QT_TRANSLATE_NOOP("", "Plugged in again; waiting a moment"),
    QT_TRANSLATE_NOOP("", "The network is no longer metered; waiting a moment"),
    QT_TRANSLATE_NOOP("", "It has cooled down; waiting a moment"),
    QT_TRANSLATE_NOOP("", "{who} has ended; waiting a moment"),
    QT_TRANSLATE_NOOP("", "Not serving on battery"),
    QT_TRANSLATE_NOOP("", "Not serving over {who}, which is metered"),
    QT_TRANSLATE_NOOP("", "Too hot: {who}"),
    QT_TRANSLATE_NOOP("", "Can't tell whether you're away, so not serving"),
    QT_TRANSLATE_NOOP("", "Not serving while you use the computer"),
    QT_TRANSLATE_NOOP("", "Outside your serving hours"),
    QT_TRANSLATE_NOOP("", "Today's upload limit is reached: {used} of {all} MiB"),
    QT_TRANSLATE_NOOP("", "Today's download limit is reached: {used} of {all} MiB"),
    QT_TRANSLATE_NOOP("", "This month's upload limit is reached: {used} of {all} MiB"),
    QT_TRANSLATE_NOOP("", "This month's download limit is reached: {used} of {all} MiB"),
    QT_TRANSLATE_NOOP("", "Today's electricity budget is used up: {used} of {all}"),
    QT_TRANSLATE_NOOP("", "The disk is nearly full: {free} MiB are free, {least} must stay free"),
    QT_TRANSLATE_NOOP("", "Downloaded checkpoints take {used} of {all} MiB"),
)
_ENDS = (
    QT_TRANSLATE_NOOP("", "when Potluck is started again"),
    QT_TRANSLATE_NOOP("", "when the game ends, or when you resume"),
    QT_TRANSLATE_NOOP("", "when the time is over, or when you resume"),
    QT_TRANSLATE_NOOP("", "in a moment, or when you resume"),
    QT_TRANSLATE_NOOP("", "with the next try, or when you resume"),
    QT_TRANSLATE_NOOP("", "when you resume"),
    QT_TRANSLATE_NOOP("", "when you join or create a swarm"),
    QT_TRANSLATE_NOOP("", "when you leave it and join with a new invite"),
    QT_TRANSLATE_NOOP("", "when you switch serve.enabled on"),
    QT_TRANSLATE_NOOP("", "when you set it up: in the app, or with `potluck setup`"),
    QT_TRANSLATE_NOOP("", "when the right file is back"),
    QT_TRANSLATE_NOOP("", "when the computer wakes up"),
    QT_TRANSLATE_NOOP("", "when the computer is plugged in"),
    QT_TRANSLATE_NOOP("", "when the network is not metered"),
    QT_TRANSLATE_NOOP("", "when it has cooled down"),
    QT_TRANSLATE_NOOP("", "when it draws less power"),
    QT_TRANSLATE_NOOP("", "when keyboard and mouse have rested for a while"),
    QT_TRANSLATE_NOOP("", "when you switch when.only_when_idle off"),
    QT_TRANSLATE_NOOP("", "when your next serving hours begin"),
    QT_TRANSLATE_NOOP("", "at midnight"),
    QT_TRANSLATE_NOOP("", "when the next month begins"),
    QT_TRANSLATE_NOOP("", "when there is room, or when limits.disk_free_mb is smaller"),
    QT_TRANSLATE_NOOP("", "when some are deleted, or when limits.disk_mb is larger"),
    QT_TRANSLATE_NOOP("", "{time} s after there is enough memory again"),
    QT_TRANSLATE_NOOP("", "{time} s after you are back at the computer"),
    QT_TRANSLATE_NOOP("", "{time} s after {who} has ended"),
    QT_TRANSLATE_NOOP("", "{time} s after {who} is done"),
)
_STEPS = (
    QT_TRANSLATE_NOOP("", "Starting"),
    QT_TRANSLATE_NOOP("", "Importing"),
    QT_TRANSLATE_NOOP("", "Loading embeddings and head"),
    QT_TRANSLATE_NOOP("", "Can't join the swarm yet: {why}. Trying again."),
)
_CHAT = (
    QT_TRANSLATE_NOOP("", "Layer {number} is gone. Waiting for a server."),
    QT_TRANSLATE_NOOP("", "Layers {number} are gone. Waiting for a server."),
    QT_TRANSLATE_NOOP("", "Layers {number} and {last} are gone. Waiting for a server."),
)
_SETUP = (
    QT_TRANSLATE_NOOP("", "no GPU found; the processor serves instead, which is slow but works"),
    QT_TRANSLATE_NOOP(
        "",
        "variant {what} is not to be had here; the processor serves instead, which is slow but works",
    ),
    QT_TRANSLATE_NOOP(
        "",
        "variant {what} is not to be had here; this one computes on the processor too, and takes more room",
    ),
    QT_TRANSLATE_NOOP("", "try again later to use the GPU: potluck setup --variant {what}"),
    QT_TRANSLATE_NOOP("", "looking up the packages of variant {what}"),
    QT_TRANSLATE_NOOP("", "{who} cannot be used by torch {version}"),
    QT_TRANSLATE_NOOP("", "{who} can be used, with driver {driver}"),
    QT_TRANSLATE_NOOP("", "{who} can be used"),
    QT_TRANSLATE_NOOP("", "as you asked"),
    QT_TRANSLATE_NOOP("", "install NVIDIA's driver {number} or newer to use {who}; this machine has none"),
    QT_TRANSLATE_NOOP("", "install NVIDIA's driver {number} or newer to use {who}; this machine has {driver}"),
    QT_TRANSLATE_NOOP("", "graphics inside the processor share its memory; computing on them gains nothing"),
    QT_TRANSLATE_NOOP("", "{who} is older than what torch {version} has kernels for"),
    QT_TRANSLATE_NOOP("", "{free} are free, {least} are needed at most"),
    QT_TRANSLATE_NOOP("", "{path} cannot be written"),
    QT_TRANSLATE_NOOP("", "{file} cannot be fetched from {host}: {why}"),
    QT_TRANSLATE_NOOP("", "packages cannot be installed: {why}"),
    QT_TRANSLATE_NOOP("", "choose another folder, or check who owns it"),
    QT_TRANSLATE_NOOP("", "{host} cannot be found"),
    QT_TRANSLATE_NOOP("", "{host} does not answer"),
    QT_TRANSLATE_NOOP("", "{host} has a certificate that is not trusted"),
    QT_TRANSLATE_NOOP("", "{name} names certificates that are not there"),
    QT_TRANSLATE_NOOP("", "a SOCKS proxy needs the package socksio"),
    QT_TRANSLATE_NOOP("", "the address of the proxy cannot be read"),
    QT_TRANSLATE_NOOP("", "check this computer's network"),
    QT_TRANSLATE_NOOP("", "check HTTPS_PROXY, ALL_PROXY and NO_PROXY"),
    QT_TRANSLATE_NOOP("", "correct HTTPS_PROXY, ALL_PROXY or NO_PROXY"),
    QT_TRANSLATE_NOOP("", "correct or unset {name}"),
    QT_TRANSLATE_NOOP("", "install it, or name an HTTP proxy instead"),
    QT_TRANSLATE_NOOP("", "name an HTTP proxy instead"),
    QT_TRANSLATE_NOOP("", "set SSL_CERT_FILE to the right certificates"),
    QT_TRANSLATE_NOOP("", "{advice}, then try again: it continues where it stopped"),
    QT_TRANSLATE_NOOP("", "try again: it continues where it stopped"),
    QT_TRANSLATE_NOOP("", "{file} arrived damaged"),
    QT_TRANSLATE_NOOP("", "check whether something alters downloads, then try again: it continues where it stopped"),
    QT_TRANSLATE_NOOP("", "the package index does not have {what}"),
    QT_TRANSLATE_NOOP("", "the engine does not answer"),
    QT_TRANSLATE_NOOP("", "try again when the computer is less busy"),
    QT_TRANSLATE_NOOP("", "the proxy does not reach {host}"),
    QT_TRANSLATE_NOOP("", "the engine does not work here: {why}"),
    QT_TRANSLATE_NOOP("", "the engine is being set up already"),
    QT_TRANSLATE_NOOP("", "wait until that is done, or cancel it"),
    QT_TRANSLATE_NOOP("", "{what} ({number} of {all})"),
)
_UPDATE = (
    QT_TRANSLATE_NOOP("", "fetching"),
    QT_TRANSLATE_NOOP("", "unpacking"),
    QT_TRANSLATE_NOOP("", "waiting for open sessions to end"),
    QT_TRANSLATE_NOOP("", "starting the new version"),
    QT_TRANSLATE_NOOP("", "watching the new version"),
    QT_TRANSLATE_NOOP("", "going back to the earlier version"),
    QT_TRANSLATE_NOOP("", "the last try was interrupted"),
    QT_TRANSLATE_NOOP("", "nothing is lost: try again"),
    QT_TRANSLATE_NOOP("", "the publisher did not answer within {time} s"),
    QT_TRANSLATE_NOOP("", "try again later; check the network and the setting updates.url"),
    QT_TRANSLATE_NOOP("", "cannot check for updates: {why}"),
    QT_TRANSLATE_NOOP("", "is there enough memory?"),
    QT_TRANSLATE_NOOP("", "the check for updates failed: {why}"),
    QT_TRANSLATE_NOOP("", "to see more, in a terminal: potluck update --check"),
    QT_TRANSLATE_NOOP("", "asking the publisher"),
    QT_TRANSLATE_NOOP("", "beginning"),
    QT_TRANSLATE_NOOP("", "cannot fetch updates from {host}: {why}"),
    QT_TRANSLATE_NOOP("", "{advice}, and check the setting updates.url"),
    QT_TRANSLATE_NOOP("", "try again later; it continues where it stopped"),
    QT_TRANSLATE_NOOP("", "the update server is too slow"),
    QT_TRANSLATE_NOOP("", "the update is not the file that was signed; nothing was changed"),
    QT_TRANSLATE_NOOP("", "the update cannot be stored: {why}"),
    QT_TRANSLATE_NOOP("", "make room on the disk"),
    QT_TRANSLATE_NOOP("", "the update is not signed by the publisher you trust; nothing was changed"),
    QT_TRANSLATE_NOOP("", "compare the setting updates.key with the publisher's page"),
    QT_TRANSLATE_NOOP("", "the update's description has expired: the publisher is gone, or somebody hides newer ones"),
    QT_TRANSLATE_NOOP("", "version {offered} is offered, but {number} was earlier: somebody shows an old description"),
    QT_TRANSLATE_NOOP("", "see the publisher's page"),
    QT_TRANSLATE_NOOP("", "the update's description is from the future"),
    QT_TRANSLATE_NOOP("", "set this computer's clock"),
    QT_TRANSLATE_NOOP("", "version {offered} did not come up ({why}); {number} is in use again"),
    QT_TRANSLATE_NOOP("", "no source of updates is set"),
    QT_TRANSLATE_NOOP("", "set updates.url and updates.key, as published"),
    QT_TRANSLATE_NOOP("", "another update is running"),
    QT_TRANSLATE_NOOP("", "an update is already running"),
    QT_TRANSLATE_NOOP("", "try again later"),
    QT_TRANSLATE_NOOP("", "try again"),
)
_AGREEMENT = (
    QT_TRANSLATE_NOOP("", "The daemon runs version {theirs}, this program is {ours}"),
    QT_TRANSLATE_NOOP("", "start this program again"),
    QT_TRANSLATE_NOOP("", "restart the daemon: potluck drain, then potluck start"),
)
_REPHRASED = {  # what the app says instead: layers count from 1, and there are buttons instead of commands
    "Loading blocks": QT_TRANSLATE_NOOP("", "Loading layers"),
    "blocks {blocks} of {model} while loading {target}": QT_TRANSLATE_NOOP(
        "", "layers {blocks} of {model} (loading {target})"
    ),
    "blocks {blocks} of {model} before moving to {target}": QT_TRANSLATE_NOOP(
        "", "layers {blocks} of {model} (moving to {target})"
    ),
    "blocks {blocks} of {model}": QT_TRANSLATE_NOOP("", "layers {blocks} of {model}"),
    "Serving is switched off in the settings": QT_TRANSLATE_NOOP("", "You stopped donating"),
    "The engine is not set up yet": QT_TRANSLATE_NOOP("", "The compute engine is not set up yet"),
    "Can't tell whether you're away, so not serving": QT_TRANSLATE_NOOP(
        "", "Can't tell whether you're away, so not serving. Turn off “Only while I'm away” to serve anyway"
    ),
    "Downloaded checkpoints take {used} of {all} MiB": QT_TRANSLATE_NOOP("", "Models fill their {all} on the disk"),
    "Today's upload limit is reached: {used} of {all} MiB": QT_TRANSLATE_NOOP("", "Today's upload of {all} is used up"),
    "Today's download limit is reached: {used} of {all} MiB": QT_TRANSLATE_NOOP(
        "", "Today's download of {all} is used up"
    ),
    "This month's upload limit is reached: {used} of {all} MiB": QT_TRANSLATE_NOOP(
        "", "This month's upload of {all} is used up"
    ),
    "This month's download limit is reached: {used} of {all} MiB": QT_TRANSLATE_NOOP(
        "", "This month's download of {all} is used up"
    ),
    "The disk is nearly full: {free} MiB are free, {least} must stay free": QT_TRANSLATE_NOOP(
        "", "The disk is nearly full: {free} left"
    ),
    "only {free} are free at {path}": QT_TRANSLATE_NOOP("", "only {free} free at {path}"),
    "{free} are free for downloaded checkpoints at {path}": QT_TRANSLATE_NOOP("", "{free} free for models at {path}"),
    "{free} of {all} are available": QT_TRANSLATE_NOOP("", "{free} of {all} available"),
    "when the time is over, or when you resume": QT_TRANSLATE_NOOP("", "when the time is over"),
    "in a moment, or when you resume": QT_TRANSLATE_NOOP("", "in a moment"),
    "with the next try, or when you resume": QT_TRANSLATE_NOOP("", "in a moment"),
    "when keyboard and mouse have rested for a while": QT_TRANSLATE_NOOP("", "when you've been away for a while"),
    "when you switch when.only_when_idle off": QT_TRANSLATE_NOOP("", "when you turn it off"),
    "when you switch serve.enabled on": QT_TRANSLATE_NOOP("", "when you start donating again"),
    "when you set it up: in the app, or with `potluck setup`": QT_TRANSLATE_NOOP("", "when you set it up"),
    "when there is room, or when limits.disk_free_mb is smaller": QT_TRANSLATE_NOOP("", "when the disk has more space"),
    "when some are deleted, or when limits.disk_mb is larger": QT_TRANSLATE_NOOP(
        "", "when you delete a model or raise the limit"
    ),
}
_PLACE = re.compile(r"\\\{(\w+)\\\}")
_NESTED = ("advice", "port", "what", "who", "why")  # places whose text follows a template of its own


def translated(said: str) -> str:
    """Return the sentence in the user's language; names and numbers in it stay as they are."""
    return _translated(said, QLocale().name())  # a status repeats the sentences of the one before


@functools.lru_cache(maxsize=256)
def _translated(said: str, _language: str) -> str:
    for pattern, template in _patterns():
        found = pattern.fullmatch(said)
        if found is not None:
            parts = {place: _part(place, part, template) for place, part in found.groupdict().items()}
            return tr(_REPHRASED.get(template, template)).format(**parts)
    return said


def _part(place: str, part: str, template: str) -> str:
    if place in ("blocks", "target") and (found := re.fullmatch(r"(\d+):(\d+)", part)):
        return layers.span(int(found[1]), int(found[2]))
    if " MiB" in template and part.isdecimal():
        return numbers.size(int(part) << 20)
    return translated(part) if place in _NESTED else part


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return all templates, those with the most words of their own first."""
    texts = (
        *_STATES,
        *_ASIDE,
        *_ENDS,
        *_STEPS,
        *_CHAT,
        *_SETUP,
        *_UPDATE,
        *FAILURES,
        *_AGREEMENT,
        *PROBES,
        *MODELS,
        *REFUSALS,
    )
    templates = sorted(texts, key=lambda text: -len(re.sub(r"\{\w+\}", "", text)))
    # A part that begins with an article is no name, and half a sentence must not be translated.
    return tuple((re.compile(_PLACE.sub(r"(?P<\1>(?!the ).+)", re.escape(text))), text) for text in templates)
