"""`potluck completions`: a script that lets a shell complete commands, options and the names of settings.

Made from the parsers (`command_tree`). One table serves all three shells: for each command its words, and for each
option what its value may be; the scripts differ only in how a shell is told.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from potluck_cli.command_tree import Command, Option, potluck

DESCRIPTION = """\
Print a script that lets your shell complete the words of commands: write it where the shell looks for it."""
EXAMPLES = """\
  potluck completions bash > ~/.local/share/bash-completion/completions/potluck
  potluck completions zsh > ~/.zfunc/_potluck         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  potluck completions fish > ~/.config/fish/completions/potluck.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(args: argparse.Namespace) -> int:
    makers: dict[str, Callable[[Command], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
    print(makers[args.shell](potluck()), end="")
    return 0


def bash(top: Command) -> str:
    return f"""\
# Completion of potluck for bash, made by `potluck completions bash`.
_potluck() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD - 1]}}" at=potluck word words= values=
{_find_command('"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
    case "$at:$prev" in
{_cases(_values(top), "values")}
        *) case "$at" in
{_cases(_words(top), "words")}
        esac ;;
    esac
    if [ "$values" = "<file>" ] || {{ [ "${{words% <file>}}" != "$words" ] && [ "${{cur#-}}" = "$cur" ]; }}; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$cur"))
    else
        COMPREPLY=($(compgen -W "${{values:-${{words% <file>}}}}" -- "$cur"))
    fi
}}
complete -F _potluck potluck
""".replace(_FIND, _nodes(top))


def zsh(top: Command) -> str:
    return f"""\
#compdef potluck
# Completion of potluck for zsh, made by `potluck completions zsh`.
_potluck() {{
    local at=potluck prev="${{words[CURRENT - 1]}}" cur="${{words[CURRENT]}}" word
    local -a found
{_find_command('"${(@)words[2,CURRENT-1]}"')}
    found=()
    case "$at:$prev" in
{_zsh_cases(_values(top))}
        *) case "$at" in
{_zsh_cases(_described(top))}
        esac ;;
    esac
    if [[ "${{found[-1]}}" == "<file>" ]]; then
        found[-1]=()
        [[ "$cur" == -* ]] || _files
    fi
    (( ${{#found}} )) && _describe 'word' found
}}
compdef _potluck potluck
if [ "${{funcstack[1]}}" = _potluck ]; then _potluck "$@"; fi
""".replace(_FIND, _nodes(top))


def fish(top: Command) -> str:
    lines = [
        "# Completion of potluck for fish, made by `potluck completions fish`.",
        "function __potluck_at",
        "    set -l at potluck",
        "    for word in (commandline -opc)[2..-1]",
        '        if contains -- "$at $word" ' + " ".join(f"'{node}'" for node in _paths(top)),
        '            set at "$at $word"',
        "        end",
        "    end",
        '    test "$at" = "$argv[1]"',
        "end",
        "complete -c potluck -f",
    ]
    for command in top.walk():
        here = f"complete -c potluck -n '__potluck_at \"{' '.join(command.path)}\"'"
        lines += [f"{here} -a {action.path[-1]} -d '{_fish(action.summary)}'" for action in command.actions]
        lines += [f"{here} {_fish_option(option)}" for option in command.options]
        for argument in command.arguments:
            if argument.choices:
                lines.append(f"{here} -a '{' '.join(argument.choices)}'")
            elif argument.takes_file:
                lines.append(f"{here} -F")
    return "\n".join(lines) + "\n"


_FIND = "@NODES@"


def _find_command(words: str) -> str:
    """Shell lines that leave in `at` the command that is being typed."""
    return f"""\
    for word in {words}; do
        case "$at $word" in
            {_FIND}) at="$at $word" ;;
        esac
    done"""


def _nodes(top: Command) -> str:
    return "|".join(f'"{node}"' for node in _paths(top))


def _paths(top: Command) -> list[str]:
    return [" ".join(command.path) for command in top.walk() if len(command.path) > 1]


def _values(top: Command) -> Iterator[tuple[str, list[str]]]:
    """What may follow an option that takes a value, by `command:option`."""
    for command in top.walk():
        for option in command.options:
            if option.metavar:
                values = list(option.choices) or (["<file>"] if option.takes_file else [])
                pattern = "|".join(f'"{" ".join(command.path)}:{flag}"' for flag in option.flags)
                yield pattern, values


def _words(top: Command) -> Iterator[tuple[str, list[str]]]:
    for command in top.walk():
        words = [action.path[-1] for action in command.actions]
        words += [flag for option in command.options for flag in option.flags]
        words += [choice for argument in command.arguments for choice in argument.choices]
        if any(argument.takes_file for argument in command.arguments):
            words.append("<file>")
        yield f'"{" ".join(command.path)}"', words


def _described(top: Command) -> Iterator[tuple[str, list[str]]]:
    """As `_words`, each with what it means, in the form of zsh's _describe."""
    for command in top.walk():
        words = [f"{action.path[-1]}:{action.summary}" for action in command.actions]
        words += [f"{flag}:{option.help}" for option in command.options for flag in option.flags]
        words += [choice for argument in command.arguments for choice in argument.choices]
        if any(argument.takes_file for argument in command.arguments):
            words.append("<file>")
        yield f'"{" ".join(command.path)}"', words


def _cases(table: Iterator[tuple[str, list[str]]], variable: str) -> str:
    return "\n".join(f'        {pattern}) {variable}="{" ".join(words) or " "}" ;;' for pattern, words in table)


def _zsh_cases(table: Iterator[tuple[str, list[str]]]) -> str:
    return "\n".join(
        f"        {pattern}) found=({' '.join(_single_quoted(word) for word in words)}) ;;" for pattern, words in table
    )


def _fish_option(option: Option) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    if not option.metavar:
        value = ""
    elif option.choices:
        value = f" -x -a '{' '.join(option.choices)}'"
    else:
        value = " -r -F" if option.takes_file else " -x"
    return f"{flags}{value} -d '{_fish(option.help)}'"


def _fish(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
