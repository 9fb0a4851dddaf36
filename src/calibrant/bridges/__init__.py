"""Bridges to other libraries: the only files that may import them."""
