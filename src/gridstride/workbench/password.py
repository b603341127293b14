"""The password that other machines must give: kept as a salted hash, and compared in constant time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets

from gridstride.course.learner.database import Database

SHORTEST = 8  # characters
VARIABLE = "GRIDSTRIDE_PASSWORD"
_NAME, _SECRET = "password", "cookie_secret"
_COST = {"n": 2**15, "r": 8, "p": 1, "maxmem": 64 << 20}  # 32 MiB and some 60 ms each time


class WeakPassword(ValueError):
    """A password that is too short."""


def from_environment() -> str | None:
    """The password in GRIDSTRIDE_PASSWORD; None where there is none."""
    return os.environ.get(VARIABLE) or None


def hashed(password: str) -> str:
    """Salt and scrypt hash as text; WeakPassword."""
    if len(password) < SHORTEST:
        raise WeakPassword(f"a password has {SHORTEST} characters or more, this one has {len(password)}")
    salt = secrets.token_bytes(16)
    return f"scrypt${_text(salt)}${_text(_derived(password, salt))}"


def matches(password: str, stored: str) -> bool:
    """Whether the password is the one of that hash."""
    _, salt, right = stored.split("$")
    return hmac.compare_digest(_derived(password, base64.b64decode(salt)), base64.b64decode(right))


def keep(database: Database, password: str) -> None:
    """Take this password from now on; sessions that logged in with another one end."""
    _write(database, _NAME, hashed(password))


def kept(database: Database) -> str | None:
    """The hash; None where no password was ever set."""
    return _read(database, _NAME)


def cookie_secret(database: Database) -> str:
    """What session cookies are signed with, made once."""
    with database.writing() as connection:
        connection.execute("INSERT OR IGNORE INTO setting VALUES (?, ?)", (_SECRET, secrets.token_hex(32)))
    return _read(database, _SECRET) or ""


def _derived(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, dklen=32, **_COST)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _read(database: Database, name: str) -> str | None:
    rows = database.read("SELECT value FROM setting WHERE name = ?", name)
    return rows[0][0] if rows else None


def _write(database: Database, name: str, value: str) -> None:
    with database.writing() as connection:
        connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))
