"""The pages: parse, find the actor, call one use case, render."""
