// Package version knows the version of this tree. It stands in one place, the file
// VERSION beside this one, which the makefiles of libarm and libSpmi read too.
package version

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var file string

// String returns the version in the form of semver.org, such as "0.1.0".
func String() string { return strings.TrimSpace(file) }
