// Package impl holds the behaviour that the contract asks of a provider.
package impl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/stub"
)

const (
	// CaseKey is the attachment that names the case a call belongs to.
	CaseKey = "interop-case"
	// TellKey is the attachment of calls whose attachments the runner wants to know.
	TellKey = "interop-tell"
)

// Greeter implements the service for dubbo-go.
type Greeter struct {
	// Suffix ends what Greet answers.
	Suffix string
	// Work is how long Greet takes.
	Work time.Duration
	// Notice is told of the calls that are held.
	Notice func(Notice)
	// Next is asked in turn for the attachments that come with a call, if there is one.
	Next *stub.Greeter
}

// Grouped is a second export of the same service. It has a type of its own because a
// dubbo-go server replaces a service by the next one of the same type, silently.
type Grouped struct{ Greeter }

// Notice tells what the provider saw: "ready", "held" (a call that waits has begun) or
// "cut_short" (it was cancelled or ran out of time, Millis after its start).
type Notice struct {
	Event  string `json:"event"`
	Case   string `json:"case,omitempty"`
	Method string `json:"method,omitempty"`
	Millis int64  `json:"millis,omitempty"`
	// Seen has the attachments of a call that asks for it, as "name: value".
	Seen []string `json:"seen,omitempty"`
}

var _ stub.Handler = (*Greeter)(nil)

func (g *Greeter) Greet(_ context.Context, r *pb.GreetRequest) (*pb.GreetResponse, error) {
	time.Sleep(g.Work)
	return &pb.GreetResponse{Greeting: "hello " + r.GetName() + g.Suffix}, nil
}

func (*Greeter) LowerCase(_ context.Context, r *pb.GreetRequest) (*pb.GreetResponse, error) {
	return &pb.GreetResponse{Greeting: "lower " + r.GetName()}, nil
}

func (g *Greeter) GreetServerStream(ctx context.Context, r *pb.GreetRequest, s stub.Sink[pb.GreetResponse]) error {
	replyCase(ctx)
	held := g.hold(ctx, "GreetServerStream")
	for i := int32(0); i < r.GetCount(); i++ {
		if r.GetFailAfter() > 0 && i == r.GetFailAfter() {
			return tri.NewError(tri.Code(r.GetFailCode()), errors.New("stream failed as asked"))
		}
		if d := r.GetDelayMillis(); d > 0 {
			if err := held.wait(time.Duration(d) * time.Millisecond); err != nil {
				return err
			}
		}
		if err := s.Send(&pb.GreetResponse{Greeting: fmt.Sprintf("hello %s #%d", r.GetName(), i), Seq: i}); err != nil {
			return err
		}
	}
	return nil
}

func (g *Greeter) GreetClientStream(ctx context.Context, s *stub.Source[pb.GreetRequest]) (*pb.GreetResponse, error) {
	replyCase(ctx)
	held := g.hold(ctx, "GreetClientStream")
	var names []string
	for s.Recv() {
		if r := s.Msg(); r.GetName() == "fail" {
			return nil, tri.NewError(tri.Code(r.GetFailCode()), errors.New("stream failed as asked"))
		}
		names = append(names, s.Msg().GetName())
	}
	if err := s.Err(); err != nil {
		held.cutShort()
		return nil, err
	}
	return &pb.GreetResponse{Greeting: "hello " + strings.Join(names, ","), Seq: int32(len(names))}, nil
}

func (g *Greeter) GreetBidi(ctx context.Context, s stub.Duplex[pb.GreetResponse, pb.GreetRequest]) error {
	replyCase(ctx)
	held := g.hold(ctx, "GreetBidi")
	for i := int32(0); ; i++ {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			held.cutShort()
			return err
		}
		if r.GetName() == "fail" {
			return tri.NewError(tri.Code(r.GetFailCode()), errors.New("stream failed as asked"))
		}
		if err := s.Send(&pb.GreetResponse{Greeting: "hello " + r.GetName(), Seq: i}); err != nil {
			return err
		}
	}
}

func (*Greeter) Echo(_ context.Context, m *pb.EchoMessage) (*pb.EchoMessage, error) { return m, nil }
func (*Greeter) Ping(_ context.Context, m *pb.PingMessage) (*pb.PingMessage, error) { return m, nil }

