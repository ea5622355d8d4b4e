// Package kept says what the agent must know of a metric whose supplier is away, so that a
// new process can show the metric as the one before did.
package kept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"time"

	"github.com/pcp-rtime/rtime/internal/journal"
	"github.com/pcp-rtime/rtime/pcp"
)

// Metric is one metric.
type Metric struct {
	Key      string     `json:"key"` // what its number was given to
	Name     string     `json:"name"`
	Context  string     `json:"context"`            // path of the fixed context
	Volatile bool       `json:"volatile,omitempty"` // of the volatile contexts below it
	Label    string     `json:"label"`              // names the statistic among those of the context
	Kind     string     `json:"kind,omitempty"`     // of the volatile context
	Stat     string     `json:"stat"`
	Group    string     `json:"group,omitempty"` // written by earlier versions: Context, with "/*" for Volatile
	Type     pcp.Type   `json:"type"`
	Sem      pcp.Sem    `json:"sem"`
	Units    uint32     `json:"units"` // as PCP encodes them
	OneLine  string     `json:"oneline"`
	Help     string     `json:"help"`
	Labels   pcp.Labels `json:"labels"`
	UID      uint32     `json:"uid"` // the supplier's user

	// Away is since when it has been without a supplier, in Unix seconds; 0 if it had one.
	Away int64 `json:"-"`
}

// Since returns since when the metric has been without a supplier. That is now if it had
// one when the agent ended.
func (m *Metric) Since(now time.Time) time.Time {
	if m.Away == 0 || m.Away > now.Unix() {
		return now
	}
	return time.Unix(m.Away, 0)
}

// Decode reads a metric from JSON.
func Decode(b []byte) (m Metric, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // numbers in labels stay as they are written
	err = d.Decode(&m)
	return m, err
}

// Read reads a file of an earlier version: a line with its version, a line of JSON for each
// metric, and a line with a check sum of all before it. A file that does not exist is
// empty. A damaged file is set aside and nothing of it is used; the error says so.
func Read(path string) ([]Metric, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := decodeFile(data)
	if err != nil {
		aside := journal.SetAside(path)
		if aside != "" {
			os.Remove(path) // the file still has its other name
		}
		return nil, fmt.Errorf("%s is damaged (%w) and was set aside as %q", path, err, aside)
	}
	return list, nil
}

func decodeFile(data []byte) ([]Metric, error) {
	const digits = len("1a2b3c4d\n")
	body := data[:max(len(data)-digits, 0)]
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	lines, whole := bytes.CutSuffix(body, []byte("end crc32c "))
	if !whole || string(data[len(body):]) != fmt.Sprintf("%08x\n", sum) {
		return nil, errors.New("the file is truncated, or its check sum does not match")
	}
	lines, ok := bytes.CutPrefix(lines, []byte("rtime-kept 1\n"))
	if !ok {
		return nil, errors.New("the first line is not \"rtime-kept 1\"")
	}
	var list []Metric
	for line := range bytes.Lines(lines) {
		m, err := Decode(line)
		var away struct {
			Away int64 `json:"away"`
		}
		if err = errors.Join(err, json.Unmarshal(line, &away)); err != nil {
			return nil, fmt.Errorf("metric %d: %w", len(list)+1, err)
		}
		m.Away = away.Away
		list = append(list, m)
	}
	return list, nil
}
