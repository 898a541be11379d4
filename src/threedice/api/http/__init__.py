"""HTTP layer: protocol limits, middleware, operations, responses, OpenAPI, log and metrics."""
