"""The layers that a run may be composed of. Import each from its module; only `dify_plugin` is meant for clients."""
