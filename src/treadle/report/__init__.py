"""What people and programs read of a result: text, JSON, and the live line of a running search."""
