"""On-line estimation: gravity that learns, payloads that are found, contacts that are felt."""
