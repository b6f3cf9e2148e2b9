"""The pure domain: what a session, a turn and a message are, without I/O, clock or wire."""
