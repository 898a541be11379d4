"""Prometheus metrics of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from threedice.table.events import BetPlaced, RoundVoided, WinnersPaid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from threedice.house.house import House
    from threedice.house.streams import PendingCommand

METRICS_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
COMMAND_SECONDS_BUCKETS: Final = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
)


class ServerMetrics:
    """Metrics of one server since its start."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._commands = Counter(
            "threedice_commands", "Commands accepted.", ["kind"], registry=self.registry
        )
        self._seconds = Histogram(
            "threedice_command_seconds",
            "Time from a command's arrival until its events are durable.",
            buckets=COMMAND_SECONDS_BUCKETS,
            registry=self.registry,
        )
        self._refused = Counter(
            "threedice_refusals", "Problem responses, by code.", ["code"], registry=self.registry
        )
        self._command_counters: dict[str, Counter] = {}
        self._bets = Counter("threedice_bets", "Bets made durable.", registry=self.registry)
        self._settlements = Counter(
            "threedice_settlements", "Rounds settled.", registry=self.registry
        )
        self._voids = Counter("threedice_voids", "Rounds voided.", registry=self.registry)
        self.subscribers = Gauge(
            "threedice_subscribers", "Live sockets open.", ["audience"], registry=self.registry
        )
        self.resyncs = Counter(
            "threedice_resyncs",
            "Live sockets resynchronised because they were too slow.",
            registry=self.registry,
        )
        self.sockets_closed = Counter(
            "threedice_sockets_closed",
            "Live sockets closed by the house, by code.",
            ["code"],
            registry=self.registry,
        )

    def count_accepted(self, kind: str, seconds: float) -> None:
        """Count an accepted command and observe its duration."""
        counter = self._command_counters.get(kind)
        if counter is None:
            counter = self._command_counters[kind] = self._commands.labels(kind)
        counter.inc()
        self._seconds.observe(seconds)

    def count_refused(self, code: str) -> None:
        """Count a problem response by its code."""
        self._refused.labels(code).inc()

    def observe_house(self, house: House) -> None:
        """Count all events that a house makes durable, and collect its writer's figures."""
        self.registry.register(_WriterCollector(house))
        next_callback = house.command_handler.streams.on_written

        def on_written(command: PendingCommand) -> None:
            self._count_events(command)
            next_callback(command)

        house.command_handler.streams.on_written = on_written

    def _count_events(self, command: PendingCommand) -> None:
        for events in command.events:
            for event in events:
                if isinstance(event, BetPlaced):
                    self._bets.inc()
                elif isinstance(event, WinnersPaid):
                    self._settlements.inc()
                elif isinstance(event, RoundVoided):
                    self._voids.inc()

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self.registry)


class _WriterCollector(Collector):
    """Reads the figures of a house's writer when metrics are scraped."""

    def __init__(self, house: House) -> None:
        self._house = house

    def collect(self) -> Iterator[Metric]:
        """Yield the writer's figures."""
        counts = self._house.command_handler.streams.writer.counts()
        yield GaugeMetricFamily(
            "threedice_queue_depth", "Commands waiting to be written.", counts.queued
        )
        yield GaugeMetricFamily(
            "threedice_suspended",
            "1 while the house is suspended and cannot write.",
            bool(self._house.command_handler.suspension_reason),
        )
        yield GaugeMetricFamily(
            "threedice_largest_batch",
            "Largest number of commands in one commit.",
            counts.largest_batch,
        )
        for name, help_text, value in (
            ("batches", "Commits.", counts.batches),
            ("writes_accepted", "Proposals written.", counts.accepted),
            ("conflicts", "Proposals decided again after a conflicting write.", counts.conflicts),
            ("store_away", "Proposals that failed as the database was away.", counts.unavailable),
        ):
            yield CounterMetricFamily(f"threedice_{name}", help_text, value)
