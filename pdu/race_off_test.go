//go:build !race

package pdu

const poolKeeps = true
