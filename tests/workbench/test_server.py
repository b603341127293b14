"""`gridstride up` as it is started: what outlives a kill, how soon pages answer, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import re
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import start, up, workers

from gridstride.cli import main
from gridstride.course.content import day
from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench.jobs import Jobs

pytestmark = pytest.mark.timeout(300)  # each test starts servers, some of them several
PATHS = ("/", "/day/5", "/day/5/lab", "/ladders", "/ladder/matmul", "/history", "/glossary")
PASSWORD = "correct horse"
SITE = "<style>@media (prefers-color-scheme: dark) {}</style><h1>mine</h1>"


def queued(folder: Path, number: int, source: str, many: int = 1, session: str = "a") -> None:
    """Jobs that wait before the server is there."""
    with LearnerProgress(folder / "progress.sqlite") as progress:
        for _ in range(many):
            Jobs(progress).add(session, "judge", number, source)


def rows(folder: Path, words: str) -> list[Any]:
    with LearnerProgress(folder / "progress.sqlite") as progress:
        return progress.read(words)


def wait_until_ended(folder: Path, many: int, seconds: float = 100) -> None:
    """Until so many jobs have ended."""
    deadline = time.monotonic() + seconds
    while rows(folder, "SELECT count(*) FROM job WHERE ended IS NOT NULL")[0][0] < many:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_fifty_runs_end_in_order_and_none_is_lost_when_the_server_is_killed(mine: Path) -> None:
    table = day(1).solution.read_text()
    queued(mine, 1, table, many=5)
    queued(mine, 5, day(5).solution.read_text())  # takes seconds: the server is killed in it
    queued(mine, 1, table, many=44)
    with up(mine) as (_, process):
        wait_until_ended(mine, 5)
        process.kill()
        process.wait()
    assert rows(mine, "SELECT day FROM job WHERE state = 'running'") == [(5,)]
    with up(mine):
        wait_until_ended(mine, 50)
    assert rows(mine, "SELECT DISTINCT state FROM job") == [("done",)]
    in_turn = [number for (number,) in rows(mine, "SELECT id FROM job ORDER BY turn")]
    assert in_turn == sorted(in_turn)
    with LearnerProgress(mine / "progress.sqlite") as progress:
        assert [run.passed for run in progress.runs(1)] == [True] * 49
        assert [run.passed for run in progress.runs(5)] == [True]


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_no_judge_outlives_the_server(mine: Path, how: str) -> None:
    queued(mine, 5, day(5).solution.read_text())
    with up(mine) as (_, process):
        deadline = time.monotonic() + 30
        while not workers(mine):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        getattr(process, how)()
        process.wait(20)
    deadline = time.monotonic() + 10
    while workers(mine):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert rows(mine, "SELECT state FROM job") == [("running",)]


def test_pages_of_two_users_answer_while_runs_go_on(mine: Path) -> None:
    """No page waits for a run: the limit is a share of what a run takes beside them, on the same busy machine."""
    for number, session in ((5, "a"), (6, "b")):
        queued(mine, number, day(number).solution.read_text(), session=session, many=4)
    taken: dict[str, list[float]] = {}

    def read(url: str) -> None:
        with httpx.Client(base_url=url) as client:
            for _ in range(7):
                for path in PATHS:
                    began = time.perf_counter()
                    assert client.get(path).status_code == 200
                    taken.setdefault(path, []).append(time.perf_counter() - began)

    with up(mine) as (url, _), ThreadPoolExecutor(2) as users:
        list(users.map(read, [url, url]))
        assert rows(mine, "SELECT count(*) FROM job WHERE ended IS NULL")[0][0] > 0
        wait_until_ended(mine, 2)
        runs = [seconds for (seconds,) in rows(mine, "SELECT seconds FROM run")]
    limit = statistics.median(runs) / 4
    nearly_all = {path: statistics.quantiles(times, n=10)[-1] for path, times in taken.items()}
    assert {path: seconds for path, seconds in nearly_all.items() if seconds > limit} == {}


def test_nothing_is_fetched_from_elsewhere(mine: Path) -> None:
    with up(mine) as (url, _), httpx.Client(base_url=url) as client:
        for path in ("/", "/day/5/lab"):
            page = client.get(path).text
            assert re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//[^"'> ]+""", page) == []
            imports = re.findall(r'"imports": (\{.*?\})\}', page)
            assert [
                target for each in imports for target in json.loads(each).values() if not target.startswith("/")
            ] == []


