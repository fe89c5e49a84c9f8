#!/bin/sh
# Run the tests of threads under every other supported Python that this machine has, each in a venv,
# all at the same time.
set -eu
main=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

find_python() { # the first candidate that really is this version
    for candidate in "python$1" "$(pyenv root 2>/dev/null || echo /nonexistent)"/versions/"$1".*/bin/python; do
        case $("$candidate" --version 2>/dev/null || true) in
        "Python $1."*) echo "$candidate" && return ;;
        esac
    done
}

run_tests() { # version, python
    venv=.venv-$1
    if [ ! -e "$venv/.installed" ] || [ pyproject.toml -nt "$venv/.installed" ]; then
        "$2" -m venv "$venv"
        echo '*' >"$venv/.gitignore"
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check -e '.[dev]'
        touch "$venv/.installed"
    fi
    # shellcheck disable=SC2086 - several paths
    "$venv/bin/pytest" -m "not slow" -p no:cacheprovider ${THREADS:-tests}
}

tested=
for version in 3.11 3.12 3.13; do
    [ "$version" = "$main" ] && continue
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "Python $version: not here, not tested"
        continue
    fi
    echo "Python $version: the tests of threads are running ..."
    { run_tests "$version" "$python" >"$logs/$version" 2>&1 || touch "$logs/$version.failed"; } &
    tested="$tested $version"
done
wait
failed=0
for version in $tested; do
    echo "Python $version:"
    cat "$logs/$version"
    [ ! -e "$logs/$version.failed" ] || failed=1
done
exit $failed
