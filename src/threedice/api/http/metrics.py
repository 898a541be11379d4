"""Prometheus metrics of a server."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from threedice.table.events import BetPlaced, RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from threedice.house.house import House
    from threedice.house.streams import PendingCommand

METRICS_CONTENT_TYPE: Final = "text/plain; version=0.0.4"
COMMAND_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the buckets of the command duration."""


class ServerMetrics:
    """Metrics of one server since its start, with all events that its house makes durable."""

    def __init__(self, house: House) -> None:
        self._monotonic = house.runtime.monotonic
        self.registry = CollectorRegistry()
        self.registry.register(_WriterCollector(house))
        self._next_on_written = house.command_handler.streams.on_written
        house.command_handler.streams.on_written = self._on_written
        counter = partial(Counter, registry=self.registry)
        self._accepted = cache(counter("threedice_commands", "Commands accepted.", ["kind"]).labels)
        self._seconds = Histogram(
            "threedice_command_seconds",
            "Time from a command's arrival until its events are durable.",
            buckets=COMMAND_SECONDS,
            registry=self.registry,
        )
        self._answers = counter(
            "threedice_answers", "Expensive queries, by whether the cache answered.", ["cached"]
        )
        self._refused = counter("threedice_refusals", "Problem responses, by code.", ["code"])
        self._events: dict[type[Any], Counter] = {
            BetPlaced: counter("threedice_bets", "Bets made durable."),
            WinnersPaid: counter("threedice_settlements", "Rounds settled."),
            RoundVoided: counter("threedice_voids", "Rounds voided."),
        }
        self.subscribers = Gauge(
            "threedice_subscribers",
            "Live sockets open.",
            labelnames=["audience"],
            registry=self.registry,
        )
        self.resyncs = counter(
            "threedice_resyncs", "Live sockets resynchronised because they were too slow."
        )
        self.sockets_closed = counter(
            "threedice_sockets_closed", "Live sockets closed by the house, by code.", ["code"]
        )

    def count_accepted(self, kind: str, started_at: float) -> None:
        """Count an accepted command, and observe its duration since a monotonic time."""
        self._accepted(kind).inc()
        self._seconds.observe(self._monotonic() - started_at)

    def count_answer(self, is_cached: bool) -> None:
        """Count the answer to an expensive query, from the cache or not."""
        self._answers.labels("yes" if is_cached else "no").inc()

    def count_refused(self, code: str) -> None:
        """Count a problem response by its code."""
        self._refused.labels(code).inc()

    def _on_written(self, command: PendingCommand) -> None:
        for events in command.events:
            for event in events:
                if counter := self._events.get(type(event)):
                    counter.inc()
        self._next_on_written(command)

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(registry=self.registry)


class _WriterCollector(Collector):
    """Reads the figures of a house's writer when metrics are scraped."""

    def __init__(self, house: House) -> None:
        self._house = house

    def collect(self) -> Iterator[Metric]:
        """Yield the writer's figures."""
        counts = self._house.command_handler.streams.writer.counts()
        suspended = bool(self._house.command_handler.suspension_reason)
        for name, text, gauge in (
            ("queue_depth", "Commands waiting to be written.", counts.queued),
            ("suspended", "1 while the house is suspended and cannot write.", suspended),
            ("largest_batch", "Largest number of commands in one commit.", counts.largest_batch),
        ):
            yield GaugeMetricFamily(f"threedice_{name}", text, value=gauge)
        for name, text, count in (
            ("batches", "Commits.", counts.batches),
            ("writes_accepted", "Proposals written.", counts.accepted),
            ("conflicts", "Proposals decided again after a conflicting write.", counts.conflicts),
            ("store_away", "Proposals that failed as the database was away.", counts.unavailable),
        ):
            yield CounterMetricFamily(f"threedice_{name}", text, value=count)
