package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const frameHead = 9

type kv = [2]string

// half is one direction of a stream.
type half struct {
	blocks  [][]kv // header blocks in the order of arrival
	atData  []int  // for each block: payload bytes seen before it
	data    blob
	ended   bool
	endWith string // HEADERS | DATA
}

type h2stream struct {
	id      uint32
	halves  [2]half
	frames  []any
	rst     string
	rstBy   string
	emitted bool
}

// h2side is the connection state of one direction.
type h2side struct {
	buf      bytes.Buffer // bytes not yet cut into frames
	preface  bool         // saw the client preface (or 101 for the server)
	dec      *hpack.Decoder
	fields   []kv
	block    []byte
	blockID  uint32
	blockEnd bool
	settings [][]any
	acks     int
	windows  []uint32
	pings    []map[string]any
	goaway   []map[string]any
	closed   string
}

type h2 struct {
	conn    int64
	start   time.Time
	kind    string // "", h2, h1, tls
	sides   [2]*h2side
	streams map[uint32]*h2stream
	frames  []any // connection level frames, in order
	h1      [2]blob
	h1used  bool
	h1log   []any
	upgrade bool
}

func newH2(conn int64) *h2 {
	h := &h2{conn: conn, start: time.Now(), streams: map[uint32]*h2stream{}}
	for i := range h.sides {
		s := &h2side{}
		s.dec = hpack.NewDecoder(4096, func(f hpack.HeaderField) { s.fields = append(s.fields, kv{f.Name, f.Value}) })
		s.dec.SetAllowedMaxDynamicTableSize(1 << 24)
		h.sides[i] = s
	}
	return h
}

func (h *h2) feed(s side, b []byte) {
	sd := h.sides[s]
	sd.buf.Write(b)
	if h.kind == "" {
		if s != fromClient {
			// A server that talks first: SETTINGS before the client preface is
			// legal, keep the bytes until we know.
			return
		}
		p := []byte(http2.ClientPreface)
		got := sd.buf.Bytes()
		n := min(len(got), len(p))
		switch {
		case !bytes.Equal(got[:n], p[:n]):
			h.kind = "h1"
			if got[0] == 0x16 {
				h.kind = "tls"
			}
		case n == len(p):
			h.kind = "h2"
			sd.buf.Next(len(p))
			sd.preface = true
			h.sides[fromServer].preface = true
		default:
			return
		}
		h.run(fromClient)
		h.run(fromServer)
		return
	}
	h.run(s)
}

func (h *h2) run(s side) {
	if h.kind == "h2" && h.sides[s].preface {
		h.cut(s)
		return
	}
	h.text(s)
}

// text handles HTTP/1.x, and the switch to HTTP/2 by Upgrade.
func (h *h2) text(s side) {
	sd := h.sides[s]
	b := sd.buf.Bytes()
	if len(b) == 0 {
		return
	}
	h.h1used = true
	take := func(n int) {
		h.h1[s].add(b[:n])
		m := map[string]any{"dir": s.String(), "len": n}
		h.h1log = append(h.h1log, m)
		sd.buf.Next(n)
	}
	if s == fromServer && bytes.HasPrefix(b, []byte("HTTP/1.1 101")) {
		i := bytes.Index(b, []byte("\r\n\r\n"))
		if i < 0 {
			return
		}
		take(i + 4)
		h.kind, h.upgrade = "h2", true
		sd.preface = true
		st := h.stream(1)
		st.halves[fromClient].ended = true
		st.halves[fromClient].endWith = "upgrade"
		h.cut(s)
		if h.sides[fromClient].buf.Len() > 0 {
			h.text(fromClient)
		}
		return
	}
	if s == fromClient && h.kind == "h2" {
		p := []byte(http2.ClientPreface)
		if len(b) < len(p) && bytes.HasPrefix(p, b) {
			return
		}
		if bytes.HasPrefix(b, p) {
			sd.buf.Next(len(p))
			sd.preface = true
			h.cut(s)
			return
		}
	}
	take(len(b))
}

func (h *h2) stream(id uint32) *h2stream {
	st := h.streams[id]
	if st == nil {
		st = &h2stream{id: id}
		h.streams[id] = st
	}
	return st
}

