"""The papers' programs as plain Python threads: what an engineer would write."""
