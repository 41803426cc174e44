"""What a page may ask, one module a question: each calls what the command of that name calls."""
