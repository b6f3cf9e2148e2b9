"""The wire: stdio, ACP methods, and the only translation between events and protocol types."""
