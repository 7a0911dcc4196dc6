"""The pages of the window other than wizard and campaign."""
