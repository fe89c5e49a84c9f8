#!/bin/sh
# Find the lost update of examples/counter.py, then prove that the lock prevents it.
set -eu
treadle=${BIN:-.venv/bin}/treadle

echo "1. Two processes increment a counter without a lock."
status=0
"$treadle" run examples/counter.py::racy || status=$?
if [ "$status" -ne 1 ]; then
    echo "the demo expected a failure (exit status 1), not exit status $status" >&2
    exit 1
fi

echo
echo "2. The same with a lock."
"$treadle" run examples/counter.py::locked

echo
echo "3. Peterson's mutual exclusion, without any lock."
"$treadle" run examples/peterson.py::correct
