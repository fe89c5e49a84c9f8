"""Whatever runs a failing schedule again: replay, record, explain, shrink, write down."""
