"""The thin MCP adapter."""
