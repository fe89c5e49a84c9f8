"""Failing schedules made as simple as they get."""
