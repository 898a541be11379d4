"""Faults of the network between a page and the server: delayed and lost messages."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.screens.browser import assert_soon

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Route, WebSocketRoute

API = re.compile(r"/api/")
LIVE = re.compile(r"/api/tables/[^/]+/live")
COMMANDS = re.compile(r"/api/tables/[^/]+/commands$")
OUTCOMES = re.compile(r"/api/commands/[^/]+$")


def is_command(url: str) -> bool:
    return bool(COMMANDS.search(url))


class HeldRequests:
    """Hold back the requests of a page that match a pattern, until they are released."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._pattern = page, pattern
        self._held: list[Route] = []
        page.route(pattern, self._hold)

    def _hold(self, route: Route) -> None:
        self._held.append(route)

    def wait(self) -> None:
        """Wait until the page has sent a request."""
        assert_soon(self._page, lambda: bool(self._held), True)

    def release(self) -> None:
        """Let the first request through, and every later one."""
        self.wait()
        self._held[0].continue_()
        self._page.unroute(self._pattern)


class FaultyNetwork:
    """Pass the API requests and WebSockets of a browser context on, except those to be lost."""

    def __init__(self, context: BrowserContext) -> None:
        self.offline = False
        self.lose_all_responses = False
        """The server receives everything; none of its messages reach the page."""
        self.lose_responses = 0
        """How many of the next responses to commands are lost."""
        self.lose_requests = 0
        self.lose_outcomes = False
        """No response to a query for the outcome of a command reaches the page."""
        self.lose_event_messages = 0
        self.idempotency_keys: list[str] = []
        self.resume_versions: list[str] = []
        """The version from which each WebSocket asked for events."""
        self.messages: list[dict[str, Any]] = []
        """Every message of the server that has reached the page, of all WebSockets."""
        self._sockets: list[WebSocketRoute] = []
        context.route(API, self._route_request)
        context.route_web_socket(LIVE, self._route_socket)

    def disconnect(self) -> None:
        """Go offline, and close every WebSocket."""
        self.offline = True
        for socket in self._sockets:
            socket.close()
        self._sockets.clear()

    def fall_silent(self, page: Page) -> None:
        """Lose everything from now on; what was sent before has reached the page."""
        self.offline = True
        page.evaluate("() => undefined")

    def event_versions(self) -> list[int]:
        """Return the versions of all events that have reached the page."""
        return [
            event["version"]
            for message in self.messages
            if message["type"] == "events"
            for event in message["events"]
        ]

    def _route_request(self, route: Route) -> None:
        command = is_command(route.request.url)
        if command:
            self.idempotency_keys.append(route.request.headers["idempotency-key"])
        if self.offline or (command and self.lose_requests):
            self.lose_requests -= bool(self.lose_requests and command)
            route.abort("internetdisconnected")
        elif (
            self.lose_all_responses
            or (command and self.lose_responses)
            or (self.lose_outcomes and OUTCOMES.search(route.request.url))
        ):
            self.lose_responses -= bool(self.lose_responses and command)
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    def _route_socket(self, socket: WebSocketRoute) -> None:
        """Pass messages on in both directions; offline, not even a close arrives."""
        if self.offline:
            socket.on_message(lambda _: None)
            return
        self._sockets.append(socket)
        self.resume_versions.append(socket.url.partition("after=")[2])
        server = socket.connect_to_server()

        def to_server(message: str | bytes) -> None:
            if not self.offline:
                server.send(message)

        def to_page(text: str | bytes) -> None:
            message = json.loads(text)
            if message["type"] == "events" and self.lose_event_messages:
                self.lose_event_messages -= 1
            elif not self.offline and not self.lose_all_responses:
                self.messages.append(message)
                socket.send(text)

        socket.on_message(to_server)
        server.on_message(to_page)
