"""Who runs: tasks in greenlets, what they announce, and the scheduler that lets them go on."""
