"""Unmodified Python code under control: what threads and tasks have in common."""
