"""Who may talk to the server: it runs code, so only the page that it gave out itself.

Programs of other users of the machine do not know the token. A page from elsewhere that a browser
on this machine shows cannot read the token; and if it sends requests blindly, or under a name that
resolves to this machine, its `Origin` or the `Host` gives it away.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.report.html.markup import tag

ADDRESS = "127.0.0.1"
"""The only one that is listened on."""
_NAMES = (ADDRESS, "localhost")
_HEADERS = {
    "content-security-policy": "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'self'; "
    "form-action 'self'; base-uri 'none'",
    "referrer-policy": "no-referrer",  # the token is in the address
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(18)


def refusal(path: str, headers: Mapping[str, str], token: str, port: int) -> str:
    """Return why a request is refused, or nothing.

    >>> own = {"host": "127.0.0.1:80"}
    >>> refusal("/t/", own, "t", 80), refusal("/t/", {**own, "origin": "http://a.b"}, "t", 80)
    ('', 'a page from elsewhere may not use this server')
    """
    hosts = [f"{name}:{port}" for name in _NAMES]
    if headers.get("host") not in hosts:
        return "this server answers to its own address only"
    origin = headers.get("origin")
    is_foreign = origin is not None and origin not in [f"http://{host}" for host in hosts]
    # A browser says so even where it sends no `Origin`: images, frames, links.
    if is_foreign or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "a page from elsewhere may not use this server"
    given = path.split("/")[1] if path.startswith("/") else ""
    if not secrets.compare_digest(given.encode(), token.encode()):
        return "this is not the address that `treadle web` printed; after a restart it is a new one"
    return ""


class Guard:
    """Refuses requests, and says to browsers what a page of ours may do."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token, self._port = app, token, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "websocket":  # nothing here speaks it: no page can need it
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                raw = message.setdefault("headers", [])
                assert isinstance(raw, list)
                raw += [(key.encode(), value.encode()) for key, value in _HEADERS.items()]
            await send(message)

        why = refusal(scope["path"], Headers(scope=scope), self._token, self._port)
        if why:
            await told("Refused", why, 403)(scope, receive, send_safely)  # type: ignore[arg-type]
        else:
            await self._app(scope, receive, send_safely)  # type: ignore[arg-type]


def told(what: str, why: str, status: int) -> HTMLResponse:
    """Return a page that says why there is nothing else to see."""
    page = tag(
        "html",
        tag("head", tag("meta", charset="utf-8"), tag("title", f"{what} – Treadle")),
        tag("body", tag("main", tag("h1", what), tag("p", why))),
        lang="en",
    )
    return HTMLResponse(f"<!DOCTYPE html>\n{page}\n", status)
