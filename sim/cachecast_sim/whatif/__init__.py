"""What-ifs: a log replayed with changes, compared with the same log replayed without them."""
