"""ACP, one file per method."""
