"""What calibration costs in BoTorch, on a GPU."""

from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "bridge.jsonl"
