//go:build !linux

package probe

import "errors"

// OpenLinux fails: this is not Linux.
func OpenLinux(Options) (Engine, error) {
	return nil, errors.ErrUnsupported
}
