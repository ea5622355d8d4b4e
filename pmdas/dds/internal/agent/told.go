package agent

import "github.com/pcp-rtime/rtime/pcp"

// maxTold bounds the bytes of text in one answer: values of characters, or labels of
// instances. pmcd copies an answer for its client before it answers anybody else, and takes
// about a fifth of a second for a megabyte of labels. In that answer, instances beyond the
// limit have no such value and no labels.
const maxTold = 4 << 20

// perGiven is counted for each label that a supplier has given, besides its bytes. Reading a
// label costs as much processor time as pmcd needs for so many bytes.
const perGiven = 64

// told counts the bytes of text in the answer to one request.
type told struct {
	request uint64
	bytes   int
}

// tell counts n more bytes of text in the answer to the present request. It reports whether
// there is room for them.
func (t *tree) tell(n int) bool {
	if t.told.request != t.fetch {
		t.told = told{request: t.fetch}
	}
	t.told.bytes += n
	return t.told.bytes <= maxTold
}

// bounded returns the labels of an instance, or none if the answer has no room for them. Once
// the answer is full, it does not look at what suppliers have given.
func (t *tree) bounded(l *live) pcp.Labels {
	if !t.tell(0) {
		return nil
	}
	labels := l.labels()
	n := 0
	for _, l := range labels {
		n += len(l.Name) + 6 // with quotes, colon and comma
		if !reserved[l.Name] {
			n += perGiven
		}
		if text, ok := l.Value.(string); ok {
			n += len(text)
		}
	}
	if !t.tell(n) {
		return nil
	}
	return labels
}
