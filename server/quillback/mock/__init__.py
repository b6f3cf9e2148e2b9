"""A scripted ACP agent for people who write clients: it speaks the wire directly, and misbehaves when told to."""
