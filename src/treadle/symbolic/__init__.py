"""Symbolic execution of actors' code from generated initial contexts; z3 decides about paths."""
