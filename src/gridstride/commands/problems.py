"""`gridstride problems`: what there is to climb."""

from __future__ import annotations

from typing import Any

from gridstride.commands.target import folder_of
from gridstride.commands.terminal import emit, stdout


def run(*, as_json: bool) -> bool:
    """List the problems that come with GridStride."""
    from gridstride.judge.find import problem_names

    listed = [_entry(name) for name in problem_names()]
    if as_json:
        emit({"problems": listed})
        return True
    console = stdout()
    width = max(len(entry["problem"]) for entry in listed)
    for entry in listed:
        console.print(f"{entry['problem']:{width}}  {entry['title']}")
        console.print(
            f"{'':{width}}  {len(entry['rungs'])} rungs, {len(entry['wrong'])} kernels to reject", style="dim"
        )
    console.print("\nClimb one:  gridstride climb matmul")
    return True


def _entry(name: str) -> dict[str, Any]:
    folder = folder_of(name)
    return {
        "problem": name,
        "title": folder.problem.title,
        "rungs": [file.name for file in folder.rungs()],
        "wrong": [file.name for file in folder.wrong()],
    }
