"""Forms: what a browser sends, read into JSON values."""
