//go:build gc

package writer

import _ "unsafe" // for linkname

// The number of the P that a goroutine runs on is not public, but these two functions are
// kept for packages that need it (go.dev/issue/67401). A pool's Get and Put tell it as
// well, at seven times the cost.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

func currentP() uint {
	p := procPin()
	procUnpin()
	return uint(p)
}
