"""Files as Dify has them: what it says of them, and the short-lived links by which it hands them over."""
