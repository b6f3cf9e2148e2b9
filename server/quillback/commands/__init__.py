"""Slash commands: the built-in ones, those of Markdown files, and the prompts of MCP servers."""
