"""Steps in words, for reports."""
