"""Forms for parts of pages: disks, options, configurations, scripts, settings."""
