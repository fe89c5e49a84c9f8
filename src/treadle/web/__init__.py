"""A page on one's own machine: pick a program, set options, apply, look at its executions.

A guided tour. `server` is the application: `guard` lets in only who knows the token and comes from
this machine's own address; `page` is what they see, with the programs of `library` and a form that
`form` makes of the options that are declared once. What they apply becomes a `Job` (`jobs`): a
process of its own with limits on time and memory, which sends what happens line by line (`sent`).
`shown` makes pages of what came. No code under test runs in the server.

The page is the one that SYCO's users worked in: "SYCO: A Systematic Testing Tool for Concurrent
Objects" (CC 2016).
"""

from treadle.core.errors import TreadleError


def require_server() -> None:
    """Refuse to go on if what serves the page is not installed."""
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ImportError:
        raise TreadleError(
            "the page needs Starlette and uvicorn: install them with `pip install treadle[web]`"
        ) from None
    del starlette
