"""HTTP with one server: requests, answers, network connections, and the messages of its errors."""
