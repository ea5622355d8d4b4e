package hosts

import (
	"container/heap"
	"time"
)

func (r *Registry) schedule(e *entry, due time.Time) {
	e.due = due
	if e.index < 0 {
		heap.Push(&r.due, e)
	} else {
		heap.Fix(&r.due, e.index)
	}
	if e.index == 0 {
		r.signal()
	}
}

func (r *Registry) unschedule(e *entry) {
	if e.index >= 0 {
		heap.Remove(&r.due, e.index)
	}
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// dueHeap orders entries by the time at which they are due.
type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop are for package heap.
func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
