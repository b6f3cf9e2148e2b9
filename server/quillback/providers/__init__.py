"""Language model providers."""
