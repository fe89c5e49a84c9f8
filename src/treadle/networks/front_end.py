"""Networks as a front end. This file is light: it loads nothing of what makes them run."""

from __future__ import annotations

from treadle.core.front_end import FrontEnd


class Networks(FrontEnd):
    """Networks with a controller, which are programs already."""

    name = "networks"
    targets = "a network (treadle.networks)"
    kinds = (
        "no_loop",
        "no_black_hole",
        "no_conflict",
        "never",
        "delivered",
        "isolated",
        "waypoint",
        "balanced",
        "tables_agree",
        "quiet",
    )


NETWORKS = Networks()
