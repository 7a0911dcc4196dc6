"""What a campaign that dies would leave on the machine: recorded before, removed afterwards."""
