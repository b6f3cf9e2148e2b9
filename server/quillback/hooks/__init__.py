"""Hooks: commands of the user that are told of a session's moments. Implements the port in `core.hooks`."""
