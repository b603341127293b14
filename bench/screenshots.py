"""The README's pictures of the workbench, taken by a browser from a learner's first five days.

    python bench/screenshots.py [--chromium FILE]

`gridstride up` as a process, in a folder of its own; playwright drives a Chromium. What the pictures show was judged
and counted while they were taken.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import ROOT

sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT / "tests/workbench"))

from playwright.sync_api import ViewportSize, sync_playwright
from served import up

from gridstride.course.content import day

IMAGES = ROOT / "docs/images"
PASSED = (1, 3, 4)
WIDE = ViewportSize(width=1180, height=1060)
PHONE = ViewportSize(width=390, height=844)
SAID = ("12", "4")
"""What the learner says to the first questions of day 5."""


def write(page: Any, text: str) -> None:
    """Replace what stands in the editor."""
    page.locator(".cm-content[contenteditable=true]").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    page.keyboard.press("Control+Home")


def judge(page: Any, url: str, number: int, text: str, verdict: str) -> None:
    """Run a text as a day's lab."""
    page.goto(f"{url}/day/{number}/lab")
    write(page, text)
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(f".verdict.{verdict}").wait_for()


def race(page: Any, url: str) -> None:
    """A lab whose barrier is missing, with its first hint."""
    solution = day(5).solution.read_text()
    judge(page, url, 5, "".join(line for line in solution.splitlines(True) if "__syncthreads" not in line), "fail")
    page.get_by_role("button", name="First hint").click()
    page.locator(".hints li").first.wait_for()
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=IMAGES / "workbench.png")


def pictures(page: Any, url: str) -> None:
    """The same lab's solution, explained."""
    judge(page, url, 5, day(5).solution.read_text(), "pass")
    page.get_by_role("button", name="Explain it in pictures").click()
    page.goto(url + page.locator("iframe").get_attribute("src"))
    source = page.get_by_role("heading", name="Source", exact=True)
    top = source.evaluate("e => e.getBoundingClientRect().top + window.scrollY") - 12
    clip = {"x": 0, "y": top, "width": WIDE["width"], "height": 1175}
    page.screenshot(path=IMAGES / "workbench-pictures.png", full_page=True, clip=clip)


def phone(page: Any, url: str) -> list[bytes]:
    """Days, a quiz, a lab and a ladder."""
    shots = []

    def shoot(locator: Any = None) -> None:
        if locator is not None:
            locator.evaluate("e => window.scrollTo(0, e.getBoundingClientRect().top + window.scrollY - 8)")
        page.wait_for_timeout(300)
        shots.append(page.screenshot())

    page.goto(url)
    page.locator("h1").wait_for()
    shoot()
    page.goto(f"{url}/day/5")
    cards = page.locator(".question")
    for index, said in enumerate(SAID):
        card = cards.nth(index)
        card.get_by_role("textbox").fill(said)
        card.get_by_role("textbox").press("Enter")
        card.locator(".why").wait_for()
    shoot(cards.first)
    page.goto(f"{url}/day/5/lab")
    page.locator(".verdict.pass").wait_for()
    shoot(page.locator(".cm-editor"))
    page.goto(f"{url}/ladder/matmul")
    shoot(page.get_by_text("04_register_tile_1d").first)
    return shots


def side_by_side(page: Any, shots: list[bytes]) -> bytes:
    """One picture of several."""
    images = "".join(f'<img src="data:image/png;base64,{base64.b64encode(each).decode()}">' for each in shots)
    page.set_content(f'<body style="margin:0;display:flex;gap:24px;background:#fff">{images}</body>')
    page.wait_for_timeout(300)
    return bytes(page.screenshot())


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    chromium = words.parse_args().chromium
    if chromium is None:
        raise SystemExit("no Chromium on this machine: --chromium FILE says where one is")
    with (
        tempfile.TemporaryDirectory() as home,
        up(Path(home) / "gridstride-course", HOME=home) as (url, _),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=WIDE, color_scheme="light")
        page.set_default_timeout(300_000)
        for number in PASSED:
            judge(page, url, number, day(number).solution.read_text(), "pass")
        race(page, url)
        pictures(page, url)
        small = browser.new_page(viewport=PHONE, color_scheme="dark")
        small.set_default_timeout(300_000)
        shots = phone(small, url)
        width = len(shots) * (PHONE["width"] + 24) - 24
        together = browser.new_page(viewport={"width": width, "height": PHONE["height"]})
        (IMAGES / "workbench-phone.png").write_bytes(side_by_side(together, shots))
        browser.close()


if __name__ == "__main__":
    main()
