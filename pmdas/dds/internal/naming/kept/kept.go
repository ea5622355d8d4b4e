// Package kept is the file of metrics that stay although their suppliers are away: what
// has to be known of them for a new process to show them as the one before did.
//
// The file is text: a line with its version, a line of JSON for each metric, and a line
// with a check sum of all before it.
package kept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
	"github.com/pcp-rtime/rtime/pcp"
)

// Bounds of a file.
const (
	MaxMetrics = 100000
	MaxBytes   = 64 << 20
)

// Metric is one metric.
type Metric struct {
	Key      string     `json:"key"` // what its number was given to
	Name     string     `json:"name"`
	Context  string     `json:"context"`            // path of the fixed context
	Volatile bool       `json:"volatile,omitempty"` // one of those below it
	Label    string     `json:"label"`              // of the statistic among those of the context
	Kind     string     `json:"kind,omitempty"`     // of volatile context
	Stat     string     `json:"stat"`
	Group    string     `json:"group,omitempty"` // of earlier versions: Context, with "/*" for Volatile
	Type     pcp.Type   `json:"type"`
	Sem      pcp.Sem    `json:"sem"`
	Units    uint32     `json:"units"` // PCP's word
	OneLine  string     `json:"oneline"`
	Help     string     `json:"help"`
	Labels   pcp.Labels `json:"labels"`
	UID      uint32     `json:"uid"`  // whose supplier it was
	Away     int64      `json:"away"` // since when, in Unix seconds; 0: its supplier was there
}

// Since returns since when the metric has been without supplier: now, where one was
// there as the file was written.
func (m *Metric) Since(now time.Time) time.Time {
	if m.Away == 0 || m.Away > now.Unix() {
		return now
	}
	return time.Unix(m.Away, 0)
}

const first = "rtime-kept 1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// replace puts a new file in the place of the old one.
func replace(path string, data []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

// Write writes a file in place of the one at path: whatever happens, one of the two is
// there whole. What is beyond the bounds is left out.
func Write(path string, list []Metric) error {
	b, err := encode(list, MaxBytes)
	if err != nil {
		return err
	}
	return replace(path, b)
}

func encode(list []Metric, limit int) ([]byte, error) {
	b := []byte(first)
	for i := range list[:min(len(list), MaxMetrics)] {
		line, err := json.Marshal(&list[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].Key, err)
		}
		if len(b)+len(line) > limit-64 {
			break
		}
		b = append(append(b, line...), '\n')
	}
	b = append(b, "end crc32c "...)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b, castagnoli)), nil
}

// DamageError tells of a file that could not be trusted.
type DamageError struct {
	Path     string
	SetAside string // where it is kept now; empty where that failed
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged (%s) and was set aside as %q", e.Path, e.Reason, e.SetAside)
}

// Read reads the file at path; one that does not exist is empty. A damaged one is set
// aside, which the error, a *DamageError, tells; nothing in it is believed.
func Read(path string) ([]Metric, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	list, err := decode(data)
	if err != nil {
		bad := &DamageError{Path: path, SetAside: journal.SetAside(path), Reason: err.Error()}
		if bad.SetAside != "" {
			os.Remove(path) // its other name holds it
		}
		return nil, bad
	}
	return list, nil
}

// decode reads what Write has made of a list.
func decode(data []byte) ([]Metric, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("more than %d bytes", MaxBytes)
	}
	const digits = len("1a2b3c4d\n")
	body := data[:max(len(data)-digits, 0)]
	lines, whole := bytes.CutSuffix(body, []byte("end crc32c "))
	if !whole || string(data[len(body):]) != fmt.Sprintf("%08x\n", crc32.Checksum(body, castagnoli)) {
		return nil, errors.New("cut short, or the check sum does not match")
	}
	lines, ok := bytes.CutPrefix(lines, []byte(first))
	if !ok {
		return nil, errors.New("the first line is not as it should be")
	}
	var list []Metric
	for line := range bytes.Lines(lines) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber() // labels as they were
		var m Metric
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("metric %d: %w", len(list)+1, err)
		}
		if list = append(list, m); len(list) > MaxMetrics {
			return nil, fmt.Errorf("more than %d metrics", MaxMetrics)
		}
	}
	return list, nil
}
