//go:build !unix

package probe

import "syscall"

// noBroadcast does nothing where sockets have no file descriptors.
func noBroadcast(_, _ string, _ syscall.RawConn) error { return nil }
