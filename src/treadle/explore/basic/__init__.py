"""The plainest algorithms, and what several share: all interleavings, sleep sets, backtracking."""
