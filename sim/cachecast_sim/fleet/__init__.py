"""Self-hosted servers: their caches, their schedulers and the router before them."""
