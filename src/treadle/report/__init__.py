"""Readers of results: text, JSON, the live line."""
