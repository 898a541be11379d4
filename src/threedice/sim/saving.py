"""A simulation put by: what has been done of which job, in a file to go on from.

The file says which job it belongs to, and going on with another is refused. More sessions of the
same kind are the same job: a finished study can be carried further.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.errors import InvalidInput
from threedice.sim.jobs import FlatJob
from threedice.sim.tallies import packed, unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.sim.jobs import SessionJob, TableJob
    from threedice.sim.tallies import Tally

    AnyJob = SessionJob | FlatJob | TableJob

FORMAT = "threedice simulation 2"


def kind_of(job: AnyJob) -> str:
    """Return a name for all jobs that differ in how many sessions there are only."""
    same: Any = job if isinstance(job, FlatJob) else replace(job, sessions=0)
    return sha256(repr(same).encode()).hexdigest()


def save(file: Path, job: AnyJob, tally: Tally) -> None:
    """Write what has been done; the file is whole at every moment."""
    text = msgspec.json.encode({"format": FORMAT, "job": kind_of(job), **packed(tally)})
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_bytes(text)
        beside.replace(file)
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from None


def load(file: Path, job: AnyJob) -> Tally:
    """Read what has been done of a job, nothing where there is no such file yet."""
    if not file.exists():
        return job.blank()
    try:
        kept = msgspec.json.decode(file.read_bytes())
        if kept["format"] != FORMAT:
            raise InvalidInput("it is of another version")
        if kept["job"] != kind_of(job):
            raise InvalidInput(
                "it belongs to another simulation; ask for the same game, bets, limits and seed, "
                "or name another file"
            )
        tally = unpacked(kept, job.blank())
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from None
    except InvalidInput as error:
        raise InvalidInput(f"cannot go on from {file}: {error}") from None
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
        raise InvalidInput(f"cannot go on from {file}: it is no file of a simulation") from None
    if tally.units > job.units:
        raise InvalidInput(
            f"{file} has {tally.units} units done already, and {job.units} are asked for"
        )
    return tally
