// Command tap is a TCP proxy that records what passes through it: HTTP/2, or frames of dubbo.
//
// It ends on SIGTERM or SIGINT, after writing what is still open. See README.md for the
// output format.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	listen  = flag.String("listen", "127.0.0.1:0", "address to accept on")
	target  = flag.String("to", "", "address to forward to")
	spoken  = flag.String("protocol", "tri", "what is spoken: tri (HTTP/2) or dubbo")
	outPath = flag.String("out", "", "JSON lines file (appended)")
	maxData = flag.Int("maxdata", 65536, "bytes of payload kept per direction and record (length and sha256 of the whole are always kept when cut)")
	times   = flag.Bool("times", false, "add milliseconds since connection start to frames")
	guard   = flag.Bool("until-stdin-ends", false, "end when the standard input ends, so that no proxy outlives its runner")
)

type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) put(v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		log.Print(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(buf.Bytes()); err != nil {
		log.Print(err)
	}
}

var (
	out     sink
	connSeq atomic.Int64
	liveMu  sync.Mutex
	live    = map[*pair]struct{}{}
)

// side tells the two directions apart.
type side int

const (
	fromClient side = iota
	fromServer
)

func (s side) String() string {
	if s == fromClient {
		return "c2s"
	}
	return "s2c"
}

// decoder takes the bytes of both directions of a connection apart.
type decoder interface {
	feed(s side, b []byte)
	eof(s side, err error)
	flush()
}

// pair is a connection and its continuation to the target. mu serialises the decoder.
type pair struct {
	id     int64
	client net.Conn
	server net.Conn
	mu     sync.Mutex
	dec    decoder
	done   sync.Once
}

func (p *pair) pump(s side, src, dst net.Conn, wg *sync.WaitGroup) {
	defer wg.Done()
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			// Decode first: the other direction can then never be ahead of us.
			p.mu.Lock()
			p.dec.feed(s, buf[:n])
			p.mu.Unlock()
			if _, werr := dst.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			p.mu.Lock()
			p.dec.eof(s, err)
			p.mu.Unlock()
			if errors.Is(err, io.EOF) {
				if c, ok := dst.(*net.TCPConn); ok {
					_ = c.CloseWrite()
				}
			} else {
				_ = dst.Close()
				_ = src.Close()
			}
			return
		}
	}
}

func (p *pair) finish() {
	p.done.Do(func() {
		p.mu.Lock()
		p.dec.flush()
		p.mu.Unlock()
		liveMu.Lock()
		delete(live, p)
		liveMu.Unlock()
	})
}

func serve(c net.Conn) {
	defer c.Close()
	id := connSeq.Add(1)
	s, err := net.DialTimeout("tcp", *target, 5*time.Second)
	if err != nil {
		out.put(map[string]any{"kind": "dial-error", "conn": id, "error": "cannot reach target"})
		log.Print(err)
		time.Sleep(200 * time.Millisecond) // some clients redial at once, without end
		return
	}
	defer s.Close()
	p := &pair{id: id, client: c, server: s}
	if *spoken == "dubbo" {
		p.dec = newDubbo(id)
	} else {
		p.dec = newH2(id)
	}
	liveMu.Lock()
	live[p] = struct{}{}
	liveMu.Unlock()
	var wg sync.WaitGroup
	wg.Add(2)
	go p.pump(fromClient, c, s, &wg)
	go p.pump(fromServer, s, c, &wg)
	wg.Wait()
	p.finish()
}

func errText(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.EOF):
		return "fin"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	default:
		return "closed"
	}
}

// blob accumulates payload bytes up to the limit and hashes all of them.
type blob struct {
	kept []byte
	n    int
	h    interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func (b *blob) add(p []byte) {
	if b.h == nil {
		b.h = sha256.New()
	}
	_, _ = b.h.Write(p)
	b.n += len(p)
	if room := *maxData - len(b.kept); room > 0 {
		if len(p) > room {
			p = p[:room]
		}
		b.kept = append(b.kept, p...)
	}
}

func (b *blob) into(m map[string]any) {
	var sum []byte
	if b.n > len(b.kept) {
		sum = b.h.Sum(nil)
	}
	putData(m, b.kept, b.n, sum)
}

func putData(m map[string]any, kept []byte, total int, sum []byte) {
	cut := kept
	if len(cut) > *maxData {
		cut = cut[:*maxData]
		s := sha256.Sum256(kept)
		sum = s[:]
	}
	m["data_hex"] = hex.EncodeToString(cut)
	if total > len(cut) {
		m["data_len"] = total
		m["data_sha256"] = hex.EncodeToString(sum)
	}
	if len(cut) > 0 && printable(cut) {
		m["data_text"] = string(cut)
	}
}

func printable(b []byte) bool {
	for _, c := range b {
		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c > 0x7e {
			return false
		}
	}
	return true
}

func main() {
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("tap: ")
	if *target == "" || *outPath == "" {
		log.Fatal("-to and -out are required")
	}
	if *spoken != "tri" && *spoken != "dubbo" {
		log.Fatalf("-protocol is tri or dubbo, not %q", *spoken)
	}
	f, err := os.OpenFile(*outPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	out.w = f
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		awaitEnd()
		finishAll()
		os.Exit(0)
	}()
	// Whoever started this waits for the line.
	fmt.Println(`{"event":"ready"}`)
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(c)
	}
}

func awaitEnd() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	if *guard {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			end <- syscall.SIGTERM
		}()
	}
	<-end
}

func finishAll() {
	liveMu.Lock()
	ps := make([]*pair, 0, len(live))
	for p := range live {
		ps = append(ps, p)
	}
	liveMu.Unlock()
	for _, p := range ps {
		p.finish()
	}
}
