"""Searches whose executions are cut on purpose: "Combining Static Analysis and Testing for Deadlock
Detection" (iFM 2016)."""
