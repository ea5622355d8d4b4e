package pmda
func WriteFiles(a *Agent, dir string) error { return nil }
