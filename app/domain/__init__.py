"""Pure data: standard library only, no input or output. Everything else may import it."""
