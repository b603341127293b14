"""The folder of a portfolio: written again and again, and never over anything that is not its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

NAME = "portfolio"
"""Of the folder, in the learner's own."""
MARKER = ".gridstride-portfolio"
"""Lists the pages that were written: they, and no other file, are overwritten and removed."""
PAGE = re.compile(r"index\.html|day\d{3}\.html")


class FolderRefused(ValueError):
    """A folder that holds something else; the message names it and the way out."""


def check(folder: Path, pages: Iterable[str]) -> None:
    """FolderRefused where writing these pages would overwrite something else; OSError where that cannot be seen."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise FolderRefused(f"{folder} is no folder: name another one")
    if not (folder / MARKER).is_file():
        if existing := sorted(path.name for path in folder.iterdir()):
            raise FolderRefused(
                f"{folder} holds files that are no portfolio ({_some(existing)}): name a folder that is empty or not "
                "there"
            )
        return
    own = _written(folder)
    if foreign := sorted(page for page in pages if page not in own and (folder / page).exists()):
        raise FolderRefused(f"{_some(foreign)} in {folder} is of no portfolio: move it away, or name another folder")


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Write the pages, and remove those of an earlier time that are none any more; FolderRefused, OSError.

    The marker comes first: whoever is interrupted finds a folder that can be written again.
    """
    from gridstride.judge.report.save import save

    check(folder, pages)
    folder.mkdir(parents=True, exist_ok=True)
    old_pages = _written(folder)
    save(folder / MARKER, _marker(old_pages | set(pages)))
    for name, text in pages.items():
        save(folder / name, text)
    for name in old_pages - set(pages):
        (folder / name).unlink(missing_ok=True)
    save(folder / MARKER, _marker(pages))


def _marker(pages: Iterable[str]) -> str:
    return json.dumps({"pages": sorted(pages)}, indent=2) + "\n"


def _written(folder: Path) -> set[str]:
    """The pages that the marker lists; a name that is none of ours is not believed."""
    try:
        listed = json.loads((folder / MARKER).read_text(encoding="utf-8"))["pages"]
        return {name for name in listed if isinstance(name, str) and PAGE.fullmatch(name)}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return set()


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
