//go:build linux

package arm_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/pcp-rtime/rtime/arm"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestTraceparent: a traceparent becomes the right bytes of a correlator, and those become
// the traceparent.
func TestTraceparent(t *testing.T) {
	c, err := arm.CorrelatorFromTraceparent(traceparent)
	if err != nil {
		t.Fatal(err)
	}
	// Length, format and flags, address format, vendor, version, instance, handle, class,
	// address length; trace id, parent id, flags.
	want := "002f" + "0100" + "a1a1" + "a1a1" + "0002" + "0000" + "00000000" + "00000000" + "0019" +
		"0af7651916cd43dd8448eb211c80319c" + "b7ad6b7169203331" + "01"
	if c.String() != want || hex.EncodeToString(c.Bytes()) != want || c.Traced() || c.IsZero() {
		t.Errorf("%v, want %s", c, want)
	}
	if back, ok := c.Traceparent(); !ok || back != traceparent {
		t.Error(back, ok)
	}
	later := "cc" + traceparent[2:]
	if c2, err := arm.CorrelatorFromTraceparent(later + "-what the future brings"); err != nil || c2 != c {
		t.Error(c2, err)
	}
	if c2, err := arm.CorrelatorFromTraceparent(later); err != nil || c2 != c {
		t.Error(c2, err)
	}
}

func TestTraceparentRefused(t *testing.T) {
	bad := []string{"", "-", strings.ToUpper(traceparent), traceparent + "-", traceparent + "0", "cc" + traceparent[2:] + "x",
		"ff" + traceparent[2:], "00-" + strings.Repeat("0", 32) + traceparent[35:], traceparent[:36] + strings.Repeat("0", 16) + "-01"}
	for n := range len(traceparent) {
		bad = append(bad, traceparent[:n], traceparent[:n]+"g"+traceparent[n+1:])
	}
	for _, s := range bad {
		if c, err := arm.CorrelatorFromTraceparent(s); !errors.Is(err, arm.ErrCorrelator) || !c.IsZero() {
			t.Errorf("%q: %v, %v", s, c, err)
		}
	}
}

func TestCorrelatorFromBytes(t *testing.T) {
	whole := append([]byte{0, 168, 7}, make([]byte, 200)...)
	if c, err := arm.CorrelatorFromBytes(whole); err != nil || len(c.Bytes()) != 168 {
		t.Error(c, err)
	}
	for _, b := range [][]byte{nil, {0}, {0, 0, 1, 0}, {0, 3, 1, 0}, {0, 5, 1, 0}, append([]byte{0, 169}, make([]byte, 200)...)} {
		if _, err := arm.CorrelatorFromBytes(b); !errors.Is(err, arm.ErrCorrelator) {
			t.Errorf("%x: %v", b, err)
		}
	}
	if c, _ := arm.CorrelatorFromBytes(whole); c.Traced() {
		t.Error("traced, in a format that is not known")
	} else if _, ok := c.Traceparent(); ok {
		t.Error("a trace context, in a format that is not known")
	}
}

// TestContext: what starts with a context is a child of the execution that the context
// carries.
func TestContext(t *testing.T) {
	dir := segments(t)
	app := open(t, dir, "app")
	outer, inner := app.Transaction("outer"), app.Transaction("inner")
	if !arm.CorrelatorFromContext(ctx).IsZero() {
		t.Error("a correlator from nowhere")
	}
	given, err := arm.CorrelatorFromTraceparent(traceparent)
	if err != nil {
		t.Fatal(err)
	}
	parent := arm.ContextWithCorrelator(ctx, given)
	if arm.CorrelatorFromContext(parent) != given {
		t.Error("another correlator")
	}
	inside, r := outer.StartContext(parent)
	own := arm.CorrelatorFromContext(inside)
	if header, ok := own.Traceparent(); !ok || header[:36] != traceparent[:36] || header[36:52] == traceparent[36:52] || header[52:] != traceparent[52:] {
		t.Errorf("%s after %s", header, traceparent)
	}
	_, child := inner.StartContext(context.WithoutCancel(inside))
	if !child.Stop(arm.Good) || !r.Stop(arm.Good) {
		t.Error("not measured")
	}
	if own.Traced() {
		t.Error("traced")
	}
	traced, r := outer.StartContext(arm.ContextWithTrace(parent))
	if !arm.CorrelatorFromContext(traced).Traced() || !r.Stop(arm.Good) {
		t.Error("not traced")
	}
}
