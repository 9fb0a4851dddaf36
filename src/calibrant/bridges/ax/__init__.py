"""A node of Ax's generation strategies that suggests with calibrant."""

from calibrant.bridges.ax.node import CalibratedNode

__all__ = ["CalibratedNode"]
