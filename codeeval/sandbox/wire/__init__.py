"""What crosses the walls between caller, judge, zygote and child; it imports nothing of ours."""
