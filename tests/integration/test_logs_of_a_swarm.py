"""Real engines that log everything: none of what people write, and nothing that opens a door, is in any log."""

from helpers.discreet_logs import assert_discreet
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.completion import Text

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

PROMPT = "On Sunday, Ana asked Omar and Gina to a potluck. Omar brought the corn pasta. At the end Ana said:"


def test_logs_of_engines_say_what_happens_and_nothing_private() -> None:
    folder = resource(DEMO_MODEL)
    text = Text(folder)
    with LocalSwarm(folder, [Span(0, 6), Span(6, 12)], serve_options=("--verbose",)) as swarm:
        with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=swarm.membership) as model:
            tokens = text.encode(PROMPT)
            done = model.generate(tokens, max_new_tokens=12, do_sample=False)
        logs = "\n".join(path.read_text(errors="replace") for path in swarm.folder.glob("*.log"))
        completion = text.decode(done[0, tokens.shape[1] :].tolist())
        membership = swarm.membership
        assert membership.person_seed is not None
        assert membership.founder_seed is not None
        seeds = (membership.person_seed.hex(), membership.founder_seed.hex())
        peers = [str(engine.peer_id) for engine in swarm.engines]
        assert_discreet(logs, (PROMPT, completion), (swarm.invite[10:60], *seeds, *peers))
    assert "a session over blocks 0:6, 1 rows" in logs
