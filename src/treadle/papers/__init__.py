"""The papers' programs, and how to measure them again: `treadle bench`."""

from treadle.papers.atva16 import PAPER as ATVA16
from treadle.papers.cav18 import PAPER as CAV18
from treadle.papers.cc16 import PAPER as CC16
from treadle.papers.ifm16 import PAPER as IFM16
from treadle.papers.jacm17 import PAPER as JACM17
from treadle.papers.jss21 import PAPER as JSS21
from treadle.papers.jss23 import PAPER as JSS23
from treadle.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in [JACM17, JSS23, ATVA16, CC16, IFM16, JSS21, CAV18]
}
"""Every paper whose tables can be measured again, by name."""
