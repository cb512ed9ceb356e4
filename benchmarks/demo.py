"""`make demo`: runs a private swarm on this machine and kills an engine while it generates.

It checks every claim that it prints; the exit code says whether all of them held.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck_cli.main import describe, exit_code
from potluck_cli.options import positive
from potluck_cli.swarm.overview import short_id
from potluck_cli.terminal import Style, Terminal, table
from potluck_control.resources import resource
from potluck_daemon.swarms.new_model import num_blocks_of

from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm
from potluck.errors import PotluckError, UsageError
from potluck.protocol.blocks import Span

if TYPE_CHECKING:
    from potluck_gateway.answers.completion import Completion, TextTokenizer

    from potluck.client import HopReport, RouteReport

DESCRIPTION = """\
Start a private swarm on this machine: a bootstrap node and four engines for three spans of a small model, the middle
span twice. Complete a prompt through it, compare the result with Transformers alone, and kill an engine during a second
completion. Needs no network and no GPU, and leaves nothing behind."""
DEFAULT_PROMPT = (
    "On Sunday, Ana asked Omar and Gina to a potluck. Omar brought the corn pasta. Gina brought the fish bread. "
    "At the end Ana said:"
)
MIDDLE = 1  # the second of three spans
_ENOUGH_TOKENS = 16  # an engine has to die in the middle


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=DESCRIPTION)
    parser.add_argument("--prompt", help="default: the environment variable PROMPT, or a sentence that the model knows")
    parser.add_argument(
        "--model", type=Path, help="folder of another checkpoint with a tokenizer (default: the demo model)"
    )
    parser.add_argument(
        "--max-new-tokens", type=_max_tokens, default=64, metavar="N", help=f"at least {_ENOUGH_TOKENS} (default: 64)"
    )
    try:
        return run(parser.parse_args())
    except PotluckError as error:
        print(describe(error), file=sys.stderr)
        return exit_code(error)


def run(args: argparse.Namespace) -> int:
    prompt = args.prompt or os.environ.get("PROMPT") or DEFAULT_PROMPT
    folder = args.model or resource("demo-model")
    if not any(folder.glob("tokenizer*")):
        raise UsageError(f"{folder} has no tokenizer", hint="the demo needs a model that reads and writes text")
    return 0 if Demo(Terminal(), folder, prompt, args.max_new_tokens).run() else 1


def _max_tokens(text: str) -> int:
    number = positive(text)
    if number < _ENOUGH_TOKENS:
        raise argparse.ArgumentTypeError(f"needs at least {_ENOUGH_TOKENS} tokens, to kill an engine on the way")
    return number


def spans_of(num_blocks: int) -> list[Span]:
    """Return three spans in the order of the blocks, the middle one twice. Raises UsageError for a small model."""
    if num_blocks < 3:
        raise UsageError(f"the demo needs a model of at least 3 blocks, not {num_blocks}")
    first, second = num_blocks // 3, num_blocks - num_blocks // 3
    middle = Span(first, second)
    return [Span(0, first), middle, middle, Span(second, num_blocks)]


def require_room(config: Any, num_tokens: int) -> None:
    """Raise UsageError if the model has too few positions."""
    room = getattr(config.get_text_config(), "max_position_embeddings", None)
    if room is not None and num_tokens > room:
        raise UsageError(
            f"prompt and completion have {num_tokens} tokens, the model knows {room}", hint="give a shorter prompt"
        )


class Demo:
    """The steps of the demo; `run` returns whether every check held."""

    def __init__(self, terminal: Terminal, folder: Path, prompt: str, max_new_tokens: int) -> None:
        self._terminal = terminal
        self._folder = folder.resolve()
        self._prompt = prompt
        self._max_new_tokens = max_new_tokens
        self.num_failed = 0

    def run(self) -> bool:
        started = time.monotonic()
        spans = spans_of(num_blocks_of(self._folder))
        self._heading("A private swarm on this machine")
        places = " ".join(map(str, spans))
        self._terminal.write(f"Starting a bootstrap node and four engines for blocks {places} ... ")
        swarm = LocalSwarm(self._folder, spans)
        with swarm, _belonging_to(swarm):
            self._terminal.line(f"online after {time.monotonic() - started:.1f} s")
            self._generate(swarm)
        left = swarm.leftovers()
        self.check(not left, "no process, socket or temporary file is left" if not left else f"left behind: {left}")
        verdict = f"{self.num_failed} checks FAILED" if self.num_failed else "All checks passed"
        self._heading(f"\n{verdict} ({time.monotonic() - started:.1f} s)")
        return not self.num_failed

    def _generate(self, swarm: LocalSwarm) -> None:
        import torch
        from potluck_gateway.answers.completion import Options, TextTokenizer, complete, silence_transformers
        from transformers import AutoModelForCausalLM

        from benchmarks.setup.generation import longest_wait_s
        from potluck.client import AutoDistributedModelForCausalLM

        silence_transformers()
        logging.getLogger("potluck").setLevel(logging.ERROR)  # the demo says itself that a server is lost
        torch.set_num_threads(swarm.threads)
        text = TextTokenizer(self._folder)
        tokens = text.encode(self._prompt)
        local = AutoModelForCausalLM.from_pretrained(self._folder, dtype=torch.float32).eval()
        require_room(local.config, tokens.shape[1] + self._max_new_tokens)
        with AutoDistributedModelForCausalLM.from_pretrained(str(self._folder), swarm=swarm.membership) as model:

            def compare(options: Options, show: Callable[[Completion], None]) -> tuple[Completion, Completion]:
                ours, theirs = complete(model, tokens, options, show), complete(local, tokens, options, lambda _: None)
                self._terminal.line()
                is_equal = ours.tokens == theirs.tokens
                says = f"the same {len(theirs.tokens)} tokens as" if is_equal else "tokens differ from"
                self.check(is_equal, f"{says} a local run of the checkpoint by Transformers")
                return ours, theirs

            self._heading("\nA completion, as it comes")
            ours, theirs = compare(Options(self._max_new_tokens), self._printer(text))
            speed = (
                f"{ours.tokens_per_s:.0f} tokens/s through the swarm, {theirs.tokens_per_s:.0f} by Transformers alone"
            )
            self._terminal.line(f"  {speed} (one thread per process)")
            self._show_route(model.last_route(), swarm)
            self._heading("\nThe same again, while an engine is killed")
            num_tokens = max(len(ours.tokens), _ENOUGH_TOKENS)
            killer = _Killer(self._terminal, swarm, model, num_tokens // 2, self._printer(text))
            min_tokens = _ENOUGH_TOKENS if len(ours.tokens) < _ENOUGH_TOKENS else 0
            ours, _ = compare(Options(self._max_new_tokens, min_new_tokens=min_tokens), killer.show)
            report = model.last_route()[0]
        replacement = report.hops[MIDDLE]
        self.check(
            [hop.peer_id for hop in report.replaced] == [victim.peer_id for victim in killer.victims],
            f"{', '.join(victim.name for victim in killer.victims) or 'no engine'} was killed during generation, "
            f"{_name(replacement)} took over and received {replacement.replayed_tokens} tokens again; "
            f"longest wait for a token {longest_wait_s(ours):.2f} s",
        )

    def _show_route(self, route: tuple[RouteReport, ...], swarm: LocalSwarm) -> None:
        self._heading("\nWho served it")
        rows = [_row(hop) for report in route for hop in report.hops]
        for line in table(("BLOCKS", "ENGINE", "STEPS", "TOKENS", "MS PER STEP", "OF WHICH COMPUTE"), rows):
            self._terminal.line(f"  {line}")
        idle = ", ".join(engine.name for engine in swarm.engines if engine.name not in {row[1] for row in rows})
        self._terminal.line(f"  not asked: {idle}")

    def _printer(self, text: TextTokenizer) -> Callable[[Completion], None]:
        self._terminal.write("  " + self._terminal.faint(_on_one_line(self._prompt)))
        from potluck_gateway.answers.completion import TokenDecoder

        decoder = TokenDecoder(text, text.encode(self._prompt)[0].tolist())

        def show(completion: Completion) -> None:
            self._terminal.write(_on_one_line(decoder.add(completion.tokens[-1])))

        return show

    def check(self, holds: bool, text: str) -> None:
        """Print a claim and count it if it does not hold."""
        mark, style = ("✓", Style.GREEN) if holds else ("✗", Style.RED)
        self.num_failed += not holds
        self._terminal.line(f"  {self._terminal.styled(mark, Style.BOLD, style)} {text}")

    def _heading(self, text: str) -> None:
        self._terminal.line(self._terminal.styled(text, Style.BOLD))


@dataclass
class _Killer:
    """Shows a completion, and kills the engine of the middle span at the token `kill_at`."""

    terminal: Terminal
    swarm: LocalSwarm
    model: Any
    kill_at: int
    print_part: Callable[[Completion], None]
    victims: list[LocalEngine] = field(default_factory=list)

    def show(self, completion: Completion) -> None:
        self.print_part(completion)
        if len(completion.tokens) == self.kill_at:
            peer_id = self.model.last_route()[0].hops[MIDDLE].peer_id
            victim = next(engine for engine in self.swarm.engines if engine.peer_id == peer_id)
            victim.kill()
            self.victims.append(victim)
            self.terminal.write(self.terminal.styled(f" [{victim.name} killed] ", Style.RED))


@contextmanager
def _belonging_to(swarm: LocalSwarm) -> Iterator[None]:
    """Put the files of this process's client into the swarm's folder, too."""
    before = os.environ.copy()
    os.environ.update(swarm.environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _row(hop: HopReport) -> tuple[str, ...]:
    compute_ms = hop.compute_ms / hop.steps if hop.steps else 0.0
    return (str(hop.span), _name(hop), str(hop.steps), str(hop.tokens), f"{hop.mean_step_ms:.2f}", f"{compute_ms:.2f}")


def _name(hop: HopReport) -> str:
    return hop.public_name or short_id(hop.peer_id)


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\n  ")


if __name__ == "__main__":
    sys.exit(main())
