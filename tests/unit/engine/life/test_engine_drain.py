"""An engine that drains hands its sessions on: clients move to others between two steps, and nothing is lost."""

from pathlib import Path

import torch
from helpers.client_world import local_model, prompt, world
from helpers.engine_peers import until
from helpers.lone_engine import start_engine

from potluck.protocol.blocks import Span

ONE = {"max_new_tokens": 1, "do_sample": False}
MANY = 60


def test_sessions_of_a_draining_engine_go_on_at_another_and_it_may_stop_early(tmp_path: Path) -> None:
    with world("0:2") as there:
        engines = [there.client.run(start_engine(there, tmp_path / name, Span(2, 4))) for name in ("a", "b")]
        there.client.run(there.client.servers.refresh())
        with there.model.session(max_length=100) as session:
            text = there.model.generate(prompt(), session=session, max_new_tokens=4, do_sample=False)
            leaver, other = sorted(engines, key=lambda engine: -len(engine.service.sessions))
            there.client.run(leaver.drain())
            assert leaver.service.admission.leaving
            for _ in range(MANY):
                text = there.model.generate(text, session=session, **ONE)
                if there.model.last_route()[0].replaced:
                    break
            there.client.run(until(lambda: not len(leaver.service.sessions)))
            there.client.run(leaver.stop())
            text = there.model.generate(text, session=session, max_new_tokens=4, do_sample=False)
            (route,) = there.model.last_route()
            assert [hop.replaced_because for hop in route.replaced] == [
                "draining: the server announced that it is leaving"
            ]
            assert len(other.service.sessions) == 1
        there.client.run(other.stop())
    expected = local_model().generate(prompt(), max_new_tokens=text.shape[1] - 7, do_sample=False)
    assert torch.equal(text, expected)


def test_an_engine_that_is_kept_after_all_goes_on_with_its_sessions_and_takes_new_ones(tmp_path: Path) -> None:
    with world("0:2") as there:
        engine = there.client.run(start_engine(there, tmp_path, Span(2, 4)))
        there.client.run(there.client.servers.refresh())
        with there.model.session(max_length=100) as session:
            text = there.model.generate(prompt(), session=session, **ONE)
            engine.throttle(0.5)
            there.client.run(engine.drain())
            text = there.model.generate(text, session=session, **ONE)
            blocks = engine.service.blocks
            there.client.run(engine.restore())
            there.client.run(there.client.servers.refresh())
            text = there.model.generate(text, session=session, **ONE)
            assert torch.equal(there.model.generate(prompt(), max_new_tokens=3, do_sample=False), text)
            assert not there.model.last_route()[0].replaced
            assert engine.service.blocks is blocks, "nothing was loaded again"
            assert engine.service.compute.duty == 1.0, "the daemon takes it for one that is not throttled"
        there.client.run(engine.stop())
    assert torch.equal(text, local_model().generate(prompt(), max_new_tokens=3, do_sample=False))
