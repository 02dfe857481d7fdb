"""The way back up: what the core tells whoever listens, after a commit and without facts."""

from typing import Final

from django.dispatch import Signal

# Sent with `tenant` (slug) and `position` (the feed's head as of that commit); a hint that there is something to read.
journal_advanced: Final = Signal()
