"""HTTP layer: limits, middleware, requests, problems, OpenAPI, log and metrics."""
