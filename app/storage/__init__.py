"""Storage: inspect disks, decide which may be used, create and remove layouts; standard library only."""
