"""The tool contract: schemas, arguments, coercion, guards, observations, files. No I/O but the file guard."""
