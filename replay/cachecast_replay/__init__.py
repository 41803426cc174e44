"""The real engines and the comparison with them (design: replay/ checks what sim/ predicts)."""
