package library

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pcp-rtime/rtime/test/pcptest"
)

// PDU types of the protocol between clients and pmcd.
const (
	pduError   = 0x7000
	pduResult  = 0x7001
	pduProfile = 0x7002
	pduFetch   = 0x7003
	pduDescReq = 0x7004
	pduDesc    = 0x7005
	pduCreds   = 0x700c
)

// client is a client of pmcd that does no more than the tests need. It uses none of the
// code that it tests.
type client struct{ net.Conn }

// dial connects to pmcd and introduces itself.
func dial(socket string) (*client, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &client{conn}
	if err := conn.SetDeadline(time.Now().Add(2 * pcptest.Deadline)); err != nil {
		return nil, err
	}
	if _, _, err := c.read(); err != nil { // pmcd speaks first
		return nil, err
	}
	return c, c.write(pduCreds, 1, 0x01020000)
}

func (c *client) write(kind uint32, words ...uint32) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(12+4*len(words)))
	b = binary.BigEndian.AppendUint32(b, kind)
	b = binary.BigEndian.AppendUint32(b, 1)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	_, err := c.Write(b)
	return err
}

// read returns the type of a PDU and what follows its header.
func (c *client) read() (kind uint32, body []byte, err error) {
	var head [12]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 12 || size > 1<<20 {
		return 0, nil, fmt.Errorf("PDU of %d bytes", size)
	}
	body = make([]byte, size-12)
	_, err = io.ReadFull(c, body)
	return binary.BigEndian.Uint32(head[4:]), body, err
}

// fetch fetches a metric and returns the state bits that pmcd sends ahead of its
// values.
func (c *client) fetch(pmid uint32) (state uint32, err error) {
	if err := c.write(pduProfile, 0, 0, 0, 0); err != nil {
		return 0, err
	}
	if err := c.write(pduFetch, 0, 0, 0, 1, pmid); err != nil {
		return 0, err
	}
	for {
		kind, body, err := c.read()
		switch {
		case err != nil:
			return 0, err
		case kind == pduResult:
			return state, nil
		case kind != pduError || int32(binary.BigEndian.Uint32(body)) <= 0:
			return 0, fmt.Errorf("answer of type %x: %x", kind, body)
		}
		state |= binary.BigEndian.Uint32(body)
	}
}
