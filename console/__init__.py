"""The console: pages, REST, sockets and commands over the application."""
