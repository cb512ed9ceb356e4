"""`models.*`: what is served and how, and what lies on the disk."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck_control.api.method import Empty, Method, ModelName


class Progress(Struct, frozen=True):
    """Progress of a transfer. `total_bytes` 0: not known yet. `bytes_per_s`: over the last seconds."""

    done_bytes: int
    total_bytes: int
    bytes_per_s: float = 0.0


class Served(Struct, frozen=True):
    """The served span and the place of its weights. Zeros and empty texts are not known yet."""

    model: str
    swarm: str
    num_blocks: int  # blocks of the whole model
    span: tuple[int, int] | None = None  # blocks [start, end); None: not chosen yet
    dtype: str = ""  # number format of the computation: float32, bfloat16, float16
    quantization: str = ""  # how weights are held: none, int8, int4
    device: str = ""  # cpu, cuda, cuda:1, ...
    resident_blocks: int = 0  # blocks that stay on the device
    streamed_blocks: int = 0  # fetched from RAM or disk in each pass
    device_bytes: int = 0  # weights on the device
    streamed_bytes: int = 0  # weights read from RAM or disk in one pass
    ram_bytes: int = 0  # experts that are held and computed in RAM
    loading: Progress | None = None  # None: nothing is being loaded


class StoredModel(Struct, frozen=True):
    """A downloaded model, by its name on the hub. Models of joined swarms are deleted only by force."""

    name: str
    bytes: int
    is_partial: bool  # the download of a file is not finished
    swarms: tuple[str, ...]  # joined swarms that run it
    is_served: bool  # the engine that runs now serves it


class ModelsFolder(Struct, frozen=True):
    """The folder of downloads. `prepared_bytes`: size of converted blocks, which can be made again."""

    path: str
    is_default: bool  # no folder is chosen in serve.models_folder
    models_bytes: int
    prepared_bytes: int
    free_bytes: int  # free space of the disk
    limit_bytes: int  # limits.disk_mb; 0: none


class Models(Struct, frozen=True):
    """The model that this computer serves, and those that it stores."""

    served: Served | None
    folder: ModelsFolder
    stored: tuple[StoredModel, ...]  # the largest first


class DeleteParams(Struct, frozen=True):
    """What to delete. `name`: a stored model; empty: prepared blocks. `force`: even if a joined swarm runs it."""

    name: ModelName
    force: bool = False


class Deleted(Struct, frozen=True):
    """The deleted model, and the space that it took."""

    name: str
    freed_bytes: int


class FolderParams(Struct, frozen=True):
    """A folder with checkpoints; empty: the folder of downloads."""

    folder: Annotated[str, Meta(max_length=4096, pattern=r"^[^\0]*\Z")] = ""


class ModelChoice(Struct, frozen=True):
    """A model that a swarm could have. Zeros and empty texts are not known.

    `model`: what `create` and `swarms.choose_model` take for it. `num_computers`: how many computers like this one hold
    all its layers, about.
    """

    model: str
    name: str
    bytes: int  # size of its weights
    licence: str
    num_computers: int
    is_here: bool  # whole on this computer
    is_gated: bool = False  # its owner decides who may download it


class ModelChoices(Struct, frozen=True):
    """Models to choose from. `lent_bytes`: what this computer lends to one; `num_computers` follow from it."""

    models: tuple[ModelChoice, ...]
    lent_bytes: int


class SearchParams(Struct, frozen=True):
    """Words to search the hub for."""

    words: Annotated[str, Meta(max_length=200, pattern=r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z")]


LIST = Method("models.list", Empty, Models)
DELETE = Method("models.delete", DeleteParams, Deleted)
ON_DISK = Method("models.on_disk", FolderParams, ModelChoices)
SEARCH = Method("models.search", SearchParams, ModelChoices)  # asks the hub, which takes seconds
