"""Write the tables of this folder from the wheel of Olympus: `python make.py olymp-0.0.1b0-py3-none-any.whl`.

    pip download --no-deps olymp==0.0.1b0

One row is one setting: where one was measured several times, its outcome is the mean. Five digits
are kept.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import numpy as np

NAMES = ("suzuki", "hplc", "photo_pce10")


def main(wheel: str) -> None:
    with zipfile.ZipFile(wheel) as files:
        for name in NAMES:
            folder = f"olympus/datasets/dataset_{name}"
            about = json.loads(files.read(f"{folder}/config.json"))
            lines = files.read(f"{folder}/data.csv").decode("utf-8-sig").splitlines()
            table = np.loadtxt(lines, delimiter=",")
            X, same = np.unique(table[:, :-1], axis=0, return_inverse=True)
            y = np.bincount(same.ravel(), table[:, -1]) / np.bincount(same.ravel())
            columns = [c["name"] for c in (*about["parameters"], *about["measurements"])]
            np.savetxt(
                Path(__file__).parent / f"{name}.csv",
                np.column_stack([X, y]),
                "%.5g",
                delimiter=",",
                header=",".join(columns),
                comments="",
            )


if __name__ == "__main__":
    main(sys.argv[1])
