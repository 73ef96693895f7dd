"""Whatever is computed together must be on one device; wrappers for several GPUs add rules of their own."""
