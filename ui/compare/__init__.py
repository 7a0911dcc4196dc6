"""The compare page: several runs over each other, beside each other, and what may be said about them."""