func (g *Greeter) Fail(ctx context.Context, r *pb.FailRequest) (*emptypb.Empty, error) {
	switch r.GetKind() {
	case pb.FailRequest_PLAIN:
		return nil, errors.New(r.GetMessage())
	case pb.FailRequest_PANIC:
		panic(r.GetMessage())
	case pb.FailRequest_CONTEXT:
		return nil, g.hold(ctx, "Fail").wait(forever)
	}
	e := tri.NewError(tri.Code(r.GetCode()), errors.New(r.GetMessage()))
	for i, t := range r.GetDetails() {
		d, err := tri.NewErrorDetail(&pb.FailDetail{Text: t, Index: int32(i)})
		if err != nil {
			return nil, err
		}
		e.AddDetail(d)
	}
	return nil, e
}

func (g *Greeter) Sleep(ctx context.Context, r *pb.SleepRequest) (*pb.SleepResponse, error) {
	start := time.Now()
	if err := g.hold(ctx, "Sleep").wait(time.Duration(r.GetMillis()) * time.Millisecond); err != nil {
		return nil, err
	}
	return &pb.SleepResponse{SleptMillis: min(r.GetMillis(), time.Since(start).Milliseconds())}, nil
}

func (*Greeter) BigPayload(_ context.Context, r *pb.BigPayloadRequest) (*pb.BigPayloadResponse, error) {
	return &pb.BigPayloadResponse{Payload: Pattern(int(r.GetResponseSize())), Received: int32(len(r.GetPayload()))}, nil
}

func (g *Greeter) Attachments(ctx context.Context, r *pb.AttachmentsRequest) (*pb.AttachmentsResponse, error) {
	if g.Next != nil {
		return g.Next.Attachments(ctx, r)
	}
	resp := &pb.AttachmentsResponse{}
	for k, values := range attachments(ctx) {
		for _, v := range values {
			resp.Seen = append(resp.Seen, &pb.Attachment{Key: k, Value: strings.ToValidUTF8(v, "?")})
		}
	}
	sort.SliceStable(resp.Seen, func(i, j int) bool { return resp.Seen[i].Key < resp.Seen[j].Key })
	h := http.Header{}
	for _, a := range r.GetReply() {
		h.Add(a.GetKey(), a.GetValue())
	}
	set := tri.SetTrailer
	if r.GetAsHeader() {
		set = tri.SetHeader
	}
	if err := set(ctx, h); err != nil {
		return nil, err
	}
	return resp, nil
}

// attachments are those of the request: over Triple all headers, the framework's own ones too.
func attachments(ctx context.Context) map[string][]string {
	out := map[string][]string{}
	if m, ok := ctx.Value(constant.AttachmentKey).(map[string]any); ok {
		for k, v := range m {
			switch v := v.(type) {
			case []string:
				out[k] = v
			default:
				out[k] = []string{fmt.Sprint(v)}
			}
		}
	}
	return out
}

func caseOf(ctx context.Context) string {
	return strings.Join(attachments(ctx)[CaseKey], ",")
}

// told are the attachments of a call that asks for them.
func told(ctx context.Context) []string {
	all := attachments(ctx)
	if len(all[TellKey]) == 0 {
		return nil
	}
	var lines []string
	for name, values := range all {
		for _, value := range values {
			lines = append(lines, strings.ToLower(name)+": "+strings.ToValidUTF8(value, "?"))
		}
	}
	sort.Strings(lines)
	return lines
}

// replyCase sends a trailer in the way that works on every kind of stream.
func replyCase(ctx context.Context) {
	tri.AppendToOutgoingContext(ctx, CaseKey, caseOf(ctx))
}

// held is a call that waits.
type held struct {
	notice func(Notice)
	ctx    context.Context
	n      Notice
	start  time.Time
}

func (g *Greeter) hold(ctx context.Context, method string) held { return hold(ctx, method, g.Notice) }

func hold(ctx context.Context, method string, notice func(Notice)) held {
	h := held{notice, ctx, Notice{Event: "held", Case: caseOf(ctx), Method: method, Seen: told(ctx)}, time.Now()}
	notice(h.n)
	return h
}

// wait returns early, with the context's error, when the call is cut short.
func (h held) wait(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-h.ctx.Done():
		h.cutShort()
		return h.ctx.Err()
	}
}

func (h held) cutShort() {
	h.n.Event, h.n.Millis = "cut_short", time.Since(h.start).Milliseconds()
	h.notice(h.n)
}

const forever = time.Hour

// Pattern is the body of big answers.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}
