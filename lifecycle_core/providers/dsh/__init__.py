"""Run agents in the DeepSeek Harness: its own loop, our model calls, our tools (docs/adr/0007-the-harness.md)."""
