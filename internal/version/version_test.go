package version

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	if v := String(); !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(v) {
		t.Errorf("%q is no version in the form of semver.org", v)
	}
}

// TestPkgConfig asks pkg-config for the versions of the libraries.
func TestPkgConfig(t *testing.T) {
	for _, lib := range []string{"libarm", "libSpmi"} {
		dir := t.TempDir()
		if out, err := exec.Command("make", "-C", "../../"+lib, "BUILD="+dir, dir+"/"+lib+".pc").CombinedOutput(); err != nil {
			t.Fatalf("make %s.pc: %v\n%s", lib, err, out)
		}
		out, err := exec.Command("pkg-config", "--modversion", dir+"/"+lib+".pc").CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != String() {
			t.Errorf("pkg-config says that the version of %s is %q, %v; want %s", lib, got, err, String())
		}
	}
}
