"""The search and its algorithms."""
