"""Bridges to other libraries: scikit-learn, torch, BoTorch, Ax.

Owns: other libraries' models as ours, and our calibration as theirs.
May use: all rooms before it. Beside the demo and the one recalibrator that needs scikit-learn,
these are the only files that may import those libraries; none is loaded until its bridge is.
Public names: each bridge's own, in :mod:`~calibrant.bridges.sklearn`,
:mod:`~calibrant.bridges.networks`, :mod:`~calibrant.bridges.botorch` and
:mod:`~calibrant.bridges.ax`.
"""