// cut takes whole frames off the buffer.
func (h *h2) cut(s side) {
	sd := h.sides[s]
	for sd.buf.Len() >= frameHead {
		b := sd.buf.Bytes()
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if len(b) < frameHead+n {
			return
		}
		raw := append([]byte(nil), sd.buf.Next(frameHead+n)...)
		h.frame(s, raw)
	}
}

func (h *h2) frame(s side, raw []byte) {
	sd := h.sides[s]
	fr := http2.NewFramer(nil, bytes.NewReader(raw))
	fr.AllowIllegalReads = true
	fr.SetMaxReadFrameSize(1<<24 - 1)
	length := len(raw) - frameHead
	id := binary.BigEndian.Uint32(raw[5:9]) & 0x7fffffff
	entry := []any{string(s.String()[0:1]), http2.FrameType(raw[3]).String(), flagNames(http2.FrameType(raw[3]), http2.Flags(raw[4])), length}
	if *times {
		entry = append(entry, time.Since(h.start).Milliseconds())
	}
	if id == 0 {
		h.frames = append(h.frames, entry)
	} else {
		st := h.stream(id)
		if st.emitted {
			h.frames = append(h.frames, append(entry, fmt.Sprintf("late, stream %d", id)))
		} else {
			st.frames = append(st.frames, entry)
		}
	}
	f, err := fr.ReadFrame()
	if err != nil {
		h.frames = append(h.frames, []any{s.String(), "UNREADABLE", err.Error(), hex.EncodeToString(raw[:min(len(raw), 64)])})
		return
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			sd.acks++
			return
		}
		list := []any{}
		_ = f.ForeachSetting(func(x http2.Setting) error {
			list = append(list, []any{x.ID.String(), x.Val})
			return nil
		})
		sd.settings = append(sd.settings, list)
	case *http2.WindowUpdateFrame:
		if id == 0 {
			sd.windows = append(sd.windows, f.Increment)
		}
	case *http2.PingFrame:
		sd.pings = append(sd.pings, map[string]any{"ack": f.IsAck(), "data": hex.EncodeToString(f.Data[:]), "t_ms": time.Since(h.start).Milliseconds()})
	case *http2.GoAwayFrame:
		sd.goaway = append(sd.goaway, map[string]any{"last_stream": f.LastStreamID, "code": f.ErrCode.String(), "debug": string(f.DebugData()), "t_ms": time.Since(h.start).Milliseconds()})
	case *http2.HeadersFrame:
		h.header(s, id, f.HeaderBlockFragment(), f.HeadersEnded(), f.StreamEnded())
	case *http2.ContinuationFrame:
		h.header(s, id, f.HeaderBlockFragment(), f.HeadersEnded(), false)
	case *http2.DataFrame:
		st := h.stream(id)
		hf := &st.halves[s]
		hf.data.add(f.Data())
		if f.StreamEnded() {
			hf.ended, hf.endWith = true, "data"
		}
		h.maybeEmit(st)
	case *http2.RSTStreamFrame:
		st := h.stream(id)
		st.rst, st.rstBy = f.ErrCode.String(), s.String()
		h.emit(st)
	}
}

func (h *h2) header(s side, id uint32, frag []byte, end, streamEnd bool) {
	sd := h.sides[s]
	if sd.blockID != id {
		sd.block, sd.blockID = nil, id
		sd.blockEnd = false
	}
	sd.blockEnd = sd.blockEnd || streamEnd
	sd.block = append(sd.block, frag...)
	if !end {
		return
	}
	sd.fields = nil
	if _, err := sd.dec.Write(sd.block); err != nil {
		sd.fields = append(sd.fields, kv{"!hpack-error", err.Error()})
	}
	_ = sd.dec.Close()
	st := h.stream(id)
	hf := &st.halves[s]
	hf.blocks = append(hf.blocks, sd.fields)
	hf.atData = append(hf.atData, hf.data.n)
	if sd.blockEnd {
		hf.ended, hf.endWith = true, "trailers"
	}
	sd.block, sd.blockID, sd.blockEnd = nil, 0, false
	h.maybeEmit(st)
}

func (h *h2) maybeEmit(st *h2stream) {
	if st.halves[fromClient].ended && st.halves[fromServer].ended {
		h.emit(st)
	}
}

// label is the case that the consumer says the call belongs to.
func (st *h2stream) label() string {
	for _, b := range st.halves[fromClient].blocks {
		for _, f := range b {
			if f[0] == "interop-case" {
				return f[1]
			}
		}
	}
	return ""
}

