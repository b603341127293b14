"""The safetensors files of a folder: which weights they hold, known from their headers before any is read."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.models.errors import ModelError
from gridstride.models.huggingface.fields import read_object, shown

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_FLOATS = ("F64", "F32", "F16", "BF16")
_FOREIGN = {
    "*.bin": "a pickle, which can run any code when it is opened",
    "*.pth": "a pickle, which can run any code when it is opened",
    "*.pt": "a pickle, which can run any code when it is opened",
    "*.gguf": "GGUF, which is not supported",
    "*.h5": "TensorFlow's format, which is not supported",
    "*.msgpack": "Flax's format, which is not supported",
}


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of one of its tensors."""

    file: Path
    dtype: str  # as safetensors names it: F32, BF16, …
    shape: tuple[int, ...]


class Checkpoint(ClosedAtEnd):
    """A folder's safetensors files, held open; nothing of them but the headers is in memory until it is asked for."""

    def __init__(self, folder: Path, *, single: str | None = None) -> None:
        """`single`: the one file that is meant, where it is not the model's."""
        self.folder, self._single = folder, single
        self.headers: dict[str, Header] = {}
        self._files: dict[Path, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            for file, expected in _files(self.folder, self._single).items():
                self._open(file, expected)
        except BaseException:
            self._stack.close()
            raise
        return self

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def read(self, name: str) -> Any:
        """The tensor, as a view of its file."""
        return self._files[self.headers[name].file].get_tensor(name)

    def metadata(self, file: str) -> dict[str, str]:
        """What a file says of itself beside its tensors."""
        metadata: dict[str, str] = self._files[self.folder / file].metadata() or {}
        return metadata

    def _open(self, path: Path, expected: frozenset[str] | None) -> None:
        import safetensors

        try:
            file = self._stack.enter_context(safetensors.safe_open(path, framework="pt", device="cpu"))
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
        except safetensors.SafetensorError as error:
            raise ModelError(f"{path} is truncated or no safetensors file: {error}") from error
        names = frozenset(file.keys())
        if expected is not None and names != expected:
            raise ModelError(f"{path} and {INDEX} disagree about {some(names ^ expected)}")
        self._files[path] = file
        for name in sorted(names):
            self.headers[name] = _header(path, file, name)


def _header(path: Path, file: Any, name: str) -> Header:
    part = file.get_slice(name)
    dtype = part.get_dtype()
    if dtype not in _FLOATS:
        raise ModelError(f"{path}: {name} has the type {dtype}; supported are {', '.join(_FLOATS)}")
    return Header(path, dtype, tuple(part.get_shape()))


def _files(folder: Path, single: str | None) -> dict[Path, frozenset[str] | None]:
    """The files to open, each with the names that the index says it holds; None where there is no index."""
    if single is not None:
        if not (folder / single).exists():
            raise ModelError(f"{folder} has no {single}")
        return {folder / single: None}
    if (folder / INDEX).exists():
        return _indexed(folder)
    if (folder / SINGLE).exists():
        return {folder / SINGLE: None}
    for pattern, why in _FOREIGN.items():
        for path in sorted(folder.glob(pattern)):
            raise ModelError(f"{path} is {why}; {SINGLE} is needed, which `save_pretrained(…)` of transformers writes")
    raise ModelError(f"{folder} has neither {SINGLE} nor {INDEX}")


def _indexed(folder: Path) -> dict[Path, frozenset[str] | None]:
    index = folder / INDEX
    weights = read_object(index).get("weight_map")
    if not isinstance(weights, dict) or not weights:
        raise ModelError(f"{index}: weight_map is {shown(weights)}: an object of weights and files is needed")
    names: dict[str, set[str]] = {}
    for weight, file in weights.items():
        if not _plain(file):
            raise ModelError(f"{index}: {weight} lies in {shown(file)}, not in a .safetensors file beside it")
        names.setdefault(file, set()).add(weight)
    missing = sorted(file for file in names if not (folder / file).exists())
    if missing:
        raise ModelError(f"{folder} lacks {some(missing)}, which {INDEX} names; was it copied as a whole?")
    return {folder / file: frozenset(held) for file, held in sorted(names.items())}


def _plain(file: object) -> bool:
    """A name that cannot lead out of its folder."""
    return isinstance(file, str) and file.endswith(".safetensors") and not set(file) & set("/\\\0") and file[0] != "."


def some(names: Iterable[str]) -> str:
    """The first names in order, and how many more there are."""
    first = sorted(names)
    return ", ".join(first[:4]) + (f" and {len(first) - 4} more" if len(first) > 4 else "")
