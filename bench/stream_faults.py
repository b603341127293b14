"""Faults of streams in whole programs: `python bench/stream_faults.py [--only WORD …] [--folder DIR]`.

bench/stream_faults/ has programs with one fault each, named on their first line, and of each a right twin (_right.cu).
All run by `gridstride run --sanitize`: found are those of which a finding says that nothing orders two uses of memory;
a right twin with any finding is a false alarm. Writes bench/results/stream_faults.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

import common  # noqa: E402

LIMIT = 120
KIND = "stream_race"


def findings(file: Path) -> list[dict[str, Any]]:
    """What the sanitizer says of a program; RuntimeError for one that does not run."""
    command = [sys.executable, "-m", "gridstride", "run", "--sanitize", "--json", file.name]
    done = subprocess.run(
        command, cwd=file.parent, capture_output=True, text=True, timeout=LIMIT, check=False,
        env=os.environ | {"PYTHONPATH": str(HERE.parent / "src")},
    )  # fmt: skip
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"{file.name}: {done.stderr.strip()}") from None
    return list(said["findings"])


def row(file: Path) -> dict[str, Any]:
    """One program's."""
    found = findings(file)
    text = file.read_text().splitlines()[0].removeprefix("// ")
    return {
        "program": file.stem, "about": text, "right": file.stem.endswith("_right"),
        "kinds": sorted({each["kind"] for each in found}), "message": found[0]["message"] if found else "",
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=HERE / "stream_faults")
    words = parser.parse_args()
    files = sorted(words.folder.glob("*.cu"))
    chosen = [file for file in files if not words.only or any(word in file.stem for word in words.only)]
    started, rows = common.machine(), list[dict[str, Any]]()
    for file in chosen:
        rows.append(row(file))
        last = rows[-1]
        print(f"{last['program']:44} {', '.join(last['kinds']) or '-':24} {last['message'][:110]}", flush=True)
    wrong, right = ([each for each in rows if each["right"] == is_right] for is_right in (False, True))
    counts = {
        "faults": len(wrong), "found": sum(KIND in each["kinds"] for each in wrong),
        "right": len(right), "alarms": sum(bool(each["kinds"]) for each in right),
    }  # fmt: skip
    print(counts)
    if not words.only:
        print(common.save("stream_faults", {"counts": counts, "programs": rows}, started=started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
