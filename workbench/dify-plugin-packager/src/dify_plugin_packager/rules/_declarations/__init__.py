"""Rules for the manifest and the declarations that it leads to: the daemon's, Dify's, and what we advise."""
