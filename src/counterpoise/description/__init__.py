"""Robot descriptions: pure data about links, joints and inertias, and the strict readers that make them."""
