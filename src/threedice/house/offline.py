"""Write to the house's own stream without serving the house, from the command line.

The house may be stopped, or served by another process, which notices the entry by itself.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput, OperatingFailure, StoreFailed, StreamConflict
from threedice.house.codec import encode
from threedice.house.events import WritingReleased
from threedice.house.live_stream import read_own_entries, require_next_entry
from threedice.house.recovery import build_acceptance
from threedice.house.stream_state import HOUSE_STREAM
from threedice.log.entry import EMPTY_HEAD, Head, extend_stream, hash_cause
from threedice.log.proof.checkpoints import CheckpointSigner, signed_heads
from threedice.log.proof.keys import has_signing_key, read_keys
from threedice.log.records import Acceptance, Append, HeadConflict, Proposal
from threedice.log.stores.files import clear_halt, read_halt
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from threedice.house.events import AnyHouseEvent, EntriesAccepted
    from threedice.log.store import Store

MAX_APPEND_ATTEMPTS: Final = 20


def append_house_event(
    store: Store,
    event: AnyHouseEvent,
    *,
    by: str,
    key: str,
    accepted: Mapping[str, Head] | None = None,
) -> None:
    """Append an event to the house's stream; retry if a server appends first.

    The same transaction writes valid MACs for the accepted heads, which the house did not write.
    """
    others = dict(accepted or {})
    accepted_head = others.pop(HOUSE_STREAM, None)
    new_entry = encode(event)
    for _ in range(MAX_APPEND_ATTEMPTS):
        head = accepted_head or store.own_head(HOUSE_STREAM)
        numbered_key = f"{key} {head.version}"
        command_hash = sha256(numbered_key.encode() + new_entry.data).digest()
        entries, _ = extend_stream(
            head,
            HOUSE_STREAM,
            SYSTEM_RUNTIME.now(),
            hash_cause(by, numbered_key, command_hash),
            [new_entry],
        )
        append = Append(HOUSE_STREAM, head, entries)
        proposal = Proposal(by, numbered_key, command_hash, (append,), accepted=others)
        (outcome,) = store.write([proposal])
        if isinstance(outcome, Acceptance):
            return
        if isinstance(outcome, HeadConflict) and outcome.stream in (accepted or {}):
            raise StreamConflict(f"{outcome.stream} has changed again; inspect it once more")
    raise StreamConflict("other servers kept writing to the house's stream; try again")


def halt_reason(store: Store, state_dir: Path) -> str:
    """Return why writing is halted, as recorded in the database or in the state directory."""
    return store.suspension_reason() or read_halt(state_dir)


def release_writing(store: Store, state_dir: Path, *, by: str, reason: str) -> str:
    """Record that a person released a suspended house, and end its suspension.

    Returns why the house was suspended. If the event cannot be written, nothing changes. A database
    that lacks a checkpoint of the state directory, such as an older copy, is refused.
    """
    if not reason.strip():
        raise InvalidInput("give the reason why the house may write again")
    if not (cause := halt_reason(store, state_dir)):
        raise OperatingFailure("the house is not suspended; there is nothing to release")
    if has_signing_key(state_dir):
        CheckpointSigner(store, read_keys(state_dir), state_dir).load()  # compares both ends
    append_house_event(
        store, WritingReleased(cause=cause, reason=reason, by=by), by=by, key="release"
    )
    try:
        store.release()
        clear_halt(state_dir)
    except (StoreFailed, OSError) as error:
        raise OperatingFailure(
            f"{error}; the release is in the log, but the house stays suspended: release it again"
        ) from error
    return cause


def accept_entries(store: Store, stream: str, *, by: str, reason: str) -> EntriesAccepted | None:
    """Record that a person accepts the entries of a stream that the house did not write.

    Returns the event, or None if the house wrote them all. Entries that are no chain are refused,
    and so is a stream that does not exist.
    """
    if not reason.strip():
        raise InvalidInput("give the reason why the entries are accepted")
    signed = signed_heads(store.checkpoints())
    for name, known in signed.items():
        store.know_head(name, known)
    base = last = signed.get(stream, EMPTY_HEAD)
    head, mac = store.head_with_mac(stream)
    if head == base == EMPTY_HEAD and not store.read(stream, limit=1):
        raise InvalidInput(
            f"there is no stream {stream!r}; threedice log verify and threedice doctor name those"
            " with foreign entries"
        )
    store.require_extension(stream, head, base)
    if store.head_macs is None or store.head_macs.is_valid(stream, head, mac):
        return None
    for entry in read_own_entries(store, stream, base, accepted=head):
        require_next_entry(last, entry)
        last = Head(entry.version, entry.hash)
    event = build_acceptance(stream, base, head, by=by, reason=reason)
    append_house_event(store, event, by=by, key="release", accepted={stream: head})
    return event
