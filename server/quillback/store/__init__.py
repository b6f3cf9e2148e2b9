"""Sessions on disk: SQLite through one writer."""
