"""One table: commands in, events out, refusals with the clause that forbids.

`commands` -> `decide` (handlers in `opening`, `chips`, `betting`, `dealing`, `settling`,
`irregular`; questions they share in `rules`, `limits`, `voiding`) -> `events` -> `state.evolve`.
"""

from threedice.table.decide import decide
from threedice.table.explain import BetRef, explain
from threedice.table.refusal import Refusal
from threedice.table.state import TableState, evolve, replay

__all__ = ["BetRef", "Refusal", "TableState", "decide", "evolve", "explain", "replay"]
