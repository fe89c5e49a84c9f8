"""Static analyses of the code under test."""
