"""Whatever is computed together must lie on one device; wrappers for several GPUs add rules of their own."""
