"""Many processes, or one that can be interrupted, explore one space in parts.

A part (`parts`) is explored by a `task`, a pure function: it may be run twice, lost or killed. The
`coordinator` hands parts out, and adds up what comes back. Who explores is a *hand*: this process
(`hands`), copies of it (`forked`), or processes that import the test by name (`spawned`), also on
the machines of an engine (`engines`). Begin with `parts`, `task` and `coordinator`.
"""
