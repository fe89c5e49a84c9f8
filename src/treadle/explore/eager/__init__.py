"""Eager POR: plan interleavings before they are run.

"Eager POR" is "Efficient Verification of Program Fragments: Eager POR" (ATVA 2016).
"""
