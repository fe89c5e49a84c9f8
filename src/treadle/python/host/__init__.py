"""The process around an exploration: signals, the garbage collector, a watchdog."""
