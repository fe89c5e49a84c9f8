"""Eager POR: plan interleavings before they are run (ATVA 2016)."""
