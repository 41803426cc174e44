"""Step times of an engine over a designed grid, and the coefficients that explain them."""
