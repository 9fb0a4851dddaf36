"""Tests that need a PostgreSQL server of their own."""

import pytest
from benchmarks.faults.postgres import missing, postgres

needs_postgres = pytest.mark.skipif(missing() is not None, reason=missing() or "")

__all__ = ["needs_postgres", "postgres"]
