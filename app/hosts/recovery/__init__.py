"""Remains of a campaign that dies: recorded before they exist, removed afterwards."""
