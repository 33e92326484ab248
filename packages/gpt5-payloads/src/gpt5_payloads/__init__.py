"""Parameters to Responses request body: what each GPT-5 model accepts, and nothing it refuses."""
