"""Check that no name of the installed calibrant has a type that pyright cannot know.

Bridges extend classes of libraries that need not be installed; what is unknown there is theirs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

THEIRS = ("calibrant.bridges.",)  # of other libraries' classes


def main() -> int:
    """Run pyright in this interpreter's environment, and print what it does not know."""
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = ["pyright", "--verifytypes", "calibrant", "--ignoreexternal", "--outputjson"]
    # Away from the checkout: what is installed is checked.
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=programs
    )  # fmt: skip
    found = json.loads(done.stdout)["typeCompleteness"]
    unknown = [
        symbol
        for symbol in found["symbols"]
        if symbol["isExported"]
        and not (symbol["isTypeKnown"] or symbol["isTypeAmbiguous"])
        and not symbol["name"].startswith(THEIRS)
    ]
    for symbol in unknown:
        reasons = {one["message"].splitlines()[0] for one in symbol["diagnostics"]}
        print(f"{symbol['name']}: {'; '.join(sorted(reasons))}")
    counts = found["exportedSymbolCounts"]
    print(
        f"{counts['withKnownType']} names have known types; {counts['withAmbiguousType']} are left "
        f"to inference, and {len(unknown)} of our own are unknown."
    )
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
