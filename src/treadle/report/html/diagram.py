"""An execution as a sequence diagram: lifelines, a box for each step, arrows for what is handed on.

A box says by its colour how the step ended: the process returned, let others in, holds on while it
waits, or could have gone on. An arrow leads from what sends, creates, returns or gives back to what
gets it; a dashed line is a wait; who waits for ever is tied in red to whoever it waits for. It is
drawn without any script, so it is the same in a page, in a notebook and in a file of its own.
"""

from __future__ import annotations

from treadle.core.counting import count
from treadle.report.html.document import style_of
from treadle.report.html.lanes import (
    Json,
    Lanes,
    deed_in_words,
    is_inner,
    links_to_see,
    who_goes_on,
)
from treadle.report.html.markup import Markup, cut, tag

MOST_STEPS = 400
"""Steps that are drawn; a longer execution is better read than looked at."""

_LEFT, _TOP, _COLUMN, _ROW = 48, 46, 190, 40
_BOX, _HEIGHT = 152, 26
_BESIDE = 130
"""Room for what is written beside the last lane."""
_ARROWS = ("spawn", "join", "message", "result", "lock", "wake", "deadlock")
_LETTERS = 21
"""Letters that fit into a box."""


def diagram(failure: Json, name: str = "") -> Markup:
    """Return the diagram of a failing execution, as SVG.

    On a page, `name` begins the addresses of steps: boxes are links to them then.
    """
    return _Drawing(failure, name).svg()


def diagram_file(failure: Json) -> str:
    """Return the diagram as a file of its own, with its style in it."""
    style = tag("style", Markup(style_of("look", "diagram")))
    return f"{_Drawing(failure, '').svg(style)}\n"


