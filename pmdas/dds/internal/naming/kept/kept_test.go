package kept

import (
	"encoding/json"
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

func TestDecode(t *testing.T) {
	for _, m := range sample {
		b, err := json.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		m.Away = 0 // it is kept separately
		if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s is %+v, %v", b, got, err)
		}
	}
	if _, err := Decode([]byte("{")); err == nil {
		t.Error("half a value is taken")
	}
}

// TestRead: the file in testdata was written by the earlier version.
func TestRead(t *testing.T) {
	if list, err := Read(filepath.Join("testdata", "dds.kept")); err != nil || !reflect.DeepEqual(list, sample) {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := Read(filepath.Join("testdata", "none")); list != nil || err != nil {
		t.Errorf("no file: %v %v", list, err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
}

// TestDamage: a file with any byte changed, or cut off anywhere, is set aside as a whole.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	good, err := os.ReadFile(filepath.Join("testdata", "dds.kept"))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Read(path)
		if list != nil || err == nil || !strings.Contains(err.Error(), path+".damaged-") {
			t.Fatalf("%s: %v %v", what, list, err)
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
}

// TestSince: a time in the future, as after a clock was set, keeps no metric for ever.
func TestSince(t *testing.T) {
	now := time.Unix(1000, 0)
	for away, want := range map[int64]int64{0: 1000, 900: 900, 1001: 1000} {
		if got := (&Metric{Away: away}).Since(now); got.Unix() != want {
			t.Errorf("%d: %v", away, got)
		}
	}
}
