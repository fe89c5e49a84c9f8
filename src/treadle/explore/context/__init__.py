"""Context-sensitive independence: orders that lead to one state are one.

"JSS 2023" is "Optimal dynamic partial order reduction with context-sensitive independence and
observers" (Journal of Systems and Software 202, 2023); an earlier version is at ISSTA 2019.
"""
