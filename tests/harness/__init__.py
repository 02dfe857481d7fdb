"""What the tests stand on: databases, browser, a running console."""
