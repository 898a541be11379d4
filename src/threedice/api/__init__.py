"""HTTP and WebSocket API of a house: application, authentication, routes, live sockets, server."""

from threedice.extras import require_extra

require_extra("house", "running a house")
