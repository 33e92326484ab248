"""The connection to a Responses server: settings, transport, errors, retries, and a stateless client."""
