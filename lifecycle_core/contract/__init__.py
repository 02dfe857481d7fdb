"""The words that every part shares: frozen values and protocols, pure Python, importing nothing of ours."""
