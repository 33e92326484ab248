"""Rules for what a package installs: wheels, pyproject.toml, uv.lock and requirements.txt."""
