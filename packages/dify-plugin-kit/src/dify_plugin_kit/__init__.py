"""Helpers for Dify plugins beyond Dify's SDK, in modules that are imported one by one.

- `dify_plugin_kit.error_texts`: what the platform's error texts mean, and which failed calls are worth a retry
- `dify_plugin_kit.request_errors`: the errors that Dify gets when a request fails, without tracebacks and quotations
- `dify_plugin_kit.settings`: numbers from environment variables, and the SDK's timeouts
- `dify_plugin_kit.start`: a faster import of the SDK
- `dify_plugin_kit.stdin`, `dify_plugin_kit.stdout`: the lines from and to the daemon, bounded in depth and length
- `dify_plugin_kit.pacing`: a stream's events in few batches, with keep-alives

None imports Dify's SDK. The SDK patches the process for gevent while it is imported: import `stdout` and `pacing`, which use threads, after it.
"""
