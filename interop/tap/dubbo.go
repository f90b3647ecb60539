package main

import (
	"bytes"
	"encoding/binary"
	"time"
)

const dubboHeader = 16

// dubbo cuts a connection into frames: two bytes that never change, flags, status, an id of
// eight bytes, the length of the body in four, and the body.
type dubbo struct {
	conn  int64
	start time.Time
	bufs  [2]bytes.Buffer
	seq   int
}

func newDubbo(conn int64) *dubbo { return &dubbo{conn: conn, start: time.Now()} }

func (d *dubbo) feed(s side, b []byte) {
	buf := &d.bufs[s]
	buf.Write(b)
	for buf.Len() >= dubboHeader {
		p := buf.Bytes()
		if p[0] != 0xda || p[1] != 0xbb {
			d.put("raw", s, p, nil)
			buf.Reset()
			return
		}
		n := dubboHeader + int(binary.BigEndian.Uint32(p[12:16]))
		if len(p) < n {
			return
		}
		frame := bytes.Clone(buf.Next(n))
		d.put("frame", s, frame, map[string]any{
			"request": frame[2]&0x80 != 0, "twoway": frame[2]&0x40 != 0, "event": frame[2]&0x20 != 0,
			"serialization": int(frame[2] & 0x1f), "status": int(frame[3]),
			"id": int64(binary.BigEndian.Uint64(frame[4:12])), "body_len": n - dubboHeader,
		})
	}
}

func (d *dubbo) put(kind string, s side, b []byte, fields map[string]any) {
	d.seq++
	m := map[string]any{"kind": kind, "conn": d.conn, "seq": d.seq, "dir": s.String()}
	for name, value := range fields {
		m[name] = value
	}
	if *times {
		m["t_ms"] = time.Since(d.start).Milliseconds()
	}
	putData(m, b, len(b), nil)
	out.put(m)
}

func (d *dubbo) eof(s side, err error) {
	d.seq++
	m := map[string]any{"kind": "close", "conn": d.conn, "seq": d.seq, "dir": s.String(), "how": errText(err)}
	if n := d.bufs[s].Len(); n > 0 {
		m["unfinished_bytes"] = n
	}
	out.put(m)
}

func (*dubbo) flush() {}
