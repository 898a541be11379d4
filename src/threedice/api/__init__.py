"""HTTP and WebSocket API of a house: application, authentication, routes, live sockets, server."""
