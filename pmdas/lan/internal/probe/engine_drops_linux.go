package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropsOf asks the kernel how many datagrams found no room in a socket's receive
// buffer, sock_diag(7).
func dropsOf(fd int) uint64 {
	const dropsIndex = 8 // SK_MEMINFO_DROPS, linux/sock_diag.h
	var info [16]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size <= dropsIndex*4 {
		return 0
	}
	return uint64(info[dropsIndex])
}
