"""Who may come in: cookies, the password, and what other sites' pages send."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench import login as login_module
from gridstride.workbench import password
from gridstride.workbench.gate import SESSION, Gate

PASSWORD = "correct horse"
HASHED = password.hashed(PASSWORD)
PAGE = {"accept": "text/html"}


async def inside(scope: MutableMapping[str, Any], _: Any, send: Any) -> None:
    """The application behind the gate: says whose session it is."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope[SESSION].encode()})


async def open_to_all(_: MutableMapping[str, Any], __: Any, send: Any) -> None:
    """An application that lets every site read it."""
    headers = [(b"Access-Control-Allow-Origin", b"*"), (b"access-control-allow-credentials", b"true")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def ask(gate: Gate, *requests: tuple[str, str, dict[str, Any]], host: str = "localhost") -> list[httpx.Response]:
    """The answers to (method, path, options), from one browser that keeps its cookies."""

    async def main() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url=f"http://{host}:8585") as client:
            return [await client.request(method, path, **options) for method, path, options in requests]

    return asyncio.run(main())


def _client(gate: Gate, address: str) -> httpx.AsyncClient:
    """A browser at that address."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(gate, client=(address, 1)), base_url="http://localhost:8585")


def test_without_a_password_a_browser_gets_a_session_and_keeps_it() -> None:
    first, second = ask(Gate(inside, "secret", None), ("GET", "/", {}), ("GET", "/", {}))
    assert first.text == second.text
    assert "HttpOnly; SameSite=Strict" in first.headers["set-cookie"]
    assert "set-cookie" not in second.headers


def test_two_browsers_are_two_sessions() -> None:
    gate = Gate(inside, "secret", None)
    assert ask(gate, ("GET", "/", {}))[0].text != ask(gate, ("GET", "/", {}))[0].text


def test_a_password_stands_before_pages_and_files() -> None:
    page, file = ask(Gate(inside, "secret", HASHED, None), ("GET", "/day/5", {"headers": PAGE}), ("GET", "/x.js", {}))
    assert (page.status_code, page.headers["location"]) == (303, "/login?to=/day/5")
    assert file.status_code == 401


def test_the_right_password_opens_the_page_that_was_asked_for() -> None:
    login, page = ask(
        Gate(inside, "secret", HASHED, None),
        ("POST", "/login?to=/day/5", {"data": {"password": PASSWORD}}), ("GET", "/day/5", {"headers": PAGE}),
    )  # fmt: skip
    assert (login.status_code, login.headers["location"], page.status_code) == (303, "/day/5", 200)


@pytest.mark.parametrize("given", ["wrong", "", "correct hors", "\u0000", "x" * 9000])
def test_a_wrong_password_opens_nothing(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_module, "_PAUSE", 0.0)
    gate = Gate(inside, "secret", HASHED, None)
    login, page = ask(gate, ("POST", "/login", {"data": {"password": given}}), ("GET", "/", {"headers": PAGE}))
    assert (login.status_code, page.status_code) == (401, 303)
    assert "That is not the password." in login.text


@pytest.mark.parametrize(
    "to",
    ["//evil.example/", "https://evil.example/", "/\\evil.example", "/\t/evil.example", "/a\r\nX-Evil: 1", "/\0", "",
     " //evil.example", "/\x85/evil.example"],
)  # fmt: skip
def test_a_login_leads_nowhere_else(to: str) -> None:
    request = ("POST", "/login", {"data": {"password": PASSWORD}, "params": {"to": to}})
    assert ask(Gate(inside, "secret", HASHED, None), request)[0].headers["location"] == "/"


def test_a_login_leads_to_a_path_with_any_letters() -> None:
    request = ("POST", "/login", {"data": {"password": PASSWORD}, "params": {"to": "/ladder/größe"}})
    answer = ask(Gate(inside, "secret", HASHED, None), request)[0]
    assert answer.headers["location"] == "/ladder/gr%C3%B6%C3%9Fe"


def test_many_wrong_passwords_are_refused_and_keep_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_module, "_PAUSE", 0.3)
    gate = Gate(inside, "secret", HASHED, None)

    async def main() -> tuple[list[int], httpx.Response, httpx.Response]:
        async with _client(gate, "192.0.2.1") as guesser, _client(gate, "192.0.2.2") as owner:
            guesses = [asyncio.create_task(guesser.post("/login", data={"password": "wrong"})) for _ in range(40)]
            await asyncio.sleep(0.1)
            right = await owner.post("/login", data={"password": PASSWORD})
            codes = sorted([(await each).status_code for each in guesses])
            return codes, right, await guesser.post("/login", data={"password": PASSWORD})

    codes, right, after = asyncio.run(main())
    assert codes == [401] * 3 + [429] * 37
    assert (right.status_code, after.status_code) == (303, 303)


def test_addresses_of_one_ipv6_network_share_their_attempts() -> None:
    assert login_module._site("2001:db8::1") == login_module._site("2001:db8::ffff:1")
    assert login_module._site("2001:db8::1") != login_module._site("2001:db8:0:1::1")


@pytest.mark.parametrize("cookie", ["a.b", "a", "", ".", "é", "gridstride_session=", "a." + "0" * 64])
def test_a_cookie_that_was_not_signed_here_is_none(cookie: str) -> None:
    headers = {**PAGE, "cookie": f"gridstride_session={cookie}".encode()}
    assert ask(Gate(inside, "secret", HASHED, None), ("GET", "/", {"headers": headers}))[0].status_code == 303


def test_sessions_end_with_the_password() -> None:
    login = ask(Gate(inside, "secret", HASHED, None), ("POST", "/login", {"data": {"password": PASSWORD}}))[0]
    headers = {**PAGE, "cookie": login.headers["set-cookie"].partition(";")[0]}
    assert ask(Gate(inside, "secret", HASHED, None), ("GET", "/", {"headers": headers}))[0].status_code == 200
    other = Gate(inside, "secret", password.hashed("another one"), None)
    assert ask(other, ("GET", "/", {"headers": headers}))[0].status_code == 303


def test_a_name_that_leads_here_by_dns_is_refused_on_this_machine() -> None:
    gate = Gate(inside, "secret", None)
    assert ask(gate, ("GET", "/", {}), host="evil.example")[0].status_code == 403
    assert ask(gate, ("GET", "/", {}), host="127.0.0.1")[0].status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
def test_what_another_sites_page_sends_is_refused(origin: str) -> None:
    gate = Gate(inside, "secret", None)
    assert ask(gate, ("POST", "/", {"headers": {"origin": origin}}))[0].status_code == 403
    assert ask(gate, ("POST", "/", {"headers": {"origin": "http://localhost:8585"}}))[0].status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://["])
def test_no_other_sites_script_reads_anything(origin: str) -> None:
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    for method in ("GET", "OPTIONS"):
        answer = ask(Gate(open_to_all, "secret", None), (method, path, {"headers": {"origin": origin}}))[0]
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    own = ask(Gate(open_to_all, "secret", None), ("GET", path, {"headers": {"origin": "http://localhost:8585"}}))[0]
    assert own.status_code == 200
    assert "access-control-allow-origin" not in own.headers


@pytest.mark.parametrize(
    ("method", "mode", "dest", "code"),
    [
        ("GET", "navigate", "document", 200),
        ("GET", "navigate", "iframe", 403),
        ("POST", "navigate", "document", 403),
        ("GET", "no-cors", "script", 403),
        ("GET", "cors", "empty", 403),
    ],
)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_link_here_and_nothing_else(method: str, mode: str, dest: str, code: int, site: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert ask(Gate(inside, "secret", None), (method, "/", {"headers": headers}))[0].status_code == code
    own = {**headers, "sec-fetch-site": "same-origin"}
    assert ask(Gate(inside, "secret", None), (method, "/", {"headers": own}))[0].status_code == 200


def test_no_other_sites_page_shows_one_of_these_in_a_frame() -> None:
    gate = Gate(inside, "secret", HASHED, None)
    for answer in ask(gate, ("GET", "/login", {}), ("GET", "/", {}), ("GET", "/", {"headers": PAGE})):
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("hashed", "origin"),
    [(None, b"http://evil.example"), (HASHED, b"http://localhost:8585")],
    ids=["another site", "no session"],  # the hash is another in each process that collects
)
def test_a_websocket_goes_through_the_same_gate(hashed: str | None, origin: bytes) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    headers = [(b"host", b"localhost:8585"), (b"origin", origin)]
    scope = {"type": "websocket", "path": "/_nicegui_ws/socket.io", "headers": headers}
    asyncio.run(Gate(inside, "secret", hashed)(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_the_password_is_kept_as_a_hash_and_replaced(tmp_path: Path) -> None:
    with LearnerProgress(tmp_path / "progress.sqlite") as progress:
        assert password.kept(progress) is None
        secret = password.cookie_secret(progress)
        password.keep(progress, PASSWORD)
        kept = password.kept(progress)
        assert kept is not None
        assert PASSWORD not in kept
        assert password.matches(PASSWORD, kept)
        assert not password.matches(PASSWORD + " ", kept)
        password.keep(progress, "another one")
        assert not password.matches(PASSWORD, password.kept(progress) or "")
        assert password.cookie_secret(progress) == secret


def test_a_short_password_is_refused() -> None:
    with pytest.raises(password.WeakPassword, match="8 characters or more, this one has 5"):
        password.hashed("12345")


def test_two_hashes_of_one_password_differ() -> None:
    assert password.hashed(PASSWORD) != HASHED
