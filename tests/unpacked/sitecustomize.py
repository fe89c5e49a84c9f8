"""What a Python that was unpacked beside the system does not know: what it can be started by.

`scripts/other-pythons.sh` puts this folder on its path, and so on that of all processes that tests
start, and those start.
"""

import os
import sys

sys.executable = os.environ["TREADLE_PYTHON"]
