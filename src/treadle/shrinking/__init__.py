"""How failures are shrunk; `treadle.shrink` is what users call."""
