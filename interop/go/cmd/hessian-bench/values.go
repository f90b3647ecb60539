package main

import (
	"fmt"
	"reflect"
	"strings"

	hessian "github.com/apache/dubbo-go-hessian2"
)

// The fields are in the order in which hessian-lite writes them.

type Pojo struct {
	Email  string  `hessian:"email"`
	Name   string  `hessian:"name"`
	Active bool    `hessian:"active"`
	Score  float64 `hessian:"score"`
	Age    int32   `hessian:"age"`
	ID     int64   `hessian:"id"`
}

type Address struct {
	City   string `hessian:"city"`
	Street string `hessian:"street"`
	Zip    int32  `hessian:"zip"`
}

type Person struct {
	Address *Address `hessian:"address"`
	Name    string   `hessian:"name"`
	Age     int32    `hessian:"age"`
}

type Order struct {
	Lines  []*Pojo `hessian:"lines"`
	Seller *Person `hessian:"seller"`
	Buyer  *Person `hessian:"buyer"`
	Note   string  `hessian:"note"`
	Paid   bool    `hessian:"paid"`
	Amount float64 `hessian:"amount"`
	ID     int64   `hessian:"id"`
}

const outer = "org.apache.dubbo.interop.HessianBench$"

func (*Pojo) JavaClassName() string    { return outer + "Pojo" }
func (*Address) JavaClassName() string { return outer + "Address" }
func (*Person) JavaClassName() string  { return outer + "Person" }
func (*Order) JavaClassName() string   { return outer + "Order" }

func init() {
	hessian.RegisterPOJO(&Pojo{})
	hessian.RegisterPOJO(&Address{})
	hessian.RegisterPOJO(&Person{})
	hessian.RegisterPOJO(&Order{})
}

// subject is a value, and the bytes that it is read from.
type subject struct {
	value any
	bytes []byte
	// read is the value as Decode gives it.
	read any
}

func (s *subject) same(got any) bool { return reflect.DeepEqual(got, s.read) }

var subjects = map[string]*subject{
	"pojo":           just(newPojo(7)),
	"nested":         just(newOrder()),
	"list1000":       {value: pojos(1000), read: pojos(1000)},
	"string1m":       just(text("The quick brown fox jumps over the lazy dog; 敏捷的棕色狐狸 🦊 does it again. ")),
	"string1m_ascii": just(text("The quick brown fox jumps over the lazy dog. ")),
	"map1000":        numbers(),
}

func just(v any) *subject { return &subject{value: v, read: v} }

func newPojo(i int) *Pojo {
	name := fmt.Sprintf("user-%d", i)
	return &Pojo{
		ID: int64(1_000_000 + i), Age: int32(18 + i%60), Score: float64(i) / 8, Active: i%2 == 0,
		Name: name, Email: name + "@example.com",
	}
}

func newOrder() *Order {
	return &Order{
		ID: 4_200_000_000, Amount: 1234.56, Paid: true, Note: "leave it at the door, please",
		Buyer:  &Person{&Address{"Berlin", "Invalidenstr. 1", 10115}, "Ada Lovelace", 36},
		Seller: &Person{&Address{"Arlington", "Wilson Blvd. 1", 22201}, "Grace Hopper", 85},
		Lines:  []*Pojo{newPojo(0), newPojo(1), newPojo(2)},
	}
}

// pojos is an untyped list, as Java's.
func pojos(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = newPojo(i)
	}
	return out
}

func numbers() *subject {
	typed, read := map[string]int32{}, map[any]any{}
	for i := range int32(1000) {
		key := fmt.Sprintf("key-%d", i)
		typed[key], read[key] = i*7, i*7
	}
	return &subject{value: typed, read: read}
}

func text(phrase string) string { return strings.Repeat(phrase, (1<<20)/len(phrase)) }
