"""Files in the way of Dify: their types, and the short-lived links by which it hands them over."""
