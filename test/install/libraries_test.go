//go:build system

package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programs are two programs in C. Each calls one function of a library and prints what it
// returns.
var callers = map[string]string{
	"arm":  "#include <arm.h>\n#include <stdio.h>\nint main(void)\n{\n\tprintf(\"%d\\n\", (int)arm_init(\"Installed\", \"*\", 0, 0, 0) > 0);\n\treturn 0;\n}\n",
	"Spmi": "#include <sys/Spmidef.h>\n#include <stdio.h>\nint main(void)\n{\n\tprintf(\"%d\\n\", SpmiInit(0) == 0);\n\treturn 0;\n}\n",
}

// TestLibraries: after Install a program is linked by -larm or -lSpmi alone, and after Remove
// there is nothing left.
func TestLibraries(t *testing.T) {
	s := newSystem(t)
	files := s.files()
	s.must(top(t, "Install"), "rtlan")
	for lib := range callers {
		if out, code := s.link(lib, "-l"+lib); code == 0 {
			t.Errorf("Install rtlan brought lib%s: %s", lib, out)
		}
	}
	s.must(top(t, "Install"), "rtarm", "dds")
	for lib := range callers {
		flags := strings.Fields(s.must("pkg-config", "--cflags", "--libs", "lib"+lib))
		static := strings.Fields(s.must("pkg-config", "--static", "--libs", "lib"+lib))
		for _, how := range [][]string{{"-l" + lib}, flags, append([]string{"-static"}, static...)} {
			if out, code := s.link(lib, how...); code != 0 || out != "1\n" {
				t.Errorf("a program linked by %q: exit status %d: %s", how, code, out)
			}
		}
	}
	s.must("man", "-w", "arm_start", "libarm", "SpmiDdsInit")

	// What one agent brought stays when another one is removed, and a second Install
	// changes nothing.
	s.must(top(t, "Remove"), "rtarm")
	if out, code := s.link("arm", "-larm"); code == 0 {
		t.Errorf("libarm is there after Remove rtarm: %s", out)
	}
	s.must(top(t, "Install"), "dds")
	if out, code := s.link("Spmi", "-lSpmi"); code != 0 || out != "1\n" {
		t.Errorf("after a second Install: exit status %d: %s", code, out)
	}
	s.must(top(t, "Remove"), "--purge")
	same(t, "files after Remove --purge", s.files(), files)
	if out := s.must("ldconfig", "-p"); strings.Contains(out, "libarm") || strings.Contains(out, "libSpmi") {
		t.Errorf("ldconfig knows the libraries after Remove:\n%s", out)
	}
}

// link compiles a program that calls a library, and runs it as an ordinary user.
func (s *system) link(lib string, flags ...string) (string, int) {
	s.t.Helper()
	dir := s.t.TempDir()
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	source, program := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(callers[lib]), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if out, code := s.run("cc", append([]string{"-o", program, source}, flags...)...); code != 0 {
		return out, code
	}
	return s.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program)
}

// TestOtherLibrary has another libarm on the machine: where programs find it, and where ours
// goes.
func TestOtherLibrary(t *testing.T) {
	s := newSystem(t)
	files := s.files()
	vendor := t.TempDir()
	source := filepath.Join(vendor, "vendor.c")
	if err := os.WriteFile(source, []byte("int arm_init(void) { return 4711; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(vendor, "libarm.so.2")
	s.must("cc", "-shared", "-Wl,-soname,libarm.so.2", "-o", library, source)
	const linker = "/etc/ld.so.conf.d/zz-vendor.conf"
	t.Cleanup(func() {
		os.Remove(linker)
		s.must("ldconfig")
	})
	if err := os.WriteFile(linker, []byte(vendor+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.must("ldconfig")
	s.refuses(library)
	s.must(top(t, "Install"), "--no-libraries", "rtarm")
	if st := s.status("rtarm"); st != "0" {
		t.Errorf("--no-libraries: pmcd.agent.status is %q", st)
	}
	if found, _ := filepath.Glob("/usr/local/lib/libarm*"); len(found) > 0 {
		t.Errorf("--no-libraries brought %q", found)
	}
	s.must(top(t, "Remove"), "--purge", "rtarm")
	if err := os.Remove(linker); err != nil {
		t.Fatal(err)
	}
	s.must("ldconfig")

	const header = "/usr/local/include/arm.h"
	t.Cleanup(func() { os.Remove(header) })
	if err := os.WriteFile(header, []byte("another vendor's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.refuses(header)
	if text, err := os.ReadFile(header); err != nil || string(text) != "another vendor's\n" {
		t.Errorf("the other vendor's header: %v, %q", err, text)
	}
	s.must(top(t, "Install"), "--replace-libraries", "rtarm")
	if out, code := s.link("arm", "-larm"); code != 0 || out != "1\n" {
		t.Errorf("--replace-libraries: exit status %d: %s", code, out)
	}
	s.must(top(t, "Install"), "rtarm") // what is there is ours now
	s.must(top(t, "Remove"), "--purge")
	same(t, "files after Remove --purge", s.files(), files)
}

// refuses runs Install, which must refuse because of a file and change nothing.
func (s *system) refuses(path string) {
	s.t.Helper()
	out, code := s.run(top(s.t, "Install"), "rtarm")
	for _, want := range []string{"another libarm: " + path, "--replace-libraries", "--no-libraries"} {
		if code == 0 || !strings.Contains(out, want) {
			s.t.Errorf("beside %s: exit status %d, want %q in\n%s", path, code, want, out)
		}
	}
	if st := s.status("rtarm"); st != "" {
		s.t.Errorf("beside %s: pmcd.agent.status is %q", path, st)
	}
	if found, _ := filepath.Glob("/usr/local/lib/libarm*"); len(found) > 0 {
		s.t.Errorf("beside %s: Install brought %q", path, found)
	}
}