def test_pictures_that_are_not_there_are_said_to_be_gone(mine: Path) -> None:
    with up(mine) as (url, _), httpx.Client(base_url=url) as client:
        assert client.get("/runs/1/report").status_code == 404
        for name in ("index.html", "..%2fprogress.sqlite", "progress.sqlite"):
            assert client.get(f"/portfolio/site/{name}").status_code == 404


def test_a_portfolio_is_shown_without_scripts_and_in_the_browsers_colours(mine: Path) -> None:
    (mine / "portfolio").mkdir()
    (mine / "portfolio/index.html").write_text(SITE)
    with up(mine) as (url, _), httpx.Client(base_url=url) as client:
        answer = client.get("/portfolio/site/index.html")
        client.cookies.set("gridstride_theme", "dark")
        dark = client.get("/portfolio/site/index.html").text
    assert answer.text == SITE
    assert dark == SITE.replace("@media (prefers-color-scheme: dark)", "@media all")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"  # the portfolio's own page frames it


def test_other_machines_need_the_password(mine: Path) -> None:
    with (
        up(mine, "--host", "0.0.0.0", GRIDSTRIDE_PASSWORD=PASSWORD) as (url, _),
        httpx.Client(base_url=url.replace("0.0.0.0", "127.0.0.1"), headers={"accept": "text/html"}) as client,
    ):
        assert client.get("/day/5").headers["location"] == "/login?to=/day/5"
        assert client.get("/_nicegui/3.18.0/static/nicegui.js", headers={"accept": "*/*"}).status_code == 401
        assert client.post("/login", data={"password": "wrong"}).status_code == 401
        assert client.post("/login?to=/day/5", data={"password": PASSWORD}).headers["location"] == "/day/5"
        assert day(5).title in client.get("/day/5").text
    with up(mine, "--host", "0.0.0.0"):  # the one that was set before
        pass
    assert PASSWORD.encode() not in (mine / "progress.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("words", "more", "said"),
    [
        (["--host", "0.0.0.0"], {}, "it has no password yet: set GRIDSTRIDE_PASSWORD"),
        (["--host", "0.0.0.0"], {"GRIDSTRIDE_PASSWORD": "short"}, "8 characters or more"),
        (["--host", "nowhere.invalid"], {}, "no address of a machine"),
        (["--port", "70000"], {}, "less than or equal to 65535"),
    ],
)
def test_what_cannot_be_is_one_message(mine: Path, words: list[str], more: dict[str, str], said: str) -> None:
    process = start(mine, *words, **more)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said in err
    assert said in json.loads(out)["error"]
    assert "Traceback" not in err


def test_a_port_in_use_and_a_second_workbench_are_said(mine: Path, tmp_path: Path) -> None:
    with up(mine) as (url, _):
        port = url.rpartition(":")[2]
        other = start(tmp_path / "another", "--port", port)
        assert f"port {port} of 127.0.0.1 is in use" in other.communicate(timeout=60)[1]
        same = start(mine, "--port", "0")
        assert f"is up at {url}: open that one" in same.communicate(timeout=60)[1]
        assert (other.returncode, same.returncode) == (2, 2)


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    process = start(tmp_path / "file" / "mine", "--port", "0")
    assert "cannot be made: Not a directory; set GRIDSTRIDE_COURSE" in process.communicate(timeout=60)[1]
    assert process.returncode == 2


def test_without_nicegui_the_way_to_get_it_is_said(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as left:
        main(["up"])
    assert left.value.code == 2
    assert "pip install 'gridstride[workbench]'" in capsys.readouterr().err
