"""Take the pictures of pages that the documentation shows: `make pictures`.

Each is a page of an example in Debian's Chromium; never edit them by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
TREADLE = str(Path(sys.executable).with_name("treadle"))
_SIDE_BY_SIDE = ("--algorithm", "sleep", "--algorithm", "optimal")
SHOTS = (  # name, command, height, what to do before
    ("report", ("run", "examples/threads/lazy_initialisation.py::checked_once"), 980, ""),
    ("actors", ("run", "examples/actors/database.py::main"), 620, ".diagram"),
    ("tree", ("run", "examples/peterson.py::correct"), 760, ".exploration"),
    ("network", ("run", "examples/sdn/load_balancer.py::test_hasty"), 800, ".player"),
    ("compared", ("compare", "examples/peterson.py::correct", *_SIDE_BY_SIDE), 900, ""),
)


def chromium() -> str:
    """Return the browser of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("TREADLE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return found or sys.exit("there is no Chromium: install it, or name it in TREADLE_CHROMIUM")


def write_page(command: tuple[str, ...], page: Path) -> None:
    """Let `treadle` write a report."""
    apart = ["--no-database"] if command[0] == "run" else []
    arguments = [TREADLE, *command, *apart, "--report", str(page)]
    subprocess.run(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)


@contextmanager
def served() -> Iterator[str]:
    """Serve the page of `treadle web`; give its address."""
    command = [TREADLE, "web", "--no-browser"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[3]
        finally:
            server.terminate()


def take_web(browser: Any) -> None:
    """Take a picture of the page of `treadle web` after a program was applied."""
    with served() as address:
        shown = browser.new_page(viewport={"width": 1280, "height": 1010})
        shown.goto(address)
        shown.select_option("#library", "actors/database.py")
        shown.wait_for_selector("#names option[value=main]", state="attached")
        shown.fill("#program", "main")
        shown.select_option("[name=stop_on_failure]", "false")
        shown.select_option("[name=dependency]", "field")
        shown.click("#apply")
        shown.wait_for_selector("#outcome h2")
        shown.screenshot(path=PICTURES / "web.png")
        print("docs/pictures/web.png")


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name, command, height, part in SHOTS:
            page = Path(folder) / f"{name}.html"
            write_page(command, page)
            shown = browser.new_page(viewport={"width": 1280, "height": height})
            shown.goto(page.as_uri())
            if part:
                shown.evaluate(f"document.querySelector('{part}').scrollIntoView()")
            shown.wait_for_timeout(100)
            shown.screenshot(path=PICTURES / f"{name}.png")
            print(f"docs/pictures/{name}.png")
        take_web(browser)
        browser.close()


if __name__ == "__main__":
    main()
