"""`gridstride serve`: what is wrong is said in one message before anything starts, without a traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gridstride.cli import main
from gridstride.commands.options import serve_options
from gridstride.commands.options.serve_words import ServeOptions
from gridstride.commands.terminal import WrongUse

Refused = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What passes for a model folder until it is loaded."""
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The one message that a command line gets."""

    def run(*words: str) -> str:
        with pytest.raises(SystemExit) as left:
            main(("serve", *words))
        said = capsys.readouterr()
        assert left.value.code == 2
        assert said.out == ""
        errors = [line for line in said.err.splitlines() if not line.startswith("warning: ")]
        assert len(errors) == 1
        return errors[0]

    return run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--port", "70000"), "--port 70000 must be from 0 to 65535"),
        (("--port", "many"), "--port"),
        (("--max-running", "0"), "--max-running 0 must be from 1"),
        (("--max-queue", "-1"), "--max-queue -1"),
        (("--block-size", "0"), "--block-size 0"),
        (("--cache-memory", "lots"), "--cache-memory lots is no amount of memory"),
        (("--cache-memory", "0"), "--cache-memory 0"),
        (("--max-body", "-5"), "--max-body -5"),
        (("--dtype", "int4"), "--dtype int4 is none of auto, float32"),
        (("--policy", "lifo"), "--policy lifo is none of continuous, fifo, static"),
        (("--grace", "-1"), "--grace -1"),
        (("--stall-after", "0"), "--stall-after 0"),
        (("--stall-after", "nan"), "--stall-after nan"),
        (("--api-key", ""), "API key"),
        (("--api-key", "ключ"), "API key"),
        (("--api-key-file", "/nowhere/keys"), "--api-key-file /nowhere/keys cannot be read"),
        (("--served-name", ""), "--served-name"),
        (("--tensor-parallel-size", "0"), "--tensor-parallel-size 0 must be from 1"),
        (("--speculate", "medusa"), "--speculate medusa is none of ngram, draft"),
        (("--speculate", "draft"), "--speculate draft needs --draft-model DIR"),
        (("--draft-model", "/tmp"), "--draft-model /tmp changes nothing without --speculate draft"),
        (("--speculate", "draft", "--draft-model", "/nowhere"), "--draft-model /nowhere: there is no such folder"),
        (("--speculate", "ngram", "--speculate-tokens", "17"), "--speculate-tokens 17 must be from 1 to 16"),
        (("--speculate-tokens", "4"), "--speculate-tokens 4 needs --speculate ngram or draft"),
        (("--adapter", "polite"), "--adapter polite: write NAME=DIR"),
        (("--adapter", "polite=/nowhere"), "--adapter polite=/nowhere: there is no folder /nowhere"),
        (("--adapter", "a=/tmp", "--adapter", "a=/var"), "--adapter a=/var: there is another adapter of the name a"),
        (("--adapter", "m=/tmp", "--served-name", "m"), "--adapter m=…: that is the model's own name"),
        (("--max-model-len", "0"), "--max-model-len 0 must be from 1"),
        (("--chat-template", "/nowhere/t.jinja"), "/nowhere/t.jinja cannot be read"),
        (("--pooling", "max"), "--pooling max is none of last, mean"),
        (("--cors", "localhost:3000/"), "--cors localhost:3000/ is no origin"),
        (("--host", "no such host.invalid"), "--host no such host.invalid is no address"),
        (("--host", "192.0.2.1"), "no address of this machine: 127.0.0.1"),
        (("--bogus",), "--bogus"),
    ],
)
def test_a_wrong_option_is_named(refused: Refused, folder: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused(str(folder), *words)


def test_a_port_in_use_is_said_to_be(refused: Refused, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} of 127.0.0.1 is in use" in refused(str(folder), "--port", str(port))


@pytest.mark.skipif(
    os.geteuid() == 0 or int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 80,
    reason="this user may listen on every port",
)
def test_a_port_for_privileged_users_is_said_to_be(refused: Refused, folder: Path) -> None:
    assert "privileged" in refused(str(folder), "--port", "80")


def test_without_a_model_the_way_to_one_is_named(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "gridstride train" in refused()
    assert "there is no folder nowhere" in refused("nowhere")


def test_a_file_without_a_key_is_refused(refused: Refused, folder: Path) -> None:
    (folder / "keys").write_text("\n# none yet\n")
    assert "holds no key" in refused(str(folder), "--api-key-file", str(folder / "keys"))


def test_keys_come_from_lines_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# ours\nfirst\n\n second \n")
    given = ServeOptions(api_key=("third",), api_key_file=str(tmp_path / "keys"))
    assert serve_options.keys(given) == {"first", "second", "third"}


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("1KiB", 1024), ("500MB", 500 << 20), ("1.5g", 3 << 29), ("2 TiB", 2 << 40)]
)
def test_amounts_of_memory(text: str, size: int) -> None:
    assert serve_options.bytes_of("--cache-memory", text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1e9", "4 GX", "9" * 50])
def test_what_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(WrongUse, match="--cache-memory"):
        serve_options.bytes_of("--cache-memory", text)


@pytest.mark.parametrize(
    ("path", "name"), [("/runs/stdlib/model", "stdlib"), ("/models/qwen", "qwen"), ("/model", "model")]
)
def test_a_model_is_called_as_its_folder_or_its_run(path: str, name: str) -> None:
    assert serve_options.name_of(Path(path)) == name


def serve(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gridstride", "serve", *words], capture_output=True, text=True)


def test_a_model_that_cannot_be_loaded_ends_the_command_with_what_is_wrong(folder: Path) -> None:
    done = serve(str(folder), "--port", "0", "--json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(folder) in json.loads(done.stdout)["error"]


def test_a_server_that_others_reach_without_a_key_is_warned_of(folder: Path) -> None:
    done = serve(str(folder), "--port", "0", "--host", "0.0.0.0")
    assert "warning: other machines can reach this server" in done.stderr
    done = serve(str(folder), "--port", "0", "--host", "0.0.0.0", "--api-key", "k")
    assert "warning" not in done.stderr


def test_the_engine_is_started_with_threads_that_sleep_while_they_wait(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridstride.serve.process import child

    def started(_: object) -> None:
        raise WrongUse(os.environ["OMP_WAIT_POLICY"])

    monkeypatch.setattr(child, "EngineProcess", started)
    monkeypatch.setenv("OMP_WAIT_POLICY", "")  # so that it is as before afterwards
    monkeypatch.delenv("OMP_WAIT_POLICY")
    with pytest.raises(SystemExit):
        main(("serve", str(folder), "--port", "0"))
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
