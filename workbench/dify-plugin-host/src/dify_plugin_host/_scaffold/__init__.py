"""New plugins, one for each kind, from templates."""
