package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"sort"
	"strings"
	"time"

	hessian "github.com/apache/dubbo-go-hessian2"
	"github.com/apache/dubbo-go-hessian2/java8_time"
	"github.com/apache/dubbo-go-hessian2/java_util"

	"dubbo-rust/interop/go/internal/impl"
)

// Values of the kinds that dubbo-go has, sent and received as java.lang.Object.
var echoCases = []testCase{
	{"echo_null", user[any]("echo", nil)},
	{"echo_bool", echoValues(true, false)},
	{"echo_int", echoValues(ints(0, 1, -1, -16, -17, 47, 48, -2048, -2049, 2047, 2048, -262144, -262145, 262143, 262144,
		math.MinInt32, math.MaxInt32)...)},
	{"echo_long", echoValues(longs(0, -8, -9, 15, 16, -2048, -2049, 2047, 2048, -262144, -262145, 262143, 262144,
		math.MinInt32, math.MaxInt32, math.MaxInt32+1, math.MinInt64, math.MaxInt64)...)},
	{"echo_double", echoValues(0.0, 1.0, -1.0, 127.0, 128.0, -128.0, -129.0, 32767.0, 32768.0, -32768.0, 0.001, 12.25, -0.5,
		math.Pi, 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64, math.NaN(), math.Inf(1))},
	{"echo_string", echoValues("", strings.Repeat("x", 31), strings.Repeat("x", 32), strings.Repeat("x", 1023), strings.Repeat("x", 1024),
		"é 中文 \x00 end", "a😀b", strings.Repeat("0123456789", 7000), strings.Repeat("x", 32767)+"😀", strings.Repeat("é中😀", 17500))},
	{"echo_bytes", echoValues([]byte{}, impl.Pattern(15), impl.Pattern(16), impl.Pattern(1023), impl.Pattern(1024), impl.Pattern(70000))},
	{"echo_date", echoValues(time.UnixMilli(894621060000), time.UnixMilli(894621091001), time.UnixMilli(-60000), time.UnixMilli(1500000000123))},
	{"echo_enum", echoValues(impl.GenderMale, impl.GenderFemale)},
	{"echo_bean", echoValues(impl.NewUser("o"))},
	{"echo_list", echoValues([]any{}, []any{int32(1), int64(2), "s", nil, true, 1.5, []byte{1}}, []any{[]any{int32(1)}, []any{}},
		ints(1, 2, 3, 4, 5, 6, 7, 8))},
	{"echo_list_of_beans", echoValues([]any{impl.NewUser("A"), impl.NewUser("B")})},
	{"echo_shared", func(ctx context.Context, e *env) (any, error) {
		u := impl.NewUser("A")
		got, err := user[any]("echo", []any{u, u})(ctx, e)
		if l, ok := got.([]any); ok && len(l) == 2 && l[0] == l[1] {
			return "one", err
		}
		return answer("two", err)
	}},
	{"echo_map", echoValues(map[any]any{}, map[any]any{"a": int32(1)}, map[any]any{"a": int32(1), int32(2): "b", true: "c"})},
	{"echo_map_null_key", echoValues(map[any]any{nil: "x"})},
	{"echo_set", echoValues(&impl.HashSet{Value: []any{"x", "y"}})},
	{"echo_array", echoValues([]int32{1, -2, 300000}, []int64{1, 1 << 40}, []float64{1.5, 2}, []bool{true, false}, []string{"a", "b"})},
	{"echo_big_number", echoBigNumbers},
	{"echo_time", echoValues(&java8_time.LocalDate{Year: 2024, Month: 2, Day: 29}, &java8_time.LocalTime{Hour: 1, Minute: 2, Second: 3, Nano: 4},
		&java8_time.Instant{Seconds: 1700000000, Nanos: 123456789}, &java8_time.Duration{Seconds: 30, Nanos: 10})},
	{"echo_uuid", echoValues(&java_util.UUID{Value: "24d9b3c0-1111-4222-8333-444444444444"})},
	{"echo_unknown_class", func(ctx context.Context, e *env) (any, error) {
		got, err := user[any]("echo", &onlyHere{Number: 7, Text: "t"})(ctx, e)
		if back, ok := got.(*onlyHere); ok {
			return map[string]any{"number": back.Number, "text": back.Text}, err
		}
		return answer(text(got), err)
	}},
}

// onlyHere is a class that no provider has.
type onlyHere struct {
	Number int32  `hessian:"number"`
	Text   string `hessian:"text"`
}

func (*onlyHere) JavaClassName() string { return impl.JavaPackage + "consumer.OnlyGo" }

func init() { hessian.RegisterPOJO(&onlyHere{}) }

// echoValues reports "equal" when every value came back as it was sent, else those that did not.
func echoValues(values ...any) call {
	return func(ctx context.Context, e *env) (any, error) {
		differences := map[string]any{}
		for _, v := range values {
			got, err := user[any]("echo", v)(ctx, e)
			if err != nil {
				differences[text(v)] = describe(err)
			} else if text(got) != text(v) {
				differences[text(v)] = text(got)
			}
		}
		if len(differences) == 0 {
			return "equal", nil
		}
		return differences, nil
	}
}

func echoBigNumbers(ctx context.Context, e *env) (any, error) {
	d, i := &impl.Decimal{}, &impl.Integer{}
	if err := d.FromString("100.256"); err != nil {
		return nil, err
	}
	if err := i.FromString("-123456789012345678901234567890"); err != nil {
		return nil, err
	}
	return echoValues(d, i)(ctx, e)
}

// text is one that two values have in common when they are of the same type and equal, all the way down.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > 64 {
			return fmt.Sprintf("string of %d #%x", len(v), hash([]byte(v)))
		}
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("bytes of %d #%x", len(v), hash(v))
	case time.Time:
		return fmt.Sprintf("date %d", v.UnixMilli())
	case impl.Gender:
		return "Gender " + v.String()
	case *impl.Gender:
		return "Gender " + v.String()
	case *impl.HashSet:
		items := texts(v.Value)
		sort.Strings(items)
		return fmt.Sprint("set", items)
	case *impl.Decimal:
		return "decimal " + v.String()
	case *impl.Integer:
		return "integer " + v.String()
	case *impl.User:
		if v == nil {
			return "null"
		}
		friend := "itself"
		if v.Friend != v {
			friend = text(v.Friend)
		}
		return fmt.Sprint("User ", v.ID, v.Name, v.Age, v.Score, v.Rate, v.Active, text(v.Birth), v.Gender, text(v.Tags), text(v.Attrs), friend, text(v.Photo))
	case *impl.Bag:
		return fmt.Sprint("Bag ", text(v.Items), text(v.Map), *v.Address, text(v.Set))
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		var items []any
		for i := range r.Len() {
			items = append(items, r.Index(i).Interface())
		}
		return fmt.Sprint("list", texts(items))
	case reflect.Map:
		entries := []string{}
		for _, key := range r.MapKeys() {
			entries = append(entries, text(key.Interface())+"="+text(r.MapIndex(key).Interface()))
		}
		sort.Strings(entries)
		return fmt.Sprint("map", entries)
	case reflect.Pointer:
		return fmt.Sprintf("%T %+v", v, r.Elem().Interface())
	}
	return fmt.Sprintf("%T %v", v, v)
}

func texts(values []any) (out []string) {
	for _, v := range values {
		out = append(out, text(v))
	}
	return out
}

func hash(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

func ints(values ...int32) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

func longs(values ...int64) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}
