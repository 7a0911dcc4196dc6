"""The pages of the window that are neither wizard nor campaign."""
