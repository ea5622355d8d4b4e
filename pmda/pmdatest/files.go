package pmdatest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-rtime/rtime/pmda"
)

// Files compares what is made from an agent's table with what is kept in the tree: the
// files for installation in dir, and the reference of its metrics, a file's path. With
// update it writes them first, which is for use after a change of the table.
func Files(t testing.TB, a *pmda.Agent, dir, reference string, update bool) {
	t.Helper()
	made := t.TempDir()
	if err := pmda.WriteFiles(a, made); err != nil {
		t.Fatal(err)
	}
	var ref bytes.Buffer
	if err := pmda.WriteReference(a, &ref); err != nil {
		t.Fatal(err)
	}
	if update {
		if err := pmda.WriteFiles(a, dir); err != nil {
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
		same(t, filepath.Join(dir, f.Name()), want)
	}
}

func same(t testing.TB, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the table: run this test with -update", path)
	}
}
