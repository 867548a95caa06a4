"""The nightly export as a script: `nightly_export.py ROWS`. It builds a JSON document field by field."""

import sys


def escape(text):
    return "".join("\\" + letter if letter in '"\\' else letter for letter in text)


def export(rows):
    parts = []
    for number in range(rows):
        parts.append('{"id": ' + str(number) + ', "name": "' + escape(f'item "{number}"') + '"}')
    return "[" + ", ".join(parts) + "]"


if __name__ == "__main__":
    print(len(export(int(sys.argv[1]))))
