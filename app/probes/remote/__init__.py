"""What the machine of a server does that is not this one: asked over the user's own ssh."""
