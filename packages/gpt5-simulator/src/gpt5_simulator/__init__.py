"""A local server that speaks the OpenAI Responses API: for trying things and for tests."""
