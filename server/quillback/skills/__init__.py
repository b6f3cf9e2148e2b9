"""What a model is told to read: skills that it loads when they fit, and context files that it always gets."""
