"""The program around the window: arguments, display, theme, signals."""
