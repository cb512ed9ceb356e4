"""Checks the GPU, its driver, whether torch fits them, and whether steps run on fast kernels, also on a CPU."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from potluck_control.schema import EngineStatus

from potluck.sentences import Sentence, Size, sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.environment.machine import Gpu, apple_gpus, ask_nvidia

NAME = sentence("GPU")
MIN_DRIVER = 525  # the oldest that runs torch's CUDA 12 builds
MIN_CAPABILITY = (5, 0)  # Maxwell; older ones have no kernels in any build that is still made


@dataclass(frozen=True, slots=True)
class GpuFacts:
    gpus: tuple[Gpu, ...] = ()
    driver: str = ""  # the version of NVIDIA's driver
    problem: str = ""  # why NVML does not answer although there is a device
    torch: str | None = None  # its version with its build, as `2.13.0+cu130`
    wanted: str = "auto"  # serve.device
    has_other: bool = False  # a render node without NVIDIA's driver: AMD, Intel
    engine: EngineStatus = field(default_factory=EngineStatus)  # what its steps run on, and why not on something faster


def gather(scene: Scene) -> GpuFacts:
    nvidia = Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()
    has_other = not nvidia and (Path("/dev/kfd").exists() or any(Path("/dev").glob("dri/renderD*")))
    asked = ask_nvidia()
    problem = asked.problem if nvidia else ""
    gpus = asked.gpus or apple_gpus()
    wanted = scene.loaded.settings.serve.device
    facts = GpuFacts(gpus, asked.driver, problem, _torch(), wanted, has_other)
    return facts if scene.status is None else replace(facts, engine=scene.status.engine)


def judge(facts: GpuFacts) -> list[Finding]:
    if facts.problem:
        advice = sentence("install or repair NVIDIA's driver, then restart the machine")
        return [
            Finding(
                NAME,
                Severity.ERROR,
                sentence("there is a GPU, but its driver does not answer: {why}", why=facts.problem),
                advice,
            )
        ]
    if not facts.gpus:
        return [_without_nvidia(facts), *_of_steps(facts, sentence("CPU kernels"))]
    found = [_of_gpu(gpu) for gpu in facts.gpus]
    if facts.driver:
        found.append(_of_driver(facts.driver))
    if facts.torch is not None and "+cpu" in facts.torch:
        text = sentence("torch {version} supports the CPU only, so the GPU is not used", version=facts.torch)
        found.append(Finding(NAME, Severity.WARNING, text, verbatim("potluck setup")))
    return [*found, *_of_steps(facts, NAME)]


def _of_steps(facts: GpuFacts, name: Sentence) -> list[Finding]:
    engine = facts.engine
    if engine.slow_why:
        text = sentence("the engine runs without fast kernels: {why}", why=engine.slow_why)
        severity = Severity.WARNING if engine.runs_on_hint else Severity.NOTE
        return [Finding(name, severity, text, engine.runs_on_hint)]
    if not engine.runs_on:
        return []
    return [Finding(name, Severity.OK, sentence("the engine runs on: {what}", what=engine.runs_on))]


def _without_nvidia(facts: GpuFacts) -> Finding:
    if facts.wanted.startswith("cuda"):
        text = sentence("serve.device is {name}, but no GPU is found", name=repr(facts.wanted))
        return Finding(NAME, Severity.ERROR, text, verbatim("potluck config unset serve.device"))
    if facts.has_other:
        text = sentence("there is a GPU without NVIDIA's driver; it is used if torch has a build for it")
        return Finding(NAME, Severity.NOTE, text)
    return Finding(NAME, Severity.NOTE, sentence("no GPU found; the CPU serves instead, which is slow but works"))


def _of_gpu(gpu: Gpu) -> Finding:
    text = sentence("{name} with {size}", name=gpu.name, size=Size(gpu.memory_bytes))
    if gpu.capability is not None and gpu.capability < MIN_CAPABILITY:
        return Finding(
            NAME,
            Severity.WARNING,
            sentence("{name} is too old for torch", name=text),
            verbatim("potluck config set serve.device cpu"),
        )
    return Finding(NAME, Severity.OK, text)


def _of_driver(driver: str) -> Finding:
    major = driver.partition(".")[0]
    if major.isdecimal() and int(major) < MIN_DRIVER:
        advice = sentence("install version {version} or newer", version=MIN_DRIVER)
        return Finding(
            sentence("GPU driver"),
            Severity.ERROR,
            sentence("driver {version} is too old for torch", version=driver),
            advice,
        )
    return Finding(sentence("GPU driver"), Severity.OK, sentence("driver {version}", version=driver))


def _torch() -> str | None:
    try:
        return version("torch")
    except PackageNotFoundError:
        return None
