"""Checkpoints: complete or not there, on one process or many, loaded at any number of ranks.

A save writes into a hidden folder beside the others, makes every file last, adds the manifest and only then renames
the folder; what is older goes after that. A process killed at any point leaves at most a hidden folder, which the next
save removes. The tensors' format is torch.distributed.checkpoint's, which reshards on load.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystem

from gridstride.train.checkpoint import contents, manifest
from gridstride.train.checkpoint.manifest import CheckpointError, Manifest
from gridstride.train.distributed import collectives

__all__ = ["CheckpointError", "Checkpoints", "Manifest"]

_COMPLETE = re.compile(r"step-(\d{6,})")
_REPLACED = re.compile(r"\.replaced-(step-\d{6,})")
_SAVING, _DELETING = ".saving-", ".deleting-"


class Checkpoints:
    """The checkpoints of one run in a folder; the newest `keep` of them stay (None: all).

    `save` and `load` are called by all ranks together, the rest by any.
    """

    def __init__(self, folder: Path | str, keep: int | None = 3) -> None:
        if keep is not None and keep < 1:
            raise CheckpointError(f"keep = {keep}: at least one checkpoint must stay")
        self.folder, self.keep = Path(folder), keep

    def steps(self) -> list[int]:
        """Steps of the complete checkpoints, oldest first."""
        return sorted(self._complete())

    def latest(self) -> int | None:
        """The newest complete checkpoint's step, None where there is none."""
        return max(self._complete(), default=None)

    def path(self, step: int) -> Path:
        """The folder of a complete checkpoint; raises CheckpointError where there is none of that step."""
        steps = self._complete()
        if step not in steps:
            available = f"there are {', '.join(map(str, sorted(steps)))}" if steps else "there is none at all"
            raise CheckpointError(f"{self.folder} has no checkpoint of step {step}: {available}")
        return steps[step]

    def read(self, step: int, *, verify: bool = False) -> Manifest:
        """What a checkpoint says of itself, once all its files have their size (and checksum, if `verify`).

        Takes no memory for tensors: call it before the model is built.
        """
        folder = self.path(step)
        saved = manifest.read(folder)
        if saved.step != step:
            raise CheckpointError(f"{folder} holds step {saved.step}: it was renamed")
        if verify:
            manifest.verify(folder, saved.files)
        return saved

    def save(self, step: int, state: Mapping[str, Any], *, meta: Mapping[str, Any], own: Any = None) -> Path:
        """Save nested dicts of tensors, the run's `meta` (rank 0's counts) and what is each rank's `own`.

        Returns the checkpoint's folder, complete. Raises CheckpointError on all ranks where one of them failed;
        everything that was there before still is then.
        """
        manifest.exact("meta", dict(meta))
        manifest.exact("own", own)
        try:
            return self._saved(step, state, dict(meta), own)
        except collectives.RanksFailed as failed:
            raise CheckpointError(
                f"the checkpoint of step {step} could not be saved in {self.folder}: {failed}; those before are kept"
            ) from failed

    def load(self, step: int, state: dict[str, Any], *, verify: bool = False) -> Manifest:
        """Fill the tensors of `state` in place, whatever number of ranks saved them, and replace its other values.

        Names, shapes and dtypes must be the saved ones; a checkpoint that is damaged, incomplete or another model's is
        refused with CheckpointError before `state` is touched.
        """
        try:
            manifests = collectives.everywhere(partial(self._readable, step, state, verify=verify))[collectives.rank()]
            reader = dcp.FileSystemReader(self.path(step))
            _with_ranks(lambda: dcp.load(state, storage_reader=reader, no_dist=collectives.world() == 1))
        except collectives.RanksFailed as failed:
            raise CheckpointError(str(failed)) from failed
        return manifests

    def _complete(self) -> dict[int, Path]:
        """Folders by step. One put aside for its successor counts until that one is there."""
        try:
            folders = {path.name: path for path in self.folder.iterdir() if path.is_dir()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise CheckpointError(f"the checkpoints in {self.folder} cannot be read: {error.strerror}") from error
        for name, path in list(folders.items()):
            if aside := _REPLACED.fullmatch(name):
                folders.setdefault(aside[1], path)
        return {int(match[1]): path for name, path in folders.items() if (match := _COMPLETE.fullmatch(name))}

    def _saved(self, step: int, state: Mapping[str, Any], meta: dict[str, Any], own: Any) -> Path:
        final = self.folder / f"step-{step:06d}"
        temporary = self.folder / f"{_SAVING}{final.name}"
        with self._folder_locked():
            try:
                collectives.on_first(partial(self._begin, temporary))
                self._write(temporary, state)
                measured = collectives.everywhere(partial(_measured, temporary))
                files = {name: file for mine in measured for name, file in mine.items()}
                owned = collectives.everywhere(lambda: own)
                content = Manifest(step=step, ranks=collectives.world(), meta=meta, own=owned, files=files)
                collectives.on_first(partial(self._finish, temporary, final, content))
            except collectives.RanksFailed:
                if collectives.rank() == 0:
                    shutil.rmtree(temporary, ignore_errors=True)  # at once: it may be what fills the disk
                raise
        return final

    @contextmanager
    def _folder_locked(self) -> Iterator[None]:
        """Rank 0 holds the folder's lock: two runs in one folder would sweep away each other's unfinished saves."""
        held: list[IO[str]] = []
        collectives.on_first(lambda: held.append(_locked(self.folder)))
        try:
            yield
        finally:
            for lock in held:
                lock.close()

    def _begin(self, temporary: Path) -> None:
        self._sweep()
        temporary.mkdir()

    def _write(self, temporary: Path, state: Mapping[str, Any]) -> None:
        writer = dcp.FileSystemWriter(temporary, sync_files=True)
        writer.fs = _Disk()
        _with_ranks(lambda: dcp.save(dict(state), storage_writer=writer, no_dist=collectives.world() == 1))

    def _finish(self, temporary: Path, final: Path, content: Manifest) -> None:
        manifest.write(temporary, content)
        if final.exists():
            final.rename(self.folder / f".replaced-{final.name}")
        temporary.rename(final)
        manifest.make_last(self.folder)
        self._sweep()
        for step in self.steps()[: -self.keep] if self.keep else ():
            path = self.path(step)
            path.rename(gone := self.folder / f"{_DELETING}{path.name}")
            _remove(gone)

    def _sweep(self) -> None:
        """Remove what killed processes left, and put back what was put aside for a save that never came."""
        for path in self.folder.iterdir():
            aside = _REPLACED.fullmatch(path.name)
            if aside and not (self.folder / aside[1]).exists():
                path.rename(self.folder / aside[1])
            elif aside or path.name.startswith((_SAVING, _DELETING)):
                _remove(path)

    def _readable(self, step: int, state: Mapping[str, Any], *, verify: bool) -> Manifest:
        saved = self.read(step)
        folder = self.path(step)
        if verify:
            mine = sorted(saved.files)[collectives.rank() :: collectives.world()]
            manifest.verify(folder, {name: saved.files[name] for name in mine})
        contents.check(folder, state)
        return saved


class _Disk(FileSystem):
    """Files whose errors are the operating system's: torch.save hides a full disk behind a check of its own."""

    @contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[Any]:
        with super().create_stream(path, mode) as stream:
            try:
                yield stream
            except RuntimeError as error:
                raise _refusal(error) from error


def _refusal(error: BaseException) -> BaseException:
    """The operating system's error that led to this one, or this one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause or error


def _locked(folder: Path) -> IO[str]:
    """An open file that holds the folder's lock until it is closed or the process ends, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / ".lock").open("w")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise CheckpointError("another run is saving there at this moment") from None
    return lock


def _measured(folder: Path) -> dict[str, manifest.File]:
    """This rank's own files; rank 0 has the metadata too."""
    mine = list(folder.glob(f"__{collectives.rank()}_*")) + ([folder / ".metadata"] if collectives.rank() == 0 else [])
    return {path.name: manifest.measure(path) for path in mine}


def _with_ranks(act: Callable[[], Any]) -> None:
    """Run a collective of torch's checkpoint room; what failed on any rank becomes Failed on every one."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")  # one process is meant
            act()
    except CheckpointException as error:  # a BaseException: `except Exception` would let it through
        raise collectives.RanksFailed(
            [collectives.failure(at, cause) for at, (cause, _) in error.failures.items()]
        ) from error


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except OSError as error:  # the new checkpoint is complete: no reason to fail
        warnings.warn(f"{path} could not be removed: {error.strerror}", RuntimeWarning, stacklevel=2)
