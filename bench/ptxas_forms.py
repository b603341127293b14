"""The instruction list against ptxas: which forms exist, which the virtual GPU executes.

python bench/ptxas_forms.py record     # asks ptxas for sm_90a and writes the fixture; needs the CUDA toolkit
python bench/ptxas_forms.py compare    # the virtual GPU against the fixture, anywhere
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests/virtual/forms")]

import form_audit  # noqa: E402
import instruction_forms as table  # noqa: E402

PTXAS = "ptxas"


def refused(texts: list[str]) -> dict[int, str]:
    """Which of the instructions ptxas refuses, with what it says."""
    found: dict[int, str] = {}
    while True:
        left = ["" if i in found else text for i, text in enumerate(texts)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "probe.ptx"
            path.write_text(table.program(left))
            done = subprocess.run(
                [PTXAS, "-arch", "sm_90a", "-O0", str(path), "-o", str(path.with_suffix(".cubin"))],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        new = {
            int(line) - table.FIRST_LINE: message
            for line, message in re.findall(r"line (\d+); (?:error|fatal)\s*: (.*)", done.stderr)
        }
        new = {i: message for i, message in new.items() if 0 <= i < len(texts) and i not in found}
        if not new:
            if done.returncode and len(texts) == 1:
                return {0: done.stderr}
            return found
        found |= new


def record() -> None:
    accepted = {}
    for pattern in table.patterns():
        texts = [form.text for form in table.forms(pattern)]
        wrong = refused(texts)
        accepted[pattern] = "".join("01"[i not in wrong] for i in range(len(texts)))
        print(f"{accepted[pattern].count('1'):5} of {len(texts):5}  {pattern}")
    version = subprocess.run([PTXAS, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    found = {"ptxas": version, "accepted": accepted, "operands": {}}
    table.FIXTURE.write_text(json.dumps(found, indent=0) + "\n")
    table.fixture.cache_clear()
    found["operands"] = {text: int(not refused([text])) for text in table.exchanged(800)}
    table.FIXTURE.write_text(json.dumps(found, indent=0) + "\n")


def compare() -> None:
    for pattern in table.patterns():
        rows = table.accepted(pattern)
        try:
            verdict = form_audit.lowered([form.text for form, _ in rows])
        except Exception as error:
            print(f"BROKEN {pattern}: {type(error).__name__} {str(error)[:200]!r}")
            continue
        lacking = [form.text for form, ok in rows if ok and verdict[form.text]]
        lenient = [form.text for form, ok in rows if not ok and not verdict[form.text]]
        for text in lacking:
            print(f"LACKS   {text}    {verdict[text]}")
        for text in lenient:
            print(f"LENIENT {text}")
    for text, ok in table.fixture()["operands"].items():
        said = form_audit.parsed(text)
        if bool(said) == bool(ok):
            print("STRICT " if ok else "LOOSE  ", text, said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("record", "compare"), default="compare")
    {"record": record, "compare": compare}[parser.parse_args().what]()
