"""What rewritten code calls before it touches something."""
