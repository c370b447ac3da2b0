package sqlite_test

const childEnv = "BRAID_SQLITE_TEST_CHILD"

func child(string) int { return 0 }
