package impl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/dubbo-go-hessian2/java_exception"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
)

// UserService is the contract without protobuf: UserService.java describes the methods. The
// framework spells their names with a small first letter, as Java does.
type UserService struct {
	// Suffix ends what Hello answers.
	Suffix string
	// Work is how long Hello takes.
	Work time.Duration
	// Notice is told of the calls that are held.
	Notice func(Notice)
	// Next is asked in turn for the attachments that come with a call, if there is one.
	Next *client.Connection

	oneways atomic.Int32
}

// GroupedUserService is a second export. It has a reference of its own for the reason that Grouped has a type.
type GroupedUserService struct{ UserService }

func (*GroupedUserService) Reference() string { return "GroupedUserService" }

func (*UserService) Reference() string { return UserServiceName }

func (*UserService) GetUser(_ context.Context, id string) (*User, error) { return NewUser(id), nil }

func (*UserService) GetUsers(_ context.Context, ids []string) ([]*User, error) {
	users := make([]*User, 0, len(ids))
	for _, id := range ids {
		users = append(users, NewUser(id))
	}
	return users, nil
}

func (*UserService) GetUserMap(_ context.Context, ids []string) (map[string]*User, error) {
	users := map[string]*User{}
	for _, id := range ids {
		users[id] = NewUser(id)
	}
	return users, nil
}

func (*UserService) Echo(_ context.Context, v any) (any, error)              { return v, nil }
func (*UserService) EchoUser(_ context.Context, v *User) (*User, error)      { return v, nil }
func (*UserService) EchoBag(_ context.Context, v *Bag) (*Bag, error)         { return v, nil }
func (*UserService) Decimal(_ context.Context, v *Decimal) (*Decimal, error) { return v, nil }
func (*UserService) Integer(_ context.Context, v *Integer) (*Integer, error) { return v, nil }
func (*UserService) Ping(_ context.Context, v []byte) ([]byte, error)        { return v, nil }
func (*UserService) Nothing(_ context.Context, _ string) (*User, error)      { return nil, nil }
func (*UserService) Fire(_ context.Context, _ string) error                  { return nil }
func (*UserService) NoArgs(_ context.Context) (string, error)                { return "no-args", nil }
func (*UserService) SayAsync(_ context.Context, s string) (string, error)    { return "async " + s, nil }
func (*UserService) Big(_ context.Context, _ []byte, n int32) ([]byte, error) {
	return Pattern(int(n)), nil
}

func (u *UserService) Hello(_ context.Context, s string) (string, error) {
	time.Sleep(u.Work)
	return "hello " + s + u.Suffix, nil
}

func (*UserService) Mix(_ context.Context, name string, age int32, base *User) (*User, error) {
	if base == nil {
		base = &User{}
	}
	base.Name, base.Age = name, age
	return base, nil
}

func (u *UserService) Sleep(ctx context.Context, millis int64) (string, error) {
	if err := hold(ctx, "sleep", u.Notice).wait(time.Duration(millis) * time.Millisecond); err != nil {
		return "", err
	}
	return "slept", nil
}

func (u *UserService) Oneway(_ context.Context, _ string) error {
	u.oneways.Add(1)
	return nil
}

func (u *UserService) OnewayCount(_ context.Context) (int32, error) { return u.oneways.Load(), nil }

func (u *UserService) Attachments(ctx context.Context, key string) (map[string]any, error) {
	seen := map[string]any{}
	if u.Next != nil {
		var told map[any]any
		err := u.Next.CallUnary(ctx, []any{key}, &told, "attachments")
		for name, value := range told {
			seen[fmt.Sprint(name)] = value
		}
		return seen, err
	}
	for name, values := range attachments(ctx) {
		seen[name] = strings.Join(values, ",")
	}
	// The attachments of a call are those of its answer, too.
	if m, ok := ctx.Value(constant.AttachmentKey).(map[string]any); ok {
		m[key] = "reply-" + key
	}
	// Over Triple it is a trailer; over dubbo there is none to set.
	_ = tri.SetTrailer(ctx, http.Header{key: {"reply-" + key}})
	return seen, nil
}

// Remote works over dubbo only: Triple does not tell a service who calls.
func (*UserService) Remote(ctx context.Context) (string, error) {
	m, _ := ctx.Value(constant.AttachmentKey).(map[string]any)
	return fmt.Sprint(m[constant.RemoteAddr]), nil
}

func (*UserService) Fail(_ context.Context, message string) (string, error) {
	return "", errors.New(message)
}

func (*UserService) FailStatus(_ context.Context, code int32, message string) (string, error) {
	return "", tri.NewError(tri.Code(code), errors.New(message))
}

func (*UserService) ThrowChecked(_ context.Context, message string) (string, error) {
	return "", UserException{DetailMessage: message, Code: 42, Detail: "d", StackTrace: []java_exception.StackTraceElement{}}
}

func (*UserService) ThrowRuntime(_ context.Context, message string) (string, error) {
	return "", java_exception.NewIllegalStateException(message)
}
