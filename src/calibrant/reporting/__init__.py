"""Reports: what a study or a stream of forecasts comes to, as a page for people.

Owns: the report page, one file per section; drawing figures as SVG; the frame, style sheet and
script of a page.
May use: all rooms before it, and Optuna. No library draws for it, and nothing is loaded by a page.
Public name: :func:`report`.
"""

from calibrant.reporting.report import report

__all__ = ["report"]
