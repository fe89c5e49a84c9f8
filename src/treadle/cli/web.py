"""`treadle web`: a page to explore programs with."""

from __future__ import annotations

import signal
import socket
import webbrowser
from pathlib import Path

import click

from treadle.core.errors import TreadleError

WORKER = ("-m", "treadle.cli.web_worker")


@click.command(short_help="Explore programs on a page in the browser.")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port to listen on.  [default: a free one]",
)
@click.option("--browser/--no-browser", default=True, help="Whether to open the browser.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    help="Time that a program may take.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=256),
    default=2048,
    show_default=True,
    metavar="MB",
    help="Memory that a program may take.",
)
def web(file: Path | None, port: int, browser: bool, seconds: float, memory: int) -> int:
    """Explore programs on a page in the browser.

    The page has a library of programs, an editor, all settings, and shows each execution with its
    diagram and the tree. It is served on this machine only, under an address with a token in it:
    whoever knows the address can run programs as you. Programs run in processes of their own, with
    limits on time and memory; these protect from accidents, not from malice.

    It needs Starlette and uvicorn: pip install 'treadle[web]'.

    \b
    Examples:
      treadle web
      treadle web model.abs --port 8000 --no-browser
    """
    from treadle.web import require_server

    require_server()
    import uvicorn

    from treadle.web.guard import ADDRESS, new_token
    from treadle.web.jobs import Limits
    from treadle.web.library import Entry
    from treadle.web.server import application

    own = None
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TreadleError(f"{file} cannot be read: {error}") from None
        own = Entry(str(file), "Yours", file.name, "", text, file.resolve().parent)
    listening = _listen(ADDRESS, port)
    port = listening.getsockname()[1]
    token = new_token()
    app = application(token, port, WORKER, Limits(seconds, memory), own)
    address = f"http://{ADDRESS}:{port}/{token}/"
    click.echo(f"Treadle is at {address} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(address)
    # A terminal that is closed ends the server as Ctrl-C does: with all that it has started.
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def _listen(address: str, port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen()  # whoever reads the address may come at once
    except OSError as error:
        listening.close()
        raise TreadleError(
            f"port {port} cannot be used: {error.strerror}; choose another"
        ) from None
    return listening
