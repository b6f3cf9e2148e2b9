"""The tools that run on the server."""
