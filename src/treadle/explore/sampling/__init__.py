"""Algorithms for spaces that are too large to be covered."""
