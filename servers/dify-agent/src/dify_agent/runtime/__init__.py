"""Running agents: a composition in, events out. For servers; clients need only `dify_agent.protocol`."""
