package pcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// TestErrorText compares every code with what the installed PCP says.
func TestErrorText(t *testing.T) {
	out, err := exec.Command("pmerr", "-l").Output() // its exit status is 1 even so
	row := regexp.MustCompile(`^(-\d+)\s+PM_ERR_\w+\s+(.*\S)\s*$`)
	real := make(map[Error]string)
	for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); {
		if m := row.FindStringSubmatch(in.Text()); m != nil {
			code, _ := strconv.Atoi(m[1])
			real[Error(code)] = m[2]
		}
	}
	if len(real) < 50 {
		t.Fatalf("pmerr -l, of PCP, lists %d codes: %v\n%s", len(real), err, out)
	}
	for code := range errorText {
		if want, ok := real[code]; !ok || code.Error() != want {
			t.Errorf("%d says %q, pmerr %q", int32(code), code.Error(), want)
		}
	}
}

func TestErrno(t *testing.T) {
	e := ErrnoError(syscall.ENOENT)
	if e != -2 || e.Error() != syscall.ENOENT.Error() {
		t.Errorf("ENOENT is %d, %q", int32(e), e)
	}
	for code, want := range map[Error]string{0: "PCP error 0", 8: "PCP error 8", -1000: "PCP error -1000", -20000: "PCP error -20000"} {
		if code.Error() != want {
			t.Errorf("%d says %q, want %q", int32(code), code.Error(), want)
		}
	}
	if err := fmt.Errorf("a look-up: %w", ErrInst); !errors.Is(err, ErrInst) || errors.Is(err, ErrInDom) {
		t.Error("errors.Is does not tell codes apart")
	}
}
