"""Chat with a server: text as it comes, and what is said of a server that fails."""

from __future__ import annotations

import pytest
from scripted_server import serving

from gridstride.serve.client.remote import Remote, RemoteError, TooLong

HELLO = [{"role": "user", "content": "Hello"}]


def test_text_comes_in_pieces() -> None:
    with serving() as fake:
        remote = Remote(fake.url + "/v1")
        assert remote.model == "fake"
        pieces = [piece for piece in remote.answer(HELLO, {"max_tokens": 3}) if piece]
        remote.close()
    assert pieces == ["x ", "x ", "x "]
    assert fake.bodies[0]["messages"] == HELLO


def test_who_stops_reading_hangs_up() -> None:
    with serving(gap=0.05) as fake:
        remote = Remote(fake.url)
        answer = remote.answer(HELLO, {"max_tokens": 1000})
        next(answer)
        answer.close()
        assert list(remote.answer(HELLO, {"max_tokens": 1}))  # and can ask again
        remote.close()


def test_a_server_of_this_machine_is_not_sought_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serving() as fake:
        assert Remote(fake.url).model == "fake"


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://x", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(RemoteError, match="is no address"):
        Remote(url)


def test_a_server_that_is_not_there_is_said() -> None:
    with pytest.raises(RemoteError, match="cannot be reached"):
        Remote("http://127.0.0.1:9")


def test_a_model_that_the_server_has_not_is_told_at_once_with_those_it_has() -> None:
    with serving() as fake, pytest.raises(RemoteError, match="has no model 'other'; it has fake"):
        Remote(fake.url, model="other")


def test_a_server_that_does_not_name_its_models_is_believed_to_have_the_one_asked_for() -> None:
    with serving() as fake:
        assert Remote(f"{fake.url}/elsewhere", model="other").model == "other"
        with pytest.raises(RemoteError, match="names no model"):
            Remote(f"{fake.url}/elsewhere")


def test_a_key_is_sent_and_a_missing_one_told() -> None:
    with serving(key="abc") as fake:
        with pytest.raises(RemoteError, match="the server says 401: no"):
            Remote(fake.url)
        assert Remote(fake.url, key="abc").model == "fake"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"status": 503}, "says 503: busy"),
        ({"fault": "cut"}, "is gone"),
        ({"fault": "silent"}, "broke off"),
        ({"fault": "error"}, "broke off its answer: the engine is gone"),
        ({"fault": "garbage"}, "malformed"),
    ],
)
def test_an_answer_that_fails_says_why(how: dict, told: str) -> None:
    with serving(**how) as fake:
        remote = Remote(fake.url)
        with pytest.raises(RemoteError, match=told):
            list(remote.answer(HELLO, {"max_tokens": 5}))


def test_a_conversation_that_is_too_long_is_its_own_error() -> None:
    with serving(status=400, code="context_length_exceeded") as fake, pytest.raises(TooLong, match="busy"):
        list(Remote(fake.url).answer(HELLO, {"max_tokens": 5}))
