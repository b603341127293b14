"""The socket that requests come to."""

from __future__ import annotations

import errno
import ipaddress
import socket


class CannotListen(ValueError):
    """The address cannot be listened on; the message is for the user."""


def listening(host: str, port: int, *, patience: float) -> socket.socket:
    """A bound socket; CannotListen in words. The kernel drops readers that take nothing for `patience` seconds."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"--host {host} is no address of a machine: {_message(error)}") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(patience * 1000))  # accepted ones inherit
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CannotListen(_reason(error, host, port)) from error
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def public(listener: socket.socket) -> bool:
    """Whether other machines can reach it."""
    return not ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def _reason(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: end what listens there, or choose another with --port (0: any)"
    if error.errno == errno.EACCES:
        return f"port {port} is for privileged users: choose one from 1024 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host} is no address of this machine: 127.0.0.1 is for this machine alone, 0.0.0.0 for all"
    return f"{host}:{port} cannot be listened on: {_message(error)}"


def _message(error: OSError | UnicodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
