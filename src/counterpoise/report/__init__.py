"""Pages for people: one self-contained HTML file each, made of the same few pieces."""
