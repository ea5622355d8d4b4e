package agent

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/pmda"
)

var update = flag.Bool("update", false, "write the files that are made from the agent's table")

// TestFilesMatchTable compares what is made from the agent's table with what is kept
// in the tree. After a change of the table: go test ./pmdas/dds/internal/agent -update
func TestFilesMatchTable(t *testing.T) {
	made := t.TempDir()
	if err := pmda.WriteFiles(New(), made); err != nil {
		t.Fatal(err)
	}
	var ref bytes.Buffer
	if err := pmda.WriteReference(New(), &ref); err != nil {
		t.Fatal(err)
	}
	const kept = "../.."
	reference := filepath.Join(kept, "../../docs/metrics-dds.md")
	if *update {
		if err := pmda.WriteFiles(New(), kept); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(reference, ref.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	same(t, reference, ref.Bytes())
	list, err := os.ReadDir(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		want, err := os.ReadFile(filepath.Join(made, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		same(t, filepath.Join(kept, f.Name()), want)
	}
}

func same(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the table: run this test with -update", path)
	}
}
