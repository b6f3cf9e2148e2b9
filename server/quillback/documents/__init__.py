"""Small text files that people write for the agent: read without being held up, and taken apart."""
