"""Pure data: standard library only, no input or output. All other packages may import it."""
