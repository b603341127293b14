"""A place in the token list, and the steps that every part of the grammar shares."""

from __future__ import annotations

from gridstride.virtual.ptx.parsing.lexer import Tokens
from gridstride.virtual.ptx.syntax_errors import PtxError, shown

# Names of ranges `%r<n>` and zeros between initializer rows, in one text: all that can outgrow the text itself.
MAX_EXPANSION = 1 << 20


class Cursor:
    """The next token to read is `texts[pos]`; the list ends in empty tokens, which no rule consumes."""

    __slots__ = ("_budget", "pos", "target", "texts", "tokens", "version")

    def __init__(self, tokens: Tokens) -> None:
        self._budget = MAX_EXPANSION
        self.tokens = tokens
        self.texts = tokens.texts
        self.pos = 0
        self.target = ""  # the module's, once it is known: it decides which instructions there are
        self.version = (0, 0)  # of PTX, likewise: it decides what an instruction's name may leave out

    @property
    def token(self) -> str:
        """The next token, without taking it."""
        return self.texts[self.pos]

    @property
    def line(self) -> int:
        """The line of the next token."""
        return self.tokens.line(self.pos)

    def error(self, message: str, at: int | None = None) -> PtxError:
        """An error at a token index, or at the next token."""
        return self.tokens.error(self.pos if at is None else at, message)

    def spend(self, count: int, what: str, at: int) -> None:
        """Count things that the text makes without writing them out, and raise when they would fill the memory."""
        self._budget -= count
        if self._budget < 0:
            raise self.error(f"{count} more {what}: the text makes more than {MAX_EXPANSION}", at)

    def accept(self, text: str) -> bool:
        """Take the next token if it is `text`."""
        if self.texts[self.pos] == text:
            self.pos += 1
            return True
        return False

    def expect(self, text: str, where: str = "") -> None:
        """Take `text`, or raise."""
        if self.texts[self.pos] != text:
            token = shown(self.token)
            raise self.error(f"expected {text!r}{' ' + where if where else ''}, found {token}")
        self.pos += 1

    def take(self) -> str:
        """Take the next token, whatever it is, but not the end."""
        token = self.texts[self.pos]
        if not token:
            raise self.error("unexpected end of the text")
        self.pos += 1
        return token

    def identifier(self, what: str) -> str:
        """Take an identifier without dots: the name of a `what`."""
        token = self.texts[self.pos]
        if not is_identifier(token):
            raise self.error(f"expected the name of a {what}, found {shown(token)}")
        self.pos += 1
        return token

    def string(self) -> str:
        """Take a quoted string; its content as written."""
        token = self.texts[self.pos]
        if not token.startswith('"'):
            raise self.error(f"expected a string in double quotes, found {shown(token)}")
        self.pos += 1
        return token[1:-1]

    def count(self, what: str, *, least: int = 0, most: int = 2**31 - 1) -> int:
        """Take an unsigned integer literal, the `what`, and check its range."""
        token = self.texts[self.pos]
        value = literal(token)
        if value is None:
            raise self.error(f"expected the {what}, a number, found {shown(token)}")
        if not least <= value <= most:
            raise self.error(f"the {what} is {shown(token)[1:-1]}, outside {least} to {most}")
        self.pos += 1
        return value


def is_identifier(token: str) -> bool:
    """True for a name: no dots, not a number, not the sink `_`."""
    return bool(token) and (token[0].isalpha() or token[0] in "_$%") and "." not in token and token not in ("_", "%")


_DIGITS = 24  # an integer literal of more digits cannot fit 64 bits, binary ones apart


def literal(token: str) -> int | None:
    """The value of an integer literal (decimal, 0x, 0b, octal, U suffix), or None for anything else."""
    if not token[:1].isdigit() or (len(token) > _DIGITS and token[:2] not in ("0b", "0B")):
        return None
    digits = token[:-1] if token[-1] in "uU" else token
    prefix = digits[:2].lower()
    base = 16 if prefix == "0x" else 2 if prefix == "0b" else 8 if digits[0] == "0" and len(digits) > 1 else 10
    if "_" in digits or len(digits) > 80:
        return None
    try:
        return int(digits[2:] if base in (2, 16) else digits, base)
    except ValueError:
        return None
