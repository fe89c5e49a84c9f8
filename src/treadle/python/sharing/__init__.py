"""What is shared: objects that others can reach, and the locations in them."""
