"""A run's folder: what lies where, and who may write into it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridstride.train.config import run_config as settings
from gridstride.train.errors import TrainError

_OURS = (
    "config.toml",
    "checkpoints",
    "model",
    "adapter",
    "log.jsonl",
    "result.json",
    "sample.txt",
    "curve.png",
    "trace.json",
    "tensorboard",
)
# What cannot change when a run goes on: the weights or the order of the text would be others.
_FIXED = (
    *("model", "data", "optimiser.kind", "run.seed", "run.batch"),
    *(f"tune.{name}" for name in "base method objective rank alpha targets beta template".split()),
)


_SHOWN = 8  # names of runs in one message


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def adapter(self) -> Path:
        return self.path / "adapter"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def exists(self) -> bool:
        return self.config.exists()

    def write(self, name: str, text: str) -> None:
        """Whole or not at all: written aside, then renamed."""
        aside = self.path / f".{name}.new"
        aside.write_text(text, encoding="utf-8")
        os.replace(aside, self.path / name)

    def log_entries(self) -> list[dict[str, Any]]:
        """What was logged; a last line cut short by a kill is left out."""
        try:
            lines = self.log.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            try:
                entries.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return entries


def opened(config: settings.Config, *, resume: bool, overwrite: bool) -> RunFolder:
    """The run's folder, which can be written; `begin` makes it.

    An existing run is refused unless one of the two words is given, and one that goes on must be there.
    """
    folder = run_folder(config)
    if resume and not folder.exists:
        raise TrainError(f"there is no run {folder.path} to go on with; {_runs(folder.path.parent)}")
    if folder.exists and not (resume or overwrite):
        raise TrainError(
            f"{folder.path} is a run already ({_described(folder)}). Go on with it: --resume; begin anew, losing it: "
            "--overwrite; keep it and begin another: --name NAME"
        )
    if refusal := _refusal(folder.path):
        raise _unwritable(folder, refusal)
    return folder


def run_folder(config: settings.Config) -> RunFolder:
    """Where this run lies, or would."""
    return RunFolder(Path(config.run.folder) / config.run.name)


def begin(folder: RunFolder, config: settings.Config, *, anew: bool) -> None:
    """Write down what runs; `anew` removes the run that was there, so call it once nothing can be refused any more."""
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        if anew:
            _clear(folder)
        folder.write("config.toml", settings.text(config))
    except OSError as error:
        raise _unwritable(folder, error) from error


def command(config: settings.Config, *words: str) -> str:
    """`gridstride train` with these words, for this very run: as a user can type it."""
    run, usual = config.run, settings.load().run
    if config.tune.base and "--overwrite" in words:  # what it goes on from, and its rows, have no usual place
        return shlex.join(["gridstride", "train", "--config", str(run_folder(config).config), *words])
    named = [] if run.name == usual.name else ["--name", run.name]
    placed = [] if run.folder == usual.folder else ["--set", f"run.folder={run.folder}"]
    return shlex.join(["gridstride", "train", *named, *placed, *words])


def _refusal(path: Path) -> OSError | None:
    """Why nothing could be written there, or made if it is not there yet; None where it could."""
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    if not existing.is_dir():
        return NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(existing, os.W_OK | os.X_OK):
        return PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return None


def _runs(folder: Path) -> str:
    """What a run's name may have been meant to be."""
    names = sorted(path.parent.name for path in folder.glob("*/config.toml"))
    if not names:
        return f"there is none at all in {folder}"
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_SHOWN])}{' …' * (len(names) > _SHOWN)}"


def _unwritable(folder: RunFolder, error: OSError) -> TrainError:
    words = error.strerror or str(error)
    return TrainError(f"cannot write to {folder.path}: {words}. Choose another place: --set run.folder=DIR")


def _described(folder: RunFolder) -> str:
    if folder.result.exists():
        return "finished"
    steps = [entry["step"] for entry in folder.log_entries() if "step" in entry]
    return f"stopped at step {steps[-1]}" if steps else "just begun"


def _clear(folder: RunFolder) -> None:
    for name in _OURS:
        path = folder.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def compatible(config: settings.Config, saved: settings.Config) -> None:
    """Raise TrainError where a resumed run's configuration differs in what cannot change."""
    for key in _FIXED:
        if key == "model" and saved.tune.base:  # its folder's shape counts
            continue
        for name, (new, old) in _differences(config, saved, key).items():
            raise TrainError(
                f"config: {name} is {new!r}, but the run began with {old!r}; it cannot change when a run goes on. "
                "Leave it, or begin another run: --name NAME"
            )


def _differences(config: settings.Config, saved: settings.Config, key: str) -> dict[str, tuple[Any, Any]]:
    section, _, name = key.partition(".")
    new, old = asdict(config)[section], asdict(saved)[section]
    names = [name] if name else list(new)
    return {f"{section}.{n}": (new[n], old[n]) for n in names if new[n] != old[n]}
