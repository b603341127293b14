"""`gridstride draw`: a scene computed on the device, as a PNG file or an animation."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gridstride as gs
from gridstride.commands.climb import writable
from gridstride.commands.target import device_of, where
from gridstride.commands.terminal import ProgressDisplay, WrongUse, emit, print_stderr, stdout, within
from gridstride.gallery.draw import draw, marks
from gridstride.gallery.png import SIGNATURE
from gridstride.gallery.scene import Scene
from gridstride.gallery.table import SCENES

if TYPE_CHECKING:
    from gridstride.commands.options.program_options import DrawOptions

MOST_PIXELS, MOST_WIDTH = 1 << 25, 16_384
MOST_STEPS = 10_000_000
FRAMES, MOST_FRAMES = 60, 1000
_STILL, _ANIMATED = ".png", ".apng"


def run(scene: str | None, options: DrawOptions, *, device: str | None, chip: str | None, as_json: bool) -> bool:
    """Draw one, or list them where none is named."""
    if scene is None:
        _list(as_json)
        return True
    if scene not in SCENES:
        raise WrongUse(f"there is no scene {scene!r}: there are {', '.join(SCENES)}")
    chosen = SCENES[scene]
    width, height = _size(options.size, scene, chosen)
    within("--steps", options.steps, 1, MOST_STEPS)
    target = _target(options.out if options.out is not None else f"{scene}{_STILL}")
    animated = target.suffix.lower() == _ANIMATED
    if options.frames is not None and not animated:
        reason = f"--frames {options.frames} is for animations"
        raise WrongUse(f"{reason}, and {target} is none: name an .apng file with --out")
    within("--frames", options.frames, 2, MOST_FRAMES)
    gpu = device_of(device, chip)
    steps, frames = options.steps or chosen.steps, options.frames or FRAMES
    began = time.perf_counter()
    try:
        with gs.use(gpu), ProgressDisplay(_TENTHS) as progress:
            data = draw(chosen, width, height, steps=steps, frames=frames if animated else None,
                        progress=_Tenths(progress, steps, chosen.step))  # fmt: skip
    except (gs.OutOfDeviceMemory, gs.KernelFault) as error:
        raise WrongUse(f"{scene} at {width}x{height}: {error}; try a smaller --size") from error
    seconds = time.perf_counter() - began
    _save(target, data)
    count = len(marks(steps, frames)) if animated else 1
    if as_json:
        emit({"scene": scene, "file": str(target), "width": width, "height": height, "steps": steps, "frames": count,
              "bytes": len(data), "device": gpu.kind, "seconds": round(seconds, 3)})  # fmt: skip
    else:
        what = f"{count} frames, " if animated else ""
        print_stderr(f"{target}: {width}x{height}, {steps:,} steps, {what}{len(data):,} bytes, "
                     f"{seconds:.1f} s on {where(gpu)}")  # fmt: skip
    return True


def _size(text: str | None, name: str, scene: Scene) -> tuple[int, int]:
    if text is None:
        return scene.size
    match = re.fullmatch(r"([0-9]{1,9})[x×]([0-9]{1,9})", text.strip().lower())
    if match is None:
        width, height = scene.size
        raise WrongUse(f"--size {text!r} is no size: write width x height in pixels, as {width}x{height}")
    width, height = int(match[1]), int(match[2])
    least = scene.least
    if width < least[0] or height < least[1]:
        raise WrongUse(f"--size {text} is too small for {name}: it needs {least[0]}x{least[1]} at least")
    if max(width, height) > MOST_WIDTH or width * height > MOST_PIXELS:
        raise WrongUse(f"--size {text} is too large: {MOST_WIDTH:,} pixels a side and {MOST_PIXELS:,} in all at most")
    return width, height


def _target(out: str) -> Path:
    if Path(out).suffix.lower() not in (_STILL, _ANIMATED):
        raise WrongUse(f"--out {out} must end in {_STILL} (a still picture) or {_ANIMATED} (an animation)")
    target = writable(out, option="--out")
    if target.exists() and not _is_picture(target):
        raise WrongUse(f"--out {out} is there and is no PNG file: choose another name, nothing was changed")
    return target


def _is_picture(path: Path) -> bool:
    """A PNG file, which another picture may replace, or an empty one."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SIGNATURE)) in (SIGNATURE, b"")
    except OSError as error:
        raise WrongUse(f"--out {path} cannot be read: {error.strerror}") from error


def _save(target: Path, data: bytes) -> None:
    from gridstride.judge.report.save import save_bytes

    try:
        save_bytes(target, [data])
    except OSError as error:
        raise WrongUse(f"--out {target} cannot be written: {error.strerror}") from error


_TENTHS = 10


class _Tenths:
    """Progress in tenths of all steps."""

    def __init__(self, progress: ProgressDisplay, steps: int, step: str) -> None:
        self._progress, self._steps, self._step = progress, steps, step
        self._tenths_reported = 0

    def __call__(self, done: int) -> None:
        tenth = done * _TENTHS // self._steps
        if tenth > self._tenths_reported:
            self._tenths_reported = tenth
            self._progress.step(f"{done:,} of {self._steps:,} steps")


def _list(as_json: bool) -> None:
    if as_json:
        emit({"scenes": [_entry(name, scene) for name, scene in SCENES.items()]})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("scene", "shows", "a step is", "size", "steps"):
        table.add_column(heading)
    for name, scene in SCENES.items():
        table.add_row(name, scene.title, scene.step, "{}x{}".format(*scene.size), f"{scene.steps:,}")
    console = stdout()
    console.print(table)
    console.print("\nDraw one:  gridstride draw mandelbrot --out mandelbrot.png")


def _entry(name: str, scene: Scene) -> dict[str, Any]:
    width, height = scene.size
    return {"scene": name, "shows": scene.title, "step": scene.step, "kernel": scene.kernel, "width": width,
            "height": height, "steps": scene.steps}  # fmt: skip
