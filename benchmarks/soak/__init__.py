"""Everyday programs, each in a version that is right and one that is wrong: see `../everyday.py`.

Each function takes `right` and is a whole test. Shapes are what people write: pools, caches,
limiters, registries, workers that poll. Each shape comes twice, as `shape_a` and `shape_b`.
"""
