"""The face of the Responses API: agents as models, runs as responses. It knows no agent."""
