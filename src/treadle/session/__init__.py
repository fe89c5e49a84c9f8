"""What an exploration is asked for, and its course from the first run to the report."""
