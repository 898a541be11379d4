"""The line between a screen and its house, which a test can cut and mend."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Route, WebSocketRoute

API = re.compile(r"/api/")
LIVE = re.compile(r"/api/tables/[^/]+/live")
COMMANDS = re.compile(r"/api/tables/[^/]+/commands$")


class Line:
    """Everything that a browser says to the house goes through here, and what it hears."""

    def __init__(self, context: BrowserContext) -> None:
        self.cut = False
        self.lose_answers = 0
        self.lose_questions = 0
        self.lose_events = 0
        self.keys: list[str] = []
        self.after: list[str] = []
        self.told: list[dict[str, Any]] = []
        """Every message of the house that has reached the screen, of all sockets."""
        self._sockets: list[WebSocketRoute] = []
        context.route(API, self._asked)
        context.route_web_socket(LIVE, self._followed)

    def hang_up(self) -> None:
        """Cut the line, and have every socket closed."""
        self.cut = True
        for socket in self._sockets:
            socket.close()
        self._sockets.clear()

    def _asked(self, route: Route) -> None:
        is_command = bool(COMMANDS.search(route.request.url))
        if is_command:
            self.keys.append(route.request.headers["idempotency-key"])
        if self.cut or (is_command and self.lose_questions):
            self.lose_questions -= bool(self.lose_questions and is_command)
            route.abort("internetdisconnected")
        elif is_command and self.lose_answers:
            self.lose_answers -= 1
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    def _followed(self, socket: WebSocketRoute) -> None:
        """Pass on what is said, both ways; over a line that is cut nobody even says goodbye."""
        if self.cut:
            socket.on_message(lambda _: None)
            return
        self._sockets.append(socket)
        self.after.append(socket.url.partition("after=")[2])
        house = socket.connect_to_server()

        def up(message: str | bytes) -> None:
            if not self.cut:
                house.send(message)

        def down(message: str | bytes) -> None:
            said = json.loads(message)
            if said["type"] == "events" and self.lose_events:
                self.lose_events -= 1
            elif not self.cut:
                self.told.append(said)
                socket.send(message)

        socket.on_message(up)
        house.on_message(down)

    def versions(self) -> list[int]:
        """Return the versions of all events that the screen was told."""
        return [
            each["version"]
            for message in self.told
            if message["type"] == "events"
            for each in message["events"]
        ]
