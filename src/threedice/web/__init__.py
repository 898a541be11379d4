"""The web: the floor behind HTTP and sockets."""
