"""What both ends of the pipe share: JSON-RPC, framing, ACP types, and a headless client."""
