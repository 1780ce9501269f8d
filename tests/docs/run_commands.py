"""Many commands of `ada` in one process, as if each had one of its own: what they import is paid for once.

python tests/docs/run_commands.py FILE      FILE: a JSON list of lists of arguments. One line each: exit code, seconds, command.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path


def main(file: str) -> int:
    from ada.cli import main as ada

    failed = False
    for arguments in json.loads(Path(file).read_text()):
        began, code = time.monotonic(), None
        try:
            ada(arguments)
        except SystemExit as ended:
            code = ended.code
        failed |= code != 0
        print(f"exit {code} after {time.monotonic() - began:.1f} s: ada {shlex.join(arguments)}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
