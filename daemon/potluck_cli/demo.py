"""`potluck demo`: a private swarm on this machine, from nothing to generating, with a failure on the way.

Every claim it prints is checked, and the exit code says whether all of them held.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck_control.resources import resource

from potluck.errors import PotluckError, UsageError
from potluck.protocol.blocks import Span
from potluck_cli.local_swarm import Engine, LocalSwarm, Model
from potluck_cli.options import add_json, positive, print_json
from potluck_cli.overview import short_id
from potluck_cli.terminal import Style, Terminal, table

if TYPE_CHECKING:
    from potluck_gateway.completion import Completion, Options, Text
    from torch import Tensor

    from potluck.client import HopReport, RouteReport

DESCRIPTION = """\
Start a private swarm on this machine (a bootstrap node and four engines over three spans of a small model, the middle
span twice), complete a prompt through it, compare with the same model run by Transformers alone, kill an engine in the
middle of a second completion, and leave nothing behind. Needs no network and no GPU."""
EXAMPLES = """\
  potluck demo
  potluck demo --prompt "Count from 7 to 18:"
  PROMPT="Months from March to December:" potluck demo"""


@dataclass(frozen=True, slots=True)
class DemoCheck:
    """One claim."""

    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class DemoResult:
    """`holds`: every check does."""

    holds: bool
    checks: tuple[DemoCheck, ...]


RESULT = DemoResult

DEFAULT_PROMPT = (
    "On Sunday, Ana asked Omar and Gina to a potluck. Omar brought the corn pasta. Gina brought the fish bread. "
    "At the end Ana said:"
)
MIDDLE = 1  # of the three spans
_ENOUGH_TOKENS = 16  # for an engine to die in the middle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", help="default: the environment variable PROMPT, or a sentence that the model knows")
    parser.add_argument(
        "--model", type=Path, help="folder of another checkpoint with a tokenizer (default: the demo model)"
    )
    parser.add_argument(
        "--max-new-tokens", type=_max_tokens, default=64, metavar="N", help=f"at least {_ENOUGH_TOKENS} (default: 64)"
    )
    add_json(parser, "the checks")


def run(args: argparse.Namespace) -> int:
    prompt = args.prompt or os.environ.get("PROMPT") or DEFAULT_PROMPT
    folder = args.model or resource("demo-model")
    if not any(folder.glob("tokenizer*")):
        raise UsageError(f"{folder} has no tokenizer", hint="the demo needs a model that reads and writes text")
    terminal = Terminal(io.StringIO() if args.json else sys.stdout)
    demo = Demo(terminal, folder, prompt, args.max_new_tokens)
    holds = demo.run()
    if args.json:
        print_json(DemoResult(holds, tuple(demo.checks)))
    return 0 if holds else 1


def _max_tokens(text: str) -> int:
    number = positive(text)
    if number < _ENOUGH_TOKENS:
        raise argparse.ArgumentTypeError(f"fewer than {_ENOUGH_TOKENS} tokens leave no time to kill an engine")
    return number


def spans_of(num_blocks: int) -> list[Span]:
    """Three spans in the order of the blocks, the middle one twice.

    Raises:
        UsageError: the model has too few blocks.
    """
    if num_blocks < 3:
        raise UsageError(f"the demo needs a model of at least 3 blocks, not {num_blocks}")
    first, second = num_blocks // 3, num_blocks - num_blocks // 3
    middle = Span(first, second)
    return [Span(0, first), middle, middle, Span(second, num_blocks)]


def require_room(config: Any, num_tokens: int) -> None:
    """Raises UsageError if the model's positions do not suffice."""
    room = getattr(config.get_text_config(), "max_position_embeddings", None)
    if room is not None and num_tokens > room:
        raise UsageError(
            f"prompt and completion have {num_tokens} tokens, the model knows {room}", hint="give a shorter prompt"
        )


