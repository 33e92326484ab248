"""The rules of Dify's marketplace for a package's files."""
