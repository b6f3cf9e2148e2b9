"""Inspectors look at each server tool call before it runs."""
