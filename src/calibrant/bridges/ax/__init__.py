"""A node for Ax's generation strategies that takes its suggestions from calibrant."""

from calibrant.bridges.ax.node import CalibratedNode

__all__ = ["CalibratedNode"]
