#!/bin/sh
# Builds the meter program at its first use, next to the other build outputs, and runs it: tally.sh ROUNDS
here=$(cd "$(dirname "$0")" && pwd)
program="$here/../build/tally"
if [ ! -x "$program" ]; then
    mkdir -p "$here/../build"
    "${CC:-cc}" -O2 -fno-tree-vectorize -o "$program.$$" "$here/tally.c" && mv "$program.$$" "$program" || exit 1
fi
exec "$program" "${1:-20000}"
