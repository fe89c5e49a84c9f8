"""Cubes: parts of a space that can be explored alone, and add up to the whole exactly.

Begin with `order` (what a cube is), then `narrowed` (the program that it is) and `belongs` (which
of its executions are its own); `splitting` finds where to divide one.
"""
