"""Rules for the dependencies of a package: wheels, pyproject.toml, uv.lock and requirements.txt."""
