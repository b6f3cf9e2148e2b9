"""The MCP client of a session: servers the editor names, their tools, and the processes behind them."""
