"""Models: what is served and how, what the swarm lacks, what is being downloaded, and what lies on the disk."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.method import Empty, Method


@dataclass(frozen=True, slots=True)
class Progress:
    """Of bytes; `total_bytes` 0: not known yet. `bytes_per_s` is of the recent seconds."""

    done_bytes: int
    total_bytes: int
    bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """The span and where its weights are. Zeros and empty texts: the engine has not told yet."""

    model: str
    swarm: str
    num_blocks: int  # of the whole model
    span: tuple[int, int] | None = None  # blocks [start, end); None: not chosen yet
    dtype: str = ""  # number format of the computation: float32, bfloat16, float16
    quantization: str = ""  # how weights are held: none, int8, int4
    device: str = ""  # cpu, cuda, cuda:1, ...
    resident_blocks: int = 0  # that stay on the device
    streamed_blocks: int = 0  # fetched from RAM or disk in each pass
    device_bytes: int = 0  # of weights on the device
    streamed_bytes: int = 0  # of weights in one pass from RAM or disk
    loading: Progress | None = None  # None: nothing is being loaded


@dataclass(frozen=True, slots=True)
class Need:
    """Blocks [start, end) that `replicas` servers serve alike."""

    start: int
    end: int
    replicas: int


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A downloaded model; `name` as on the hub. One that a joined swarm runs is not deleted by mistake."""

    name: str
    bytes: int
    partial_bytes: int  # of them: files whose download is not finished
    used_at: float  # Unix; when a file of it was last changed or fetched
    swarms: tuple[str, ...]  # joined swarms that run it
    is_served: bool  # by the engine that runs now


@dataclass(frozen=True, slots=True)
class ModelsFolder:
    """Where downloads lie. `prepared_bytes`: blocks converted for this machine; they are made anew when lost."""

    path: str
    is_default: bool  # no folder is chosen in serve.models_folder
    models_bytes: int
    prepared_bytes: int
    free_bytes: int  # of the disk
    limit_bytes: int  # limits.disk_mb; 0: none


@dataclass(frozen=True, slots=True)
class Move:
    """Downloads on their way to another folder. `problem`: why it stopped; what was not moved is where it was."""

    target: str
    progress: Progress
    is_done: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """`needs`: runs of blocks with few replicas, the fewest first; empty while the coverage is not known."""

    served: Served | None
    needs: tuple[Need, ...]
    download: Progress | None  # what the engine fetches now; None: nothing
    folder: ModelsFolder
    stored: tuple[StoredModel, ...]  # the largest first
    move: Move | None  # the last one since the daemon started


@dataclass(frozen=True, slots=True)
class DeleteParams:
    """`name` of a stored model; empty: prepared blocks. `force`: also one that a joined swarm runs."""

    name: str
    force: bool = False

    def __post_init__(self) -> None:
        if len(self.name) > 256 or not self.name.isprintable():
            raise ValueError("a model's name has at most 256 letters")


@dataclass(frozen=True, slots=True)
class Deleted:
    name: str
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class MoveParams:
    """`folder`: absolute; empty: the usual place. `moves_files`: take along what is downloaded already."""

    folder: str
    moves_files: bool = True

    def __post_init__(self) -> None:
        if len(self.folder) > 4096 or "\0" in self.folder:
            raise ValueError("a folder's path has at most 4096 letters")


LIST = Method("models.list", Empty, Models)
DELETE = Method("models.delete", DeleteParams, Deleted)
MOVE = Method("models.move", MoveParams, Models)  # sets serve.models_folder; goes on in the background, see Models.move
