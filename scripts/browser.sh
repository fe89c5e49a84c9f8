#!/bin/sh
# Get what the tests of pages need: playwright and axe-core from PyPI, and a Chromium. A Debian that
# we may install on gets its own; elsewhere one has to be there, on PATH or named in
# TREADLE_CHROMIUM. What is missing is said in one line, and the tests are skipped: nothing fails.
set -u

left_out() {
    echo "tests in a browser are left out: $1"
    exit 0
}

"${BIN:-.venv/bin}/python" -m pip install -qq --disable-pip-version-check -e '.[browser]' ||
    left_out "playwright cannot be installed here"

for name in "${TREADLE_CHROMIUM:-chromium}" chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
command -v apt-get >/dev/null || left_out "there is no Chromium; name one in TREADLE_CHROMIUM"
[ "$(id -u)" = 0 ] || left_out "there is no Chromium: apt-get install chromium, as root"
echo "installing chromium ..."
{
    apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            chromium fonts-dejavu-core
} >/dev/null 2>&1 || left_out "apt-get cannot install chromium here"