class Demo:
    """The steps in their order; `run` says whether every check held."""

    def __init__(self, terminal: Terminal, folder: Path, prompt: str, max_new_tokens: int) -> None:
        self._terminal = terminal
        self._model = Model.at(folder)
        self._prompt = prompt
        self._max_new_tokens = max_new_tokens
        self.num_failed = 0
        self.checks: list[DemoCheck] = []

    def run(self) -> bool:
        started = time.monotonic()
        spans = spans_of(self._model.num_blocks)
        self._terminal.line(self._bold("A private swarm on this machine"))
        places = " ".join(map(str, spans))
        self._terminal.write(f"Starting a bootstrap node and four engines for blocks {places} ... ")
        swarm = LocalSwarm(self._model.folder, spans)
        with swarm, _belonging_to(swarm):
            self._terminal.line(f"online after {time.monotonic() - started:.1f} s")
            self._generate(swarm)
        left = swarm.leftovers()
        self.check(not left, "no process, socket or temporary file is left" if not left else f"left behind: {left}")
        seconds = time.monotonic() - started
        verdict = f"{self.num_failed} checks FAILED" if self.num_failed else "All checks passed"
        self._terminal.line(f"\n{self._bold(verdict)} ({seconds:.1f} s)")
        return not self.num_failed

    def _generate(self, swarm: LocalSwarm) -> None:
        import torch
        from potluck_gateway.completion import Options, Text, quiet

        from potluck.client import AutoDistributedModelForCausalLM

        quiet()
        logging.getLogger("potluck").setLevel(logging.ERROR)  # that a server is lost is said here in other words
        torch.set_num_threads(swarm.threads)
        text = Text(self._model.folder)
        tokens = text.encode(self._prompt)
        local = _local_model(self._model.folder)
        require_room(local.config, tokens.shape[1] + self._max_new_tokens)
        with AutoDistributedModelForCausalLM.from_pretrained(str(self._model.folder), swarm=swarm.swarm) as model:
            options = Options(self._max_new_tokens)
            num_tokens = self._first_completion(model, local, text, tokens, options)
            self._show_route(model.last_route(), swarm)
            if num_tokens < _ENOUGH_TOKENS:
                options = Options(self._max_new_tokens, min_new_tokens=_ENOUGH_TOKENS)
            self._second_completion(model, local, text, tokens, options, max(num_tokens, _ENOUGH_TOKENS) // 2, swarm)

    def _first_completion(self, model: Any, local: Any, text: Text, tokens: Tensor, options: Options) -> int:
        """Returns the number of new tokens."""
        from potluck_gateway.completion import complete

        self._terminal.line(f"\n{self._bold('A completion, as it comes')}")
        ours = complete(model, tokens, options, self._printer(text))
        theirs = complete(local, tokens, options, lambda _: None)
        self._check_equal(ours, theirs)
        speeds = f"{ours.tokens_per_s:.0f} tokens/s through the swarm, {theirs.tokens_per_s:.0f} by Transformers alone"
        self._terminal.line(f"  {speeds} (one thread a process)")
        return len(ours.tokens)

    def _show_route(self, route: tuple[RouteReport, ...], swarm: LocalSwarm) -> None:
        self._terminal.line(f"\n{self._bold('Who served it')}")
        rows = [_row(hop) for report in route for hop in report.hops]
        for line in table(("BLOCKS", "ENGINE", "STEPS", "TOKENS", "MS A STEP", "OF IT COMPUTE"), rows):
            self._terminal.line(f"  {line}")
        idle = ", ".join(engine.name for engine in swarm.engines if engine.name not in {row[1] for row in rows})
        self._terminal.line(f"  not asked: {idle}")

    def _second_completion(
        self, model: Any, local: Any, text: Text, tokens: Tensor, options: Options, kill_at: int, swarm: LocalSwarm
    ) -> None:
        from potluck_gateway.completion import complete

        self._terminal.line(f"\n{self._bold('The same again, and an engine is killed on the way')}")
        show = self._printer(text)
        victims: list[Engine] = []

        def show_and_kill(completion: Completion) -> None:
            show(completion)
            if len(completion.tokens) == kill_at:
                victim = _engine_of(swarm, model.last_route()[0].hops[MIDDLE])
                victim.kill()
                victims.append(victim)
                self._terminal.write(self._terminal.styled(f" [{victim.name} killed] ", Style.RED))

        ours = complete(model, tokens, options, show_and_kill)
        theirs = complete(local, tokens, options, lambda _: None)
        report = model.last_route()[0]
        self._check_equal(ours, theirs)
        killed, replacement = ", ".join(victim.name for victim in victims), report.hops[MIDDLE]
        self.check(
            [hop.peer_id for hop in report.replaced] == [victim.peer_id for victim in victims],
            f"{killed or 'nobody'} was killed in mid-generation, {_name(replacement)} took over and was given "
            f"{replacement.replayed_tokens} tokens again; longest wait for a token {ours.longest_wait_s:.2f} s",
        )

    def _printer(self, text: Text) -> Any:
        self._terminal.write("  " + self._terminal.styled(_on_one_line(self._prompt), Style.FAINT))
        shown = ""

        def show(completion: Completion) -> None:
            nonlocal shown
            part = text.new_part(completion.tokens, shown)
            shown += part
            self._terminal.write(_on_one_line(part))

        return show

    def _check_equal(self, ours: Completion, theirs: Completion) -> None:
        self._terminal.line()
        is_equal = ours.tokens == theirs.tokens
        says = f"the same {len(theirs.tokens)} tokens as" if is_equal else "tokens differ from"
        self.check(is_equal, f"{says} a local run of the checkpoint by Transformers")

    def check(self, holds: bool, text: str) -> None:
        mark, style = ("✓", Style.GREEN) if holds else ("✗", Style.RED)
        self.num_failed += not holds
        self.checks.append(DemoCheck(holds, text))
        self._terminal.line(f"  {self._terminal.styled(mark, Style.BOLD, style)} {text}")

    def _bold(self, text: str) -> str:
        return self._terminal.styled(text, Style.BOLD)


@contextmanager
def _belonging_to(swarm: LocalSwarm) -> Iterator[None]:
    """Let files of the client in this process lie in the swarm's folder, too."""
    before = os.environ.copy()
    os.environ.update(swarm.environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _local_model(folder: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def _engine_of(swarm: LocalSwarm, hop: HopReport) -> Engine:
    for engine in swarm.engines:
        if engine.peer_id == hop.peer_id:
            return engine
    raise PotluckError(f"the route names a server that is not ours: {hop.peer_id}")


def _row(hop: HopReport) -> tuple[str, ...]:
    compute_ms = hop.compute_ms / hop.steps if hop.steps else 0.0
    return (str(hop.span), _name(hop), str(hop.steps), str(hop.tokens), f"{hop.mean_step_ms:.2f}", f"{compute_ms:.2f}")


def _name(hop: HopReport) -> str:
    return hop.public_name or short_id(hop.peer_id)


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\n  ")
