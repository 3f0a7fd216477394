"""Files: checksummed chunks, and the scene snapshots and frame caches that are made of them."""
