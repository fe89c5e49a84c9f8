"""Flanagan and Godefroid's file system (2005): inodes and blocks, each with a lock."""

from __future__ import annotations

import threading
from functools import partial

from threads.together import Test, run_together

BLOCKS, INODES = 26, 32


class FileSystem:
    """Gives every inode a block."""

    def __init__(self) -> None:
        self.inode = [0] * INODES
        self.busy = [False] * BLOCKS
        self.inode_locks = [threading.Lock() for _ in range(INODES)]
        self.block_locks = [threading.Lock() for _ in range(BLOCKS)]

    def allocate(self, tid: int) -> None:
        """Find a free block for an inode that has none."""
        i = tid % INODES
        with self.inode_locks[i]:
            if self.inode[i] == 0:
                b = i * 2 % BLOCKS
                while not self._take(i, b):
                    b = (b + 1) % BLOCKS

    def _take(self, i: int, b: int) -> bool:
        with self.block_locks[b]:
            if self.busy[b]:
                return False
            self.busy[b] = True
            self.inode[i] = b + 1
            return True


def filesystem(n: int) -> Test:
    def test() -> None:
        disk = FileSystem()
        run_together(partial(disk.allocate, tid) for tid in range(n))

    return test
