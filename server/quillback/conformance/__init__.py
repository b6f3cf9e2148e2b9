"""Checks whether an agent speaks ACP v1 as it should: rules, each a small function, over the raw bytes of its pipes."""
