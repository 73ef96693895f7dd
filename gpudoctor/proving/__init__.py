"""Running trainings and reproductions: what fails, what mends it, and whether a training comes to the right answer."""
