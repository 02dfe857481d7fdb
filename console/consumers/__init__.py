"""The sockets: join, catch up from a position, wait for a hint, catch up again."""
