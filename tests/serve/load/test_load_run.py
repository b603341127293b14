"""A load against a server: what is sent, what is measured, and what a bad server does to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Fake, serving

from gridstride.commands.options.stack_options import LoadOptions
from gridstride.commands.terminal import WrongUse
from gridstride.serve.load import client
from gridstride.serve.load import load_run as run
from gridstride.serve.load.errors import LoadError, ServerGone
from gridstride.serve.load.lengths import lengths


def load(fake: Fake, **how: Any) -> dict[str, Any]:
    settings = {"requests": 6, "concurrency": 3, "prompt_lengths": lengths("8"), "output_lengths": lengths("4")}
    if "rate" in how:
        del settings["concurrency"]
    return asyncio.run(run.run(fake.url, run.Load(**settings | how)))


def test_every_request_is_answered_and_counted() -> None:
    with serving() as fake:
        made = load(fake)
    assert (made["succeeded"], made["errors"], made["finish_reasons"]) == (6, {}, {"length": 6})
    assert (made["prompt_tokens"], made["output_tokens"]) == (48, 24)
    assert made["tokens_counted_by_server"]
    assert made["exact_prompt_lengths"]


def test_requests_ask_for_what_openai_knows_and_for_whole_lengths() -> None:
    with serving() as fake:
        load(fake, requests=1)
    (body,) = fake.bodies
    assert body["model"] == "fake"
    assert (body["stream"], body["stream_options"], body["ignore_eos"]) == (True, {"include_usage": True}, True)
    assert len(body["prompt"]) == 8


def test_plain_openai_servers_get_only_what_they_know() -> None:
    with serving() as fake:
        load(fake, ignore_eos=False)
    assert "ignore_eos" not in fake.bodies[0]


def test_chats_send_messages() -> None:
    with serving() as fake:
        made = load(fake, chat=True, requests=1)
    assert [m["role"] for m in fake.bodies[0]["messages"]] == ["user"]
    assert made["output_tokens"] == 4
    assert not made["exact_prompt_lengths"]


def test_the_first_text_is_waited_for_and_not_the_first_event() -> None:
    with serving(first=0.2, gap=0.05) as fake:
        made = load(fake, chat=True, requests=1, concurrency=1)
    assert made["ttft_ms"]["p50"] >= 200
    assert made["tpot_ms"]["p50"] >= 40  # what was late at the start is not late at the end
    assert made["itl_ms"]["p50"] >= 40
    assert made["e2e_ms"]["p50"] >= 350


def test_requests_one_after_another_share_a_connection() -> None:
    with serving() as fake:
        load(fake, requests=2 * client._POOL, concurrency=1)
    assert fake.connections == 1


def test_an_idle_connection_that_the_server_closes_is_no_failure() -> None:
    with serving(closes_idle=True) as fake:
        made = load(fake, requests=5, concurrency=1)
    assert (made["succeeded"], made["errors"]) == (5, {})


def test_more_run_at_a_time_than_one_pool_holds() -> None:
    many = 2 * client._POOL + 1
    with serving(first=0.5) as fake:
        made = load(fake, requests=many, concurrency=many)
    assert (made["succeeded"], fake.most) == (many, many)


def test_so_many_run_at_a_time() -> None:
    with serving(first=0.3) as fake:
        load(fake, requests=12, concurrency=4)
    assert fake.most == 4


def test_a_rate_does_not_wait_for_answers() -> None:
    with serving(first=1.0) as fake:
        made = load(fake, requests=10, rate=1000.0)
    assert fake.most > 4
    assert made["client_late_ms"] is not None


def test_the_warm_up_does_not_count() -> None:
    with serving() as fake:
        made = load(fake, warmup=5)
    assert len(fake.bodies) == 11
    assert made["requests"] == 6


def test_without_usage_each_text_counts_as_a_token() -> None:
    with serving(usage=False) as fake:
        made = load(fake)
    assert not made["tokens_counted_by_server"]
    assert made["output_tokens"] == 24


def test_a_server_that_does_not_tokenise_gets_text_of_about_the_length() -> None:
    with serving(tokenizes=False) as fake:
        made = load(fake)
    assert len(fake.bodies[0]["prompt"]) == 8 * client.CHARACTERS_PER_TOKEN
    assert not made["exact_prompt_lengths"]


def test_what_does_not_fit_into_the_context_is_cut_and_said() -> None:
    with serving(longest=10) as fake:
        made = load(fake, output_lengths=lengths("4"), warmup=1)
        assert made["cut_to_fit"] == 6
        assert {(len(body["prompt"]), body["max_tokens"]) for body in fake.bodies} == {(8, 2)}
        assert load(fake, prompt_lengths=lengths("6"))["cut_to_fit"] == 0
        load(fake, prompt_lengths=lengths("60"), requests=1)
        assert (len(fake.bodies[-1]["prompt"]), fake.bodies[-1]["max_tokens"]) == (9, 1)


def test_own_prompts_are_sent(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('"hello"')
    with serving() as fake:
        load(fake, prompts=str(tmp_path / "p.jsonl"), requests=2)
    assert [body["prompt"] for body in fake.bodies] == ["hello"] * 2


def test_the_key_is_sent() -> None:
    with serving(key="s3cret") as fake:
        assert load(fake, key="s3cret")["succeeded"] == 6
        with pytest.raises(LoadError, match="wants a key: 401"):
            load(fake)


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        ({"status": 503}, "HTTP 503", "busy"),
        ({"status": 500}, "HTTP 500", "busy"),
        ({"fault": "cut"}, "broken stream", None),
        ({"fault": "silent"}, "broken stream", None),
        ({"fault": "garbage"}, "malformed answer", None),
        ({"fault": "error"}, "error in stream", "the engine is gone"),
    ],
)
def test_errors_are_counted_by_their_kind(how: dict[str, Any], kind: str, said: str | None) -> None:
    with serving(**how) as fake:
        made = load(fake)
    assert made["errors"] == {kind: 6}
    assert made["said"] == ({kind: said} if said else {})
    assert made["succeeded"] == 0
    assert made["ttft_ms"] is None


def test_a_server_that_says_nothing_more_is_given_up() -> None:
    with serving(fault="hang") as fake:
        assert load(fake, requests=2, timeout=1.0)["errors"] == {"timeout": 2}


def test_a_server_that_goes_away_ends_the_load() -> None:
    with serving(leaves_after=5) as fake, pytest.raises(ServerGone, match=r"is gone: 8 connections failed, after 5"):
        load(fake, requests=500, concurrency=2)


def test_a_server_that_is_not_there_is_said() -> None:
    with serving() as fake:
        pass
    with pytest.raises(ServerGone, match="cannot be reached"):
        load(fake)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://a", "http://", "file:///etc/passwd", "http://a\x00b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(LoadError, match="is no address"):
        load(Fake(url=url))


def test_a_server_that_is_still_starting_is_waited_for() -> None:
    with serving(starting=1) as fake:
        assert load(fake)["succeeded"] == 6


def test_another_kind_of_server_is_told() -> None:
    with serving(model=None) as fake, pytest.raises(LoadError, match="names no model"):
        load(fake)


# The command


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gridstride", "load", *words], capture_output=True, text=True)


def test_the_command_prints_one_object() -> None:
    with serving() as fake:
        done = command(fake.url, "-n", "4", "--json", "--slo", "ttft=60000,tpot=60000")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["succeeded"] == 4
    assert made["goodput"]["share"] == 1


def test_the_command_prints_a_table() -> None:
    with serving(usage=False) as fake:
        done = command(fake.url, "-n", "4", "--slo", "ttft=60000")
    assert done.returncode == 0, done.stderr
    for word in ("time to first token", "tokens/s", "p99", "goodput", "100.0%", "does not say how many tokens"):
        assert word in done.stdout
    assert "4 of 4" in done.stderr


def test_a_server_that_is_gone_is_a_failure() -> None:
    done = command("http://127.0.0.1:9", "-n", "4", "--json")
    assert done.returncode == 1
    assert "cannot be reached" in json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr


def options(**changes: Any) -> LoadOptions:
    usual = LoadOptions(
        requests=2, concurrency=1, prompt_tokens="4", output_tokens="4", warmup=0, timeout=60.0, max_running=4
    )
    return replace(usual, **changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rate": 5.0}, "give one of them"),
        ({"requests": 0}, "--requests 0 must be from 1 to 10000000"),
        ({"compare": True}, "name a model folder, not http://"),
        ({"concurrency": 0}, "--concurrency 0"),
        ({"concurrency": None, "rate": 0.0}, "--rate 0"),
        ({"concurrency": None, "rate": float("inf")}, "--rate inf"),
        ({"timeout": -1.0}, "--timeout -1"),
        ({"temperature": float("nan")}, "--temperature nan"),
        ({"max_running": 0}, "--max-running 0"),
        ({"output_tokens": "many"}, "length 'many'"),
        ({"slo": ["ttft"]}, "--slo 'ttft'"),
        ({"prompts": "/nowhere.jsonl"}, "cannot be read"),
        ({"api_key_file": "/nowhere"}, "--api-key-file /nowhere cannot be read"),
    ],
)
def test_wrong_words_are_refused_by_name(changes: dict[str, Any], told: str) -> None:
    from gridstride.commands.stack import load as command_load

    with serving() as fake, pytest.raises(WrongUse, match=told):
        command_load.run(fake.url, options(**changes), as_json=True)


def test_errors_other_than_a_full_server_are_a_failure() -> None:
    from gridstride.commands.stack import load as command_load

    with serving(fault="cut") as fake:
        assert not command_load.run(fake.url, options(), as_json=True)
    with serving(status=503) as fake:
        assert not command_load.run(fake.url, options(), as_json=True)  # nothing at all was served
