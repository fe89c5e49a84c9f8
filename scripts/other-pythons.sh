#!/bin/sh
# Run the tests of threads under every other supported Python that this machine has, each in a venv.
set -eu
main=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

find_python() { # the first candidate that really is this version
    for candidate in "python$1" "$(pyenv root 2>/dev/null || echo /nonexistent)"/versions/"$1".*/bin/python; do
        case $("$candidate" --version 2>/dev/null || true) in
        "Python $1."*) echo "$candidate" && return ;;
        esac
    done
}

LEFT_OUT="test_random_schedules or test_shrinking or test_papers or test_litmus"
LEFT_OUT="$LEFT_OUT or against_brute_force or test_random_programs"

failed=0
for version in 3.11 3.12 3.13; do
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
    echo "Python $version:"
    for part in ${TESTS:-tests}; do # together they are slower: each loads modules of its own
        # CPython's own tests run there on the natural schedule; random ones take minutes. Shrinking,
        # papers and brute force over primitives are the core's business, and random programs of
        # accesses are fewer: one Python has them all.
        TREADLE_EXAMPLES=5 "$venv/bin/pytest" -n 2 -m "not slow" -p no:cacheprovider \
            -k "not ($LEFT_OUT)" "$part" || failed=1
    done
done
exit $failed
