"""The Go types into which the daemon decodes requests, answers and declarations, and the JSON that it writes from them."""
