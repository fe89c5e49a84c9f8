"""Take the pictures of pages that the documentation shows: `make pictures`.

Each is a page of an example in Debian's Chromium; never edit them by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
TREADLE = str(Path(sys.executable).with_name("treadle"))
SHOTS = (  # name, command, height, what to do before
    ("report", ("run", "examples/threads/lazy_initialisation.py::checked_once"), 980, ""),
    ("actors", ("run", "examples/actors/database.py::main"), 620, ".diagram"),
    ("tree", ("run", "examples/peterson.py::correct"), 760, ".exploration"),
    ("network", ("run", "examples/sdn/load_balancer.py::test_hasty"), 800, ".player"),
)


def chromium() -> str:
    """Return the browser of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("TREADLE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return found or sys.exit("there is no Chromium: install it, or name it in TREADLE_CHROMIUM")


def write_page(command: tuple[str, ...], page: Path) -> None:
    """Let `treadle` write a report."""
    arguments = [TREADLE, *command, "--no-database", "--report", str(page)]
    subprocess.run(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)


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
        browser.close()


if __name__ == "__main__":
    main()
