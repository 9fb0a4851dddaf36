"""Bridges to other libraries: scikit-learn, torch, BoTorch, Ax, Hydra, Ray, trackers, and others.

Owns: adapters that make other libraries' models usable here, and our calibration usable there.
May use: all rooms before it. Apart from the demo and the one recalibrator that needs scikit-learn,
only these files may import those libraries; none is loaded before its bridge is imported.
Public names: each bridge's own, in :mod:`~calibrant.bridges.sklearn`,
:mod:`~calibrant.bridges.networks`, :mod:`~calibrant.bridges.botorch`,
:mod:`~calibrant.bridges.ax`, :mod:`~calibrant.bridges.dashboard`,
:mod:`~calibrant.bridges.hydra`, :mod:`~calibrant.bridges.ray`, :mod:`~calibrant.bridges.gest` and
:mod:`~calibrant.bridges.tracking`.
"""
