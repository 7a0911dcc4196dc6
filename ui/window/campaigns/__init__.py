"""Campaigns in the window: started, followed, stopped when it closes."""
