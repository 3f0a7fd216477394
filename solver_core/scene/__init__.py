"""A scene as pure data: bodies, shapes, materials, settings, and what their fields may hold."""
