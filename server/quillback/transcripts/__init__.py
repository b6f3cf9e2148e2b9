"""Conversations between a client and an agent as files: run against any agent, recorded, and stored ones replayed."""