class _Drawing:
    """Where everything is."""

    def __init__(self, failure: Json, name: str) -> None:
        self.failure, self.name = failure, name
        self.steps: list[Json] = failure["trace"][:MOST_STEPS]
        seen = [at for at in range(len(self.steps)) if not is_inner(failure, at)]
        self.rows = {index: row for row, index in enumerate(seen)}
        """Where the steps are that are drawn, by index."""
        self.lanes = lanes = Lanes(self.steps, failure["waits"])
        self.deadlocked = [wait for wait in failure["waits"] if wait["process"] in failure["cycle"]]
        rows = len(self.rows) + (len(self.deadlocked) + 1 if self.deadlocked else 0)
        self.width = _LEFT + _COLUMN * len(lanes.names) + (_BESIDE if self.deadlocked else 0)
        self.height = _TOP + _ROW * rows + 20

    def svg(self, style: Markup | None = None) -> Markup:
        """Return the whole drawing, what lies below first."""
        steps, lanes = count(len(self.rows), "step"), count(len(self.lanes.names), "lane")
        words = f"Sequence diagram of {steps} in {lanes}"
        return tag(
            "svg",
            tag("title", words),
            style,
            _arrowheads(self.name),
            [self._lifeline(lane) for lane in self.lanes.names],
            self._waits(),
            [self._arrow(link) for link in self._links()],
            [self._arrival(i) if self._arrives(i) else self._box(i) for i in self.rows],
            self._chain(),
            xmlns="http://www.w3.org/2000/svg",
            class_="diagram",
            role="group" if self.name else "img",
            aria_label=words,
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
        )

    def _x(self, process: str) -> int:
        return _LEFT + self.lanes.number(process) * _COLUMN + _COLUMN // 2

    def _y(self, index: int) -> int:
        """Return where a step is; the first index after the last one is that of the first wait."""
        last = len(self.steps)
        row = self.rows[index] if index in self.rows else len(self.rows) + index - last
        return _TOP + row * _ROW + _ROW // 2

    def _arrives(self, index: int) -> bool:
        return bool(self.steps[index].get("arrival"))

    def _links(self) -> list[Json]:
        """Return the links to draw: that something will arrive is not one."""
        drawn = [link for link in links_to_see(self.failure) if link["target"] in self.rows]
        return [link for link in drawn if not self._arrives(link["target"])]

    def _lifeline(self, lane: str) -> Markup:
        number = self.lanes.names.index(lane)
        x = _LEFT + number * _COLUMN + _COLUMN // 2
        return tag(
            "g",
            tag("line", x1=x, x2=x, y1=_TOP - 8, y2=self.height - 8, class_="lifeline"),
            tag("text", cut(lane, 24), x=x, y=22, class_="lane-name", text_anchor="middle"),
            class_=f"lane-{number % 8}",
        )

    def _waits(self) -> list[Markup]:
        """Return the dashed lines of processes that wait until their next step."""
        found = []
        since: dict[str, int] = {}
        whose = who_goes_on(self.steps)
        for index in self.rows:
            step, who = self.steps[index], whose[index]
            if (start := since.pop(who, None)) is not None:
                found.append(self._wait(step["process"], start, index))
            if step["then"] == "waits":
                since[who] = index
        end = len(self.steps)
        left = since.values()
        return found + [self._wait(self.steps[at]["process"], at, end) for at in left]

    def _wait(self, process: str, start: int, end: int) -> Markup:
        x = self._x(process) - _BOX // 2 + 8
        line = {"x1": x, "x2": x, "y1": self._y(start) + 13, "y2": self._y(end) - 13}
        return tag("line", **line, class_=f"waiting {self.lanes.colour(process)}")

    def _box(self, index: int) -> Markup:
        step = self.steps[index]
        x, y = self._x(step["process"]), self._y(index)
        is_failing = index == self.failure["step"]
        kind = "failing" if is_failing else _ending_of(step)
        text = _words(step)
        inside: list[Markup] = [
            tag("title", f"Step {index + 1}: {step['process']} {_all_words(step)}"),
            tag(
                "rect",
                x=x - _BOX // 2,
                y=y - _HEIGHT // 2,
                width=_BOX,
                height=_HEIGHT,
                rx=5,
            ),
            tag("text", cut(text, _LETTERS), x=x, y=y + 4, text_anchor="middle"),
            tag("text", str(index + 1), x=_LEFT - 14, y=y + 4, class_="n", text_anchor="end"),
        ]
        return self._linked(inside, index, f"{kind} {self.lanes.colour(step['process'])}")

    def _arrival(self, index: int) -> Markup:
        """Return what came from outside: a band across all lanes."""
        step, y = self.steps[index], self._y(index)
        width = _COLUMN * len(self.lanes.names) - 12
        words = cut(step["arrival"], max(24, width // 7))
        inside = [
            tag("title", f"Step {index + 1}: {step['arrival']}"),
            tag("rect", x=_LEFT + 6, y=y - 10, width=width, height=20, rx=10),
            tag("text", words, x=_LEFT + 6 + width // 2, y=y + 4, text_anchor="middle"),
            tag("text", str(index + 1), x=_LEFT - 14, y=y + 4, class_="n", text_anchor="end"),
        ]
        return self._linked(inside, index, "arrival")

    def _linked(self, inside: list[Markup], index: int, kind: str) -> Markup:
        """Return a step as a link to where it is on the page, if there is one."""
        return tag(
            "a" if self.name else "g",
            inside,
            class_=f"step {kind}",
            href=f"#{self.name}-{index + 1}" if self.name else None,
            data_step=index,
        )

    def _arrow(self, link: Json) -> Markup:
        target = self.steps[link["target"]]
        x2, y2 = self._x(target["process"]), self._y(link["target"])
        title = tag("title", f"{link['kind']}: {link['about']}")
        y1 = self._y(link["source"])
        if self._arrives(link["source"]):  # straight down, out of the band
            x2 += _BOX // 2 - 12
            return self._way(title, f"M{x2} {y1 + 10}L{x2} {y2 - _HEIGHT // 2 - 3}", "wake")
        x1 = self._x(self.steps[link["source"]]["process"])
        if x1 == x2:  # to itself: around the boxes between
            side = x1 + _BOX // 2
            way = f"M{side} {y1}C{side + 26} {y1} {side + 26} {y2} {side + 3} {y2}"
        else:
            step = 1 if x2 > x1 else -1
            start, end = x1 + step * _BOX // 2, x2 - step * (_BOX // 2 + 3)
            bend = max(18, abs(end - start) // 2)
            way = f"M{start} {y1}C{start + step * bend} {y1} {end - step * bend} {y2} {end} {y2}"
        return self._way(title, way, link["kind"])

    def _way(self, title: Markup, way: str, kind: str) -> Markup:
        return tag(
            "g",
            title,
            tag("path", d=way, marker_end=f"url(#{self.name}to-{kind})"),
            class_=f"arrow {kind}",
        )

    def _chain(self) -> list[Markup]:
        """Return who waits for whom for ever, one below the other."""
        found = []
        for at, wait in enumerate(self.deadlocked):
            y = self._y(len(self.steps) + at)
            x1 = self._x(wait["process"])
            holders = [one for one in wait["holders"] if self.lanes.knows(one)]
            x2 = self._x(holders[0]) if holders else x1
            way = f"M{x1} {y}L{x2} {y}" if x1 != x2 else f"M{x1} {y}q28 10 4 18"
            words = f"waits for {wait['resource']}"
            found.append(
                tag(
                    "g",
                    tag("title", f"{wait['process']} {words}"),
                    tag("circle", cx=x1, cy=y, r=4),
                    tag("path", d=way, marker_end=f"url(#{self.name}to-deadlock)"),
                    tag(
                        "text",
                        cut(words, 30),
                        x=(x1 + x2) // 2 + (34 if x1 == x2 else 0),
                        y=y - 7,
                        text_anchor="start" if x1 == x2 else "middle",
                    ),
                    class_="tied",
                )
            )
        return found


def _arrowheads(name: str) -> Markup:
    """Return the ends of arrows; their names are the drawing's own, as a page has several."""
    heads = [
        tag(
            "marker",
            tag("path", d="M0 0L8 4L0 8z"),
            id=f"{name}to-{kind}",
            viewBox="0 0 8 8",
            refX=7,
            refY=4,
            markerWidth=7,
            markerHeight=7,
            orient="auto",
            class_=f"arrowhead {kind}",
        )
        for kind in _ARROWS
    ]
    return tag("defs", heads)


def _ending_of(step: Json) -> str:
    """Return how a step ended, for its colour."""
    if step["then"] in ("ends", "over"):
        return "returned"
    if step["then"] == "waits":
        return "blocked" if step["takes"] else "released"
    return "running"


def _words(step: Json) -> str:
    """Return what to write into a box: what is done to the most telling thing."""
    accesses = step["accesses"]
    return deed_in_words(accesses[0]) if accesses else step["source"] or step["process"]


def _all_words(step: Json) -> str:
    return "; ".join(map(deed_in_words, step["accesses"]))
