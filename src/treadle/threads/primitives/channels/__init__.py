"""Sockets and pipes with both ends in the test, as channels of bytes in memory."""
