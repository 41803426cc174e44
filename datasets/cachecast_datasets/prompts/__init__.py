"""A provider's request body in, the rendered prompt as parts out; one file per API."""
