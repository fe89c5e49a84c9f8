"""Observers: writes that nobody looks at later are not ordered (JSS 2023)."""
