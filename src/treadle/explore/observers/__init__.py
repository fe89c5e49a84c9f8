"""Observers: writes that nobody looks at later are not ordered.

"JSS 2023" is "Optimal dynamic partial order reduction with context-sensitive independence and
observers" (Journal of Systems and Software 202, 2023).
"""
