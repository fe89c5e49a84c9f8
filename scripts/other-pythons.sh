#!/bin/sh
# Run the tests that depend on the interpreter under every other supported Python that this machine
# has, each in a venv, and under those that TREADLE_PYTHONS names: a list of folders, each with
# `python`, which starts one, and `install`, which puts packages beside it (no venv is needed).
# Environment: TESTS, what to run; TIMED, what to run each Python's tests with.
set -eu
main=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

find_python() { # the first candidate that really is this version
    for candidate in "python$1" "$(pyenv root 2>/dev/null || echo /nonexistent)"/versions/"$1".*/bin/python; do
        case $("$candidate" --version 2>/dev/null || true) in
        "Python $1."*) echo "$candidate" && return ;;
        esac
    done
}

needs() { # VERSION: what the tests need there, as pyproject.toml says it
    .venv/bin/python - "$1" <<'READ'
import sys
import tomllib

from packaging.requirements import Requirement

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
tools = ("mypy", "ruff", "types-")  # not for tests
wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
for name in wanted:
    need = Requirement(name)
    there = need.marker is None or need.marker.evaluate({"python_version": sys.argv[1]})
    if there and not name.startswith(tools):
        print(f"{need.name}{need.specifier}")
READ
}

failed=0
check() { # NAME PYTHON: run the tests
    echo "$1:"
    # Random programs are fewer: one Python has them all.
    TREADLE_EXAMPLES=5 ${TIMED:-env} ${TIMED:+"$1"} "$2" scripts/run_tests.py ${TESTS:-tests} -- \
        -m "not slow and not minutes and not one_python" || failed=1
}

for version in 3.11 3.12 3.13 3.14 3.15; do
    [ "$version" = "$main" ] && continue
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "Python $version: not here, not tested"
        continue
    fi
    venv=.venv-$version
    if [ ! -e "$venv/.installed" ] || [ pyproject.toml -nt "$venv/.installed" ]; then
        "$python" -m venv "$venv"
        echo '*' >"$venv/.gitignore"
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check -e '.[dev]'
        touch "$venv/.installed"
    fi
    check "Python $version" "$venv/bin/python"
done

for prefix in ${TREADLE_PYTHONS:-}; do
    if [ ! -e "$prefix/.treadle" ] || [ pyproject.toml -nt "$prefix/.treadle" ]; then
        version=$("$prefix/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        "$prefix/install" $(needs "$version") # whoever installs may be another Python
        cp -r .venv/lib/python*/site-packages/treadle-*.dist-info "$prefix/site/" # its entry points
        touch "$prefix/.treadle"
    fi
    export PYTHONPATH="$PWD/src:$PWD/tests/unpacked" TREADLE_PYTHON="$prefix/python"
    check "$("$prefix/python" --version) in $prefix" "$prefix/python"
    unset PYTHONPATH TREADLE_PYTHON
done
exit $failed
