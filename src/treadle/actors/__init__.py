"""Actors: concurrent objects that send each other messages, explored at macro-steps."""

from treadle.actors.actor import Actor, method
from treadle.actors.future import Future
from treadle.actors.program import Program, program
from treadle.actors.waiting import pause, until

__all__ = ["Actor", "Future", "Program", "method", "pause", "program", "until"]
