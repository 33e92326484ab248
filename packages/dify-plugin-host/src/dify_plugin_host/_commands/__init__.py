"""The commands `dify-host` and `dify-plugin`."""
