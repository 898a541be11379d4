"""Watch the faces of a dice set, round by round, and say when they no longer look fair.

Pure: no clock, no randomness, no I/O. `mixture` holds the evidence against fair faces, which may be
looked at after every round; `detector` notices a change during the life of a set; `monitor` is the
state of one set; `report` says what the rolls of a set show. docs/adr/0037 gives the reasons.

>>> from threedice.dice_monitor import report_on
>>> report = report_on([(6, 6, 5), (6, 2, 6)] * 20)
>>> [(crossing.level.name, crossing.round) for crossing in report.crossings]
[('warn', 7), ('inspect', 8), ('replace', 9)]
"""

from threedice.dice_monitor.detector import CHANGE_THRESHOLD
from threedice.dice_monitor.monitor import LEVELS, DiceMonitor, Level
from threedice.dice_monitor.report import DiceReport, ObservedRoll, report_on

__all__ = [
    "CHANGE_THRESHOLD",
    "LEVELS",
    "DiceMonitor",
    "DiceReport",
    "Level",
    "ObservedRoll",
    "report_on",
]
