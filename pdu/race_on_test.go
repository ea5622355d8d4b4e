//go:build race

package pdu

// The race detector has a sync.Pool lose what is put into it, by chance.
const poolKeeps = false
