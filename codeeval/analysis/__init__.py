"""What is made of results: comparisons, histories, leaderboards, hard subsets, audits, reports and plots."""
