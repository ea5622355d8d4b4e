package pdu

import (
	"encoding/binary"
	"errors"
	"math"
)

// MaxLen is the length in bytes beyond which no PDU is valid; pmcd 7 refuses
// longer ones from anybody. What a client sends is below 64 KiB by default
// (pmcd -L).
const MaxLen = math.MaxInt32 - 1024

// Causes of a ParseError that concern more than one field.
var (
	ErrTruncated   = errors.New("reaches beyond the end")
	ErrTrailing    = errors.New("bytes left over")
	ErrTooShort    = errors.New("shorter than a header")
	ErrTooLong     = errors.New("longer than allowed")
	ErrNegative    = errors.New("negative")
	ErrUnknownType = errors.New("unknown type")
	ErrWrongType   = errors.New("type of another message")
)

// ParseHeader reads the header that begins b, which may hold less or more than the PDU. The
// error is a *ParseError. Its cause is ErrTruncated if b is shorter than a header;
// ErrTooShort or ErrTooLong if the length cannot be right, in which case the stream is
// lost; or ErrUnknownType, in which case the header is good and the stream can go on behind
// the PDU.
func ParseHeader(b []byte) (Header, error) {
	h, err := parseHeader(b)
	if err != nil {
		return h, err
	}
	return h, nil
}

func parseHeader(b []byte) (Header, *ParseError) {
	if len(b) < HeaderLen {
		return Header{}, &ParseError{Field: "header", Offset: len(b), Cause: ErrTruncated}
	}
	n := int32(binary.BigEndian.Uint32(b))
	h := Header{
		Len:  int(n),
		Type: Type(binary.BigEndian.Uint32(b[4:])),
		From: int32(binary.BigEndian.Uint32(b[8:])),
	}
	switch {
	case n < HeaderLen:
		return h, &ParseError{Type: h.Type, Field: "length", Cause: ErrTooShort}
	case n > MaxLen:
		return h, &ParseError{Type: h.Type, Field: "length", Cause: ErrTooLong}
	case !h.Type.Known():
		return h, &ParseError{Type: h.Type, Field: "type", Offset: 4, Cause: ErrUnknownType}
	}
	return h, nil
}

// appendHeader writes the header of a PDU of n bytes.
func appendHeader(b []byte, n int, t Type, from int32) []byte {
	b = put32(b, uint32(n))
	b = put32(b, uint32(t))
	return put32(b, uint32(from))
}

func put32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

func put64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// padded is n rounded up to a multiple of four.
func padded(n int) int { return (n + 3) &^ 3 }

// putPad pads what was just written, n bytes, to a multiple of four.
func putPad(b []byte, n int) []byte { return append(b, "~~~"[:padded(n)-n]...) }

// putString writes the length of s, s, and its padding: 4+padded(len(s)) bytes.
func putString(b []byte, s string) []byte {
	b = put32(b, uint32(len(s)))
	b = append(b, s...)
	return putPad(b, len(s))
}
