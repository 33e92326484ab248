"""The command `dify-host`."""
