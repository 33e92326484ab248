"""The calls of the API: their requests and results, fallbacks after a refusal, and the clients that send them."""
