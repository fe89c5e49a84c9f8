"""What the pytest plugin costs a suite that has no Treadle test: CPU time, with and without it.

Many short runs of pytest on one small suite, in turns with the plugin and with `-p no:treadle`.
The cost is the difference of the fastest runs, as everything else on the machine only adds to
them; it must stay below 20 ms.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 0.020
"""Seconds that the plugin may cost."""
SUITE = "import pytest\n" + "".join(
    f"@pytest.mark.parametrize('x', range(10))\ndef test_{i}(x): pass\n" for i in range(20)
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="runs of each kind")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "test_plain.py").write_text(SUITE)
        cpu_time(directory)  # compiles and caches
        times: dict[str, list[float]] = {"with": [], "without": []}
        for _ in range(runs):
            times["with"].append(cpu_time(directory))
            times["without"].append(cpu_time(directory, "-p", "no:treadle"))
    fastest = {name: min(found) for name, found in times.items()}
    cost = fastest["with"] - fastest["without"]
    print(
        f"200 tests, none of Treadle's: {fastest['without'] * 1000:.1f} ms without the plugin, "
        f"{fastest['with'] * 1000:.1f} ms with it: it costs {cost * 1000:.1f} ms "
        f"(limit {LIMIT * 1000:.0f} ms, {runs} runs of each kind, CPU time, the fastest)"
    )
    return int(cost > LIMIT)


def cpu_time(directory: str, *args: str) -> float:
    """Return the CPU seconds of one run of pytest."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args, directory],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
