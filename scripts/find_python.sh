#!/bin/sh
# Prints the Python that builds .venv: $PYTHON when it is set, else the first of the usual names that is 3.11 or newer.
# Each candidate is run and not only looked up: a version manager's shim exists for versions that are not switched on.

good() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "$PYTHON" ]; then
    good "$PYTHON" && echo "$PYTHON" && exit 0
    echo "PYTHON=$PYTHON is not a Python 3.11 or newer; name another, or leave it out" >&2
    exit 1
fi
for candidate in python3 python3.14 python3.13 python3.12 python3.11 python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9]*/bin/python3; do
    if good "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done
echo "no Python 3.11 or newer found: install one (on Debian: apt install python3 python3-venv) or say make PYTHON=/path/to/python3" >&2
exit 1
