"""The engine decides: it knows the rules and nothing of clocks, databases or networks."""
