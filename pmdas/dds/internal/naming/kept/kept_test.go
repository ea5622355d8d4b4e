package kept

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
)

var sample = []Metric{
	{Key: "u64 counter 00000000 DDS/v/c/a", Group: "DDS/v/c", Stat: "a", Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Bytes.Word(),
		OneLine: "one", Help: "two\nlines", UID: 7, Away: 1700000000,
		Labels: pcp.Labels{{Name: "path", Value: "DDS/v/c/a"}, {Name: "n", Value: json.Number("3"), Optional: true}, {Name: "b", Value: true}}},
	{Key: "x", Group: "DDS/v/c/*", Stat: "ü \"b\""},
}

// TestWriteRead: what was written is read.
func TestWriteRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if list, err := Read(path); list != nil || err != nil {
		t.Errorf("no file: %v %v", list, err)
	}
	for n := range len(sample) + 1 {
		if err := Write(path, sample[:n]); err != nil {
			t.Fatal(err)
		}
		list, err := Read(path)
		if err != nil || len(list) != n || n > 0 && !reflect.DeepEqual(list, sample[:n]) {
			t.Errorf("%+v %v", list, err)
		}
	}
}

// TestDamage: a file with any byte changed, or cut off anywhere, is set aside as a whole.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := Write(path, sample); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Read(path)
		var bad *DamageError
		if list != nil || !errors.As(err, &bad) || !strings.Contains(err.Error(), bad.SetAside) {
			t.Fatalf("%s: %v %v", what, list, err)
		}
		if kept, err := os.ReadFile(bad.SetAside); err != nil || string(kept) != string(data) {
			t.Fatalf("%s: set aside is %q %v", what, kept, err)
		}
		if list, err := Read(path); list != nil || err != nil {
			t.Fatalf("%s: a second time: %v %v", what, list, err)
		}
	}
	for i := range good {
		refused("cut off", good[:i])
		other := append([]byte(nil), good...)
		other[i] ^= 1
		refused("changed", other)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 4 {
		t.Errorf("kept are %v", left)
	}
}

// TestBounds: more than a file may hold is left out, and what is larger is not read.
func TestBounds(t *testing.T) {
	const limit = 3 << 10
	huge := Metric{Help: strings.Repeat("x", limit/3)}
	b, err := encode([]Metric{huge, huge, huge, huge}, limit)
	if err != nil || len(b) > limit {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if list, err := decode(b); err != nil || len(list) != 2 {
		t.Errorf("%d metrics, %v", len(list), err)
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	var bad *DamageError
	if _, err := Read(path); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := Read(t.TempDir()); err == nil || errors.As(err, &bad) {
		t.Errorf("a folder: %v", err)
	}
}

// TestSince: no time of the future, as after a clock was set, keeps a metric for ever.
func TestSince(t *testing.T) {
	now := time.Unix(1000, 0)
	for away, want := range map[int64]int64{0: 1000, 900: 900, 1001: 1000} {
		if got := (&Metric{Away: away}).Since(now); got.Unix() != want {
			t.Errorf("%d: %v", away, got)
		}
	}
}
