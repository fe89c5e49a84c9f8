#!/bin/sh
# Find two bugs of ordinary threads, prove that their remedies work, and prove a protocol right.
set -eu
treadle=${BIN:-.venv/bin}/treadle

finds() { # run something that must fail
    status=0
    "$treadle" run --no-database "$@" || status=$?
    if [ "$status" -ne 1 ]; then
        echo "the demo expected a failure (exit status 1), not exit status $status" >&2
        exit 1
    fi
}

echo "1. Two threads create the same object at its first use; the failure is shrunk."
mkdir -p build
finds examples/threads/lazy_initialisation.py::checked_once --report build/demo.html

echo
echo "The same to look at, step by step, in a browser: $(pwd)/build/demo.html"

echo
echo "2. The same, checked again under a lock."
"$treadle" run --no-database examples/threads/lazy_initialisation.py::double_checked

echo
echo "3. Two bank transfers that take two locks in opposite order."
finds examples/threads/bank_transfer.py::opposite_order

echo
echo "4. The same, everybody in the same order."
"$treadle" run examples/threads/bank_transfer.py::same_order

echo
echo "5. A model: Peterson's mutual exclusion, without any lock."
"$treadle" run examples/peterson.py::correct
