"""Parameters of Python functions: the schema that a model sees, and a model's arguments as values. Importing it imports pydantic."""
