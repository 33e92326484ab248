"""What a Dify plugin needs beyond Dify's SDK, in modules that are imported one by one.

- `dify_plugin_kit.error_texts`: what the platform's error texts mean, and which failed calls may pass when they are made again
- `dify_plugin_kit.request_errors`: what Dify is told when a request fails, without tracebacks and quotations
- `dify_plugin_kit.settings`: numbers from environment variables, and the SDK's timeouts
- `dify_plugin_kit.stdin`, `dify_plugin_kit.stdout`: the daemon's lines, however deep they nest, and never too long
- `dify_plugin_kit.pacing`: a stream's events in few batches, with keep-alives

None imports Dify's SDK. The SDK patches the process for gevent while it is imported: import `stdout` and `pacing`, which use threads, after it.
"""