func (st *h2stream) half(s side) map[string]any {
	hf := &st.halves[s]
	m := map[string]any{"headers": []kv{}}
	hf.data.into(m)
	for i, b := range hf.blocks {
		status := ""
		for _, f := range b {
			if f[0] == ":status" {
				status = f[1]
			}
		}
		switch {
		case i == 0 || (strings.HasPrefix(status, "1") && len(status) == 3):
			if i == 0 {
				m["headers"] = b
			} else {
				m["informational"] = b
			}
		case s == fromServer && status != "" && hf.atData[i] == 0:
			m["informational"] = m["headers"]
			m["headers"] = b
		default:
			m["trailers"] = b
		}
	}
	m["end"] = hf.endWith
	if !hf.ended {
		m["end"] = "open"
	}
	return m
}

func (h *h2) record(st *h2stream) map[string]any {
	req, resp := st.half(fromClient), st.half(fromServer)
	if st.rst != "" {
		resp["end"] = "rst(" + st.rst + ")"
		resp["rst_by"] = st.rstBy
		if st.halves[fromServer].ended {
			resp["end_before_rst"] = st.halves[fromServer].endWith
		}
	} else if !st.halves[fromServer].ended && len(h.sides[fromServer].goaway) > 0 {
		resp["end"] = "goaway"
	}
	return map[string]any{"kind": "stream", "label": st.label(), "conn": h.conn, "stream": st.id, "request": req, "response": resp, "frames": st.frames}
}

func (h *h2) emit(st *h2stream) {
	if st.emitted {
		return
	}
	st.emitted = true
	out.put(h.record(st))
}

func (h *h2) eof(s side, err error) {
	h.sides[s].closed = errText(err)
	if h.kind == "" && h.sides[s].buf.Len() > 0 {
		h.kind = "h1"
		h.text(s)
	}
}

func (h *h2) flush() {
	ids := make([]int, 0)
	for id, st := range h.streams {
		if !st.emitted && len(st.frames) > 0 {
			ids = append(ids, int(id))
		}
	}
	sort.Ints(ids)
	for _, id := range ids {
		h.emit(h.streams[uint32(id)])
	}
	if h.h1used {
		m := map[string]any{"kind": h.kind, "conn": h.conn}
		if h.upgrade {
			m["kind"] = "h1-upgrade"
		}
		for _, s := range []side{fromClient, fromServer} {
			part := map[string]any{}
			h.h1[s].into(part)
			part["closed"] = h.sides[s].closed
			m[map[side]string{fromClient: "request", fromServer: "response"}[s]] = part
		}
		m["chunks"] = h.h1log
		out.put(m)
	}
	if h.kind == "h2" {
		out.put(h.connRecord())
	}
}

func (h *h2) connRecord() map[string]any {
	m := map[string]any{"kind": "conn", "conn": h.conn, "frames": h.frames}
	for _, s := range []side{fromClient, fromServer} {
		sd := h.sides[s]
		p := map[string]any{"settings": sd.settings, "settings_acks": sd.acks, "conn_window_updates": sd.windows, "pings": sd.pings, "goaway": sd.goaway, "closed": sd.closed}
		m[map[side]string{fromClient: "client", fromServer: "server"}[s]] = p
	}
	return m
}

func flagNames(t http2.FrameType, f http2.Flags) string {
	var n []string
	switch t {
	case http2.FrameData:
		n = names(f, "END_STREAM", 1, "PADDED", 8)
	case http2.FrameHeaders:
		n = names(f, "END_STREAM", 1, "END_HEADERS", 4, "PADDED", 8, "PRIORITY", 0x20)
	case http2.FrameSettings, http2.FramePing:
		n = names(f, "ACK", 1)
	case http2.FrameContinuation:
		n = names(f, "END_HEADERS", 4)
	default:
		if f != 0 {
			n = []string{fmt.Sprintf("0x%x", uint8(f))}
		}
	}
	return strings.Join(n, "|")
}

func names(f http2.Flags, kv ...any) (out []string) {
	rest := uint8(f)
	for i := 0; i < len(kv); i += 2 {
		if bit := uint8(kv[i+1].(int)); rest&bit != 0 {
			out = append(out, kv[i].(string))
			rest &^= bit
		}
	}
	if rest != 0 {
		out = append(out, fmt.Sprintf("0x%x", rest))
	}
	return
}
