package pdu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"syscall"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

func TestSafeCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want pcp.Error
	}{
		{pcp.ErrInst, pcp.ErrInst},
		{fmt.Errorf("host x: %w", pcp.ErrPermission), pcp.ErrPermission},
		{pcp.ErrPMDANotReady, pcp.ErrPMDANotReady},
		{syscall.ENOENT, -2},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, -13},
		{pcp.ErrnoError(syscall.ENOMEM), -12},
		// What pmcd would take for the end of the connection.
		{pcp.ErrIPC, pcp.ErrGeneric},
		{pcp.ErrTimeout, pcp.ErrGeneric},
		{fmt.Errorf("slow: %w", pcp.ErrTimeout), pcp.ErrGeneric},
		{syscall.EPIPE, pcp.ErrGeneric},
		{pcp.ErrnoError(syscall.EPIPE), pcp.ErrGeneric},
		{syscall.Errno(12366), pcp.ErrGeneric},
		{pcp.ErrPMDAReady, pcp.ErrGeneric},
		// What would kill pmcd, or be no error at all.
		{nil, pcp.ErrGeneric},
		{pcp.Error(0), pcp.ErrGeneric},
		{pcp.Error(8), pcp.ErrGeneric},
		{syscall.Errno(0), pcp.ErrGeneric},
		// What has no number.
		{errors.New("odd"), pcp.ErrGeneric},
		{context.DeadlineExceeded, pcp.ErrGeneric},
	} {
		if got := SafeCode(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestGreeting reads the first words of pmcd to a client, as captured.
func TestGreeting(t *testing.T) {
	b := mustHex("00000014 00007000 00000000 00000000 02010e44")
	want := Greeting{Version: 2, Features: pcp.FeatureDescs | pcp.FeatureHighres |
		pcp.FeatureLabels | pcp.FeatureContainer | pcp.FeatureAuth}
	var g Greeting
	if err := g.Parse(b); err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("%+v, %v", g, err)
	}
	if got := want.Append(nil, 0); !bytes.Equal(got, b) || want.Length() != len(got) {
		t.Errorf("wrote %x", got)
	}
	if err := g.Parse(goldenBytes(t, "error pmid")); !errors.Is(err, ErrTruncated) {
		t.Errorf("a plain error: %v", err)
	}
	if _, err := Decode(b); !errors.Is(err, ErrTrailing) {
		t.Errorf("Decode takes a greeting: %v", err)
	}
}
