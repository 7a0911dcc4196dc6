"""Servers that already run and are not pgFooting's: how they are reached, looked at, refused and left."""
