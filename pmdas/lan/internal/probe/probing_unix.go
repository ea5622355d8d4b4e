//go:build unix

package probe

import "syscall"

// noBroadcast makes the system refuse to connect a socket to a broadcast address;
// package net allows it.
func noBroadcast(_, _ string, c syscall.RawConn) error {
	var err error
	cerr := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 0)
	})
	if cerr != nil {
		return cerr
	}
	return err
}
