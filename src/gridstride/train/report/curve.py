"""A picture of a run's losses."""

from __future__ import annotations

from pathlib import Path

from gridstride.train.checkpoint.folder import RunFolder


def draw(folder: RunFolder, file: Path, *, trigram: float | None = None) -> bool:
    """Training and validation loss over steps, with the trigram's as a line; false where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    entries = folder.log_entries()
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for key, label, style in (("loss", "training", "-"), ("validation_loss", "validation", "o-")):
        points = [(entry["step"], entry[key]) for entry in entries if key in entry]
        if points:
            axes.plot(*zip(*points, strict=True), style, label=label, markersize=4, linewidth=1.2)
    if trigram is not None:
        axes.axhline(trigram, linestyle="--", color="grey", linewidth=1, label="trigram of tokens")
    axes.set(xlabel="step", ylabel="loss, nats per token", title=folder.path.name)
    axes.legend()
    axes.grid(alpha=0.3)
    aside = file.with_name(f".{file.name}.new")
    figure.savefig(aside, dpi=120, format="png")
    aside.replace(file)
    return True
