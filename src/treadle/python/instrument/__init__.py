"""Rewriting the code under test."""
